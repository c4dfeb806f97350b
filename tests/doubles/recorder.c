/* A double of sbatch that writes down everything a process can see of how it was started, and reads its script the way
 * sbatch 22.05 was seen to (traced): so that a call with Maple in front can be compared with a bare one.
 *
 * RECORD names the file written; RECORD_EXIT the exit status. It prints what sbatch prints. Descriptor targets that differ
 * between any two runs (pipe numbers) are written as their kind. */
#define _GNU_SOURCE
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

static int find_script(int argc, char **argv, const char **name, const char **chdir_to, const char **wrap) {
    static const char *const with_value[] = {"-N", "-n", "-J", "-t", "-p", "-A", "-o", "-D", "--wrap", "--chdir", "--nodes",
                                             "--output", "--export", "--array", "--time", "--job-name", NULL};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0) return *name = argv[i + 1], i + 1 < argc ? i + 1 : 0;
        if (argv[i][0] != '-' || argv[i][1] == '\0') return *name = argv[i], i;
        if (strncmp(argv[i], "--wrap=", 7) == 0) *wrap = argv[i] + 7;
        if (strncmp(argv[i], "--chdir=", 8) == 0) *chdir_to = argv[i] + 8;
        for (int j = 0; with_value[j] != NULL && i + 1 < argc; j++)
            if (strcmp(argv[i], with_value[j]) == 0) {
                i++;
                if (j == 7 || j == 9) *chdir_to = argv[i];
                if (j == 8) *wrap = argv[i];
                break;
            }
    }
    return 0;
}

static int is_file(const char *path) {
    struct stat file;
    return stat(path, &file) == 0 && S_ISREG(file.st_mode);
}

static void search(const char *name, const char *chdir_to, char *path, size_t room) {
    char *list = strdup(getenv("PATH") != NULL ? getenv("PATH") : ""), *rest = list, *folder;
    snprintf(path, room, "%s", name);
    if (name[0] != '.' && name[0] != '/') {
        snprintf(path, room, "%s/%s", chdir_to != NULL ? chdir_to : ".", name);
        while (!is_file(path) && (folder = strsep(&rest, ":")) != NULL) snprintf(path, room, "%s/%s", folder, name);
        if (!is_file(path)) snprintf(path, room, "%s", name);
    }
    free(list);
}

static void dump_script(FILE *to, int argc, char **argv) {
    static char text[8 << 20];
    char path[4096];
    const char *name = NULL, *chdir_to = NULL, *wrap = NULL;
    int word = find_script(argc, argv, &name, &chdir_to, &wrap), fd = STDIN_FILENO;
    size_t size = 0;
    ssize_t got;
    if (wrap != NULL) {
        dump(to, "wrap", wrap, strlen(wrap));
        return;
    }
    if (getenv("RECORD_UNREAD") != NULL) return;
    if (word > 0) {
        search(name, chdir_to, path, sizeof path);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        const char *slash = strrchr(name, '/');
        fprintf(to, "name %s\n", slash != NULL ? slash + 1 : name);
    }
    while (fd >= 0 && size < sizeof text && (got = read(fd, text + size, sizeof text - size)) > 0) size += (size_t)got;
    if (fd < 0) fprintf(to, "unreadable\n");
    dump(to, "script", text, size);
}

int main(int argc, char **argv, char **environment) {
    const char *record = getenv("RECORD"), *status = getenv("RECORD_EXIT"), *by = getenv("RECORD_KILL");
    FILE *to = record != NULL ? fopen(record, "we") : NULL;
    char cwd[4096];
    mode_t mask = umask(0);
    umask(mask);
    if (to != NULL) {
        for (int i = 0; i < argc; i++) dump(to, "argv", argv[i], strlen(argv[i]));
        for (char **one = environment; *one != NULL; one++) dump(to, "env", *one, strlen(*one));
        dump_file(to, "environ", "/proc/self/environ");
        fprintf(to, "cwd %s\n", getcwd(cwd, sizeof cwd) != NULL ? cwd : strerror(errno));
        fprintf(to, "umask %o group %d session %d parent %d priority %d\n", (unsigned)mask, getpgrp() == getpid(),
                getsid(0) == getpid(), getppid(), getpriority(PRIO_PROCESS, 0));
        fprintf(to, "children %s\n", waitpid(-1, NULL, WNOHANG | __WALL) < 0 ? "none" : "some");
        dump_descriptors(to);
        dump_signals(to);
        dump_limits(to);
        dump_script(to, argc, argv);
        fclose(to);
    }
    if (by != NULL) raise(atoi(by));
    printf("Submitted batch job 7\n");
    fprintf(stderr, "sbatch: a word on stderr\n");
    return status != NULL ? atoi(status) : 0;
}
