/* What the doubles of submit commands write down of the process they are: all that its starter could have changed.
 *
 * Lines, and values of any bytes as `name size:bytes`. Descriptor targets that differ between any two runs (pipe numbers)
 * are written as their kind. */
#ifndef MAPLE_TESTS_RECORD_H
#define MAPLE_TESTS_RECORD_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void dump(FILE *to, const char *name, const void *bytes, size_t size) {
    fprintf(to, "%s %zu:", name, size);
    fwrite(bytes, 1, size, to);
    fputc('\n', to);
}

static void dump_file(FILE *to, const char *name, const char *path) {
    static char text[1 << 22];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = 0, got;
    while (fd >= 0 && size < (ssize_t)sizeof text && (got = read(fd, text + size, sizeof text - (size_t)size)) > 0)
        size += got;
    if (fd >= 0) close(fd);
    dump(to, name, text, (size_t)size);
}

/* "SigBlk: ..." and the like. SigPnd shows a signal that the front would have left behind. */
static void dump_signals(FILE *to) {
    char line[512];
    FILE *status = fopen("/proc/self/status", "re");
    while (status != NULL && fgets(line, sizeof line, status) != NULL)
        if ((strncmp(line, "Sig", 3) == 0 && line[3] != 'Q') || strncmp(line, "ShdPnd", 6) == 0 || strncmp(line, "Uid", 3) == 0)
            fputs(line, to);
    if (status != NULL) fclose(status);
}

static void dump_descriptors(FILE *to) {
    for (int fd = 0; fd < 64; fd++) {
        char path[64], target[4096];
        int flags = fcntl(fd, F_GETFD);
        if (fd == fileno(to) || flags < 0) continue;
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        ssize_t size = readlink(path, target, sizeof target - 1);
        target[size > 0 ? size : 0] = '\0';
        char *bracket = strchr(target, '[');
        if (target[0] != '/' && bracket != NULL) *bracket = '\0';
        fprintf(to, "fd %d flags %d status %o target %s\n", fd, flags, fcntl(fd, F_GETFL), target);
    }
}

static void dump_limits(FILE *to) {
    for (int kind = 0; kind < RLIM_NLIMITS; kind++) {
        struct rlimit limit = {0, 0};
        getrlimit((__rlimit_resource_t)kind, &limit);
        fprintf(to, "limit %d %llu %llu\n", kind, (unsigned long long)limit.rlim_cur, (unsigned long long)limit.rlim_max);
    }
}

static void dump_process(FILE *to, int argc, char **argv, char **environment) {
    char cwd[4096];
    mode_t mask = umask(0);
    umask(mask);
    for (int i = 0; i < argc; i++) dump(to, "argv", argv[i], strlen(argv[i]));
    for (char **one = environment; *one != NULL; one++) dump(to, "env", *one, strlen(*one));
    dump_file(to, "environ", "/proc/self/environ");
    fprintf(to, "cwd %s\n", getcwd(cwd, sizeof cwd) != NULL ? cwd : strerror(errno));
    fprintf(to, "umask %o group %d session %d parent %d priority %d\n", (unsigned)mask, getpgrp() == getpid(),
            getsid(0) == getpid(), getppid(), getpriority(PRIO_PROCESS, 0));
    fprintf(to, "children %s\n", waitpid(-1, NULL, WNOHANG | __WALL) < 0 ? "none" : "some");
    fprintf(to, "terminals %d%d%d\n", isatty(0), isatty(1), isatty(2));
    dump_descriptors(to);
    dump_signals(to);
    dump_limits(to);
}

#endif
