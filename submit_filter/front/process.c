/* Processes of the front: what each gives up of the caller's, and how it is ended.
 *
 * What may hang (a file system on another host) is done by one of them, in the front's own memory. At the deadline it is
 * given up, like whoever answers late. Even one that cannot be ended holds nothing of the caller's: no pipe that somebody
 * reads to its end. */
#include "front.h"

enum { STACK = 512 * 1024 };

pid_t divide(void) { return (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, NULL); }

void close_others(void) {
#ifdef SYS_close_range
    if (syscall(SYS_close_range, 3U, ~0U, 0U) == 0) return;
#endif
    long most = sysconf(_SC_OPEN_MAX);
    for (int fd = 3; fd < (most > 0 && most < 65536 ? most : 65536); fd++) close(fd);
}

void begin_anew(void) {
    sigset_t empty;
    for (int number = 1; number < _NSIG; number++) (void)signal(number, SIG_DFL);
    sigemptyset(&empty);
    (void)sigprocmask(SIG_SETMASK, &empty, NULL);
    (void)umask(077);
}

void bound(int resource, unsigned long most) {
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0) _exit(127);
    if (limit.rlim_max == RLIM_INFINITY || limit.rlim_max > most) limit.rlim_max = most;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(resource, &limit) != 0) _exit(127);
}

_Noreturn void become_python(const char *python, const char *flags, const char *program, const char *conf, const char *word) {
    static char *const environment[] = {"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", NULL};
    const char *const argv[] = {python, flags, program, conf, word, NULL};
    execve(python, (char *const *)(uintptr_t)argv, environment);
    _exit(127);
}

void end_process(pid_t process) {
    struct timespec pause = {0, 20000}; /* most are gone by the first look, or soon after */
    (void)kill(-process, SIGKILL);
    (void)kill(process, SIGKILL);
    for (int i = 0; i < 100; i++) { /* one stuck in the kernel must not hold the submission */
        if (waitpid(process, NULL, __WALL | WNOHANG) != 0) return;
        (void)nanosleep(&pause, NULL);
        if (pause.tv_nsec < 1000000) pause.tv_nsec *= 2;
    }
}

bool ready(int fd, short events, int64_t deadline) {
    for (;;) {
        int64_t left = deadline - now_ms();
        struct pollfd one = {fd, events, 0};
        if (left <= 0) return false;
        int count = poll(&one, 1, (int)left);
        if (count > 0) return true;
        if (count == 0 || errno != EINTR) return false;
    }
}

struct task {
    bool (*work)(void *of);
    void *of;
    int tell;
};

static int perform(void *of) {
    const struct task *task = of;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (dup2(task->tell, 0) != 0) return 1;
    close(1);
    close(2);
    close_others();
    return task->work(task->of) && write(0, "y", 1) == 1 ? 0 : 1;
}

bool in_time(bool (*work)(void *of), void *of, int64_t deadline) {
    int ends[2];
    char said = 'n';
    /* Never given back: the kernel may still write into the stack of one that it could not end. */
    unsigned char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED || pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return false;
    struct task task = {work, of, ends[1]};
    pid_t worker = clone(perform, stack + STACK, CLONE_VM, &task);
    close(ends[1]);
    if (worker > 0) {
        if (ready(ends[0], POLLIN, deadline) && read(ends[0], &said, 1) != 1) said = 'n';
        end_process(worker);
    }
    close(ends[0]);
    return said == 'y';
}

/* All touches of files together have the time that config gives; once it is spent, each further one has a tenth of it. */
bool with_files(const struct config *config, bool (*work)(void *of), void *of, bool *late) {
    static int64_t spent;
    int64_t begun = now_ms(), most = config->files_ms - spent, least = config->files_ms / 10 + 1;
    int64_t deadline = begun + (most > least ? most : least);
    bool done = in_time(work, of, deadline);
    if (late != NULL) *late = !done && now_ms() >= deadline;
    spent += now_ms() - begun;
    return done;
}

bool conditions_hold(struct reply *reply, int64_t deadline) {
    return reply->conditions == 0 || in_time(files_are_as_they_were, reply, deadline);
}
