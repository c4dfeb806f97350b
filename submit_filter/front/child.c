/* Processes of the front: what each gives up of the caller's, and how it is ended. */
#include "front.h"

#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

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
