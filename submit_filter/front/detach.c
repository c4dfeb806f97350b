/* The process that reads the user's files for the daemon, which opens none itself: values that stand in a program's own
 * defaults and configs. It is nobody's child, has nothing of the caller's but uid, working directory and groups, and is
 * bounded in time, memory and what it may do. The submission waits for a fork and no more; whatever fails is silence. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "front.h"

enum { SECONDS = 30, CPU_SECONDS = 2, NICER = 10, DESCRIPTORS = 64, IDLE_CLASS = 3 << 13, WHO_PROCESS = 1 };
#define MEMORY ((rlim_t)64 << 20) /* of address space: python3 with Maple takes 25, a program of 117 kB 31 */

/* A process of ours; without an exit signal, so that a caller who blocks, ignores or handles SIGCHLD sees none. */
static pid_t divide(void) { return (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, NULL); }

static void bound(int resource, rlim_t most) {
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0) _exit(127);
    if (limit.rlim_max == RLIM_INFINITY || limit.rlim_max > most) limit.rlim_max = most;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(resource, &limit) != 0) _exit(127);
}

/* It yields to everybody, the submission before all, and is ended where it hangs. */
static void yield(void) {
    sigset_t empty;
    if (nice(NICER) < 0) errno = 0; /* what it returns may be below 0 without any failure */
    (void)syscall(SYS_ioprio_set, WHO_PROCESS, 0, IDLE_CLASS);
    sigemptyset(&empty);
    (void)signal(SIGALRM, SIG_DFL);
    (void)sigprocmask(SIG_SETMASK, &empty, NULL);
    (void)alarm(SECONDS);
}

/* It starts nothing, writes nothing and gains no privilege; no signal is left ignored. */
static void restrain(void) {
    for (int number = 1; number < _NSIG; number++) (void)signal(number, SIG_DFL);
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    (void)umask(077);
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

static _Noreturn void become_child(const struct config *config, const struct reading *reading) {
    static char *const environment[] = {"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", NULL};
    const char *python = config->child_python[0] != '\0' ? config->child_python : config->python;
    char flags[] = "-BIS";
    char *const argv[] = {(char *)(uintptr_t)python, flags, (char *)(uintptr_t)config->child,
                          (char *)(uintptr_t)config->path, (char *)(uintptr_t)reading->record, NULL};
    yield();
    if (all_hold(reading)) _exit(0);
    restrain();
    execve(python, argv, environment);
    _exit(127);
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
