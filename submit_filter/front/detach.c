/* The process that reads the user's files for the daemon, which opens none itself: values that stand in a program's own
 * defaults and configs. It is nobody's child, has nothing of the caller's but uid, working directory and groups, and is
 * bounded in time, memory and what it may do. The submission waits for a fork and no more; whatever fails is silence. */
#include "front.h"

enum { SECONDS = 30, CPU_SECONDS = 2, NICER = 10, DESCRIPTORS = 64, IDLE_CLASS = 3 << 13, WHO_PROCESS = 1 };
#define MEMORY (64UL << 20) /* of address space: python3 with Maple takes 25, a program of 117 kB 31 */

/* It yields to everybody, the submission before all, and is ended where it hangs. */
static void yield(void) {
    if (nice(NICER) < 0) errno = 0; /* what it returns may be below 0 without any failure */
    (void)syscall(SYS_ioprio_set, WHO_PROCESS, 0, IDLE_CLASS);
    begin_anew();
    (void)alarm(SECONDS);
}

/* It starts nothing, writes nothing and gains no privilege. */
static void restrain(void) {
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    bound(RLIMIT_CPU, CPU_SECONDS);
    bound(RLIMIT_NOFILE, DESCRIPTORS);
    bound(RLIMIT_NPROC, 0);
    bound(RLIMIT_FSIZE, 0);
    bound(RLIMIT_CORE, 0);
    bound(RLIMIT_AS, MEMORY);
}

/* Is there anything to read? A file that is looked at may hang: so nobody waits for us any more. */
static bool all_hold(const struct reading *reading) {
    for (size_t i = 0; i < reading->count; i++)
        if (!still_holds(&reading->unless[i])) return false;
    return reading->count > 0;
}

/* Whether nobody but root and the front's owner, for root only root, may change what this is. What is one's own may be of
 * one's own group, which many a distribution makes for each user; in a folder like /tmp others may add, and replace
 * nothing of ours. */
static bool unshared(const struct stat *file) {
    struct stat self;
    if (stat("/proc/self/exe", &self) != 0) return false;
    uid_t owner = getuid() == 0 ? 0 : self.st_uid;
    bool private = owner != 0 && file->st_uid == getuid() && file->st_gid == getgid();
    bool shared = (file->st_mode & S_IWOTH) != 0 || ((file->st_mode & S_IWGRP) != 0 && file->st_gid != 0 && !private);
    if (file->st_uid != 0 && file->st_uid != owner) return false;
    return !shared || (S_ISDIR(file->st_mode) && (file->st_mode & S_ISVTX) != 0);
}

/* Whether that is so of what lies at *path* and of every folder above it, links followed. *real*: where that is. What is
 * opened for it ends with us. */
static bool only_ours(const char *path, char real[PATH_MAX]) {
    return realpath(path, real) != NULL && open_stepwise(real, unshared) >= 0;
}

static _Noreturn void become_child(const struct config *config, const struct reading *reading) {
    const char *python = config->child_python[0] != '\0' ? config->child_python : config->python;
    char program[PATH_MAX], interpreter[PATH_MAX];
    yield();
    if (all_hold(reading) || !only_ours(config->child, program) || !only_ours(python, interpreter)) _exit(0);
    restrain();
    become_python(interpreter, "-BIS", program, config->path, reading->record);
}

struct wish {
    const struct config *config;
    const struct reading *reading;
};

/* Between the submission and the child, in the front's own memory: whoever reads to the end of the caller's pipes waits
 * for neither, and whoever keeps orphans has the child when this one ends. */
static int middle(void *of) {
    const struct wish *wish = of;
    int nothing = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; fd++)
        if (nothing < 0 || (fd != nothing && dup2(nothing, fd) != fd)) return 127;
    close_others();
    if (setsid() >= 0 && divide() == 0) become_child(wish->config, wish->reading);
    return 0;
}

void detach(const struct config *config, const struct reading *reading) {
    if (reading->record[0] == '\0' || config->child[0] == '\0' || config->path[0] == '\0') return;
    if (config->child_python[0] == '\0' && config->python[0] == '\0') return;
    if (getenv("SLURM_JOB_ID") != NULL || getenv("PBS_JOBID") != NULL) return; /* it would hold the job's step open */
    static _Alignas(16) unsigned char stack[65536];
    struct wish wish = {config, reading};
    pid_t started = clone(middle, stack + sizeof stack, CLONE_VM | CLONE_VFORK, &wish);
    while (started > 0 && waitpid(started, NULL, __WALL) < 0 && errno == EINTR) continue;
}
