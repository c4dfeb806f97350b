/* What the user sees, what the user is asked, and the line that is kept. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "front.h"

enum { ASK_SECONDS = 20, MAX_SAY = 65536, MAX_AUDIT = 4000, SPOOL_NAMES = 8 };

/* Whether the three standard descriptors are one terminal and we are in its foreground. */
bool may_ask(void) {
    struct stat one[3];
    const char *answer = getenv("MAPLE_ASK");
    if (answer != NULL && strcmp(answer, "no") == 0) return false;
    for (int fd = 0; fd < 3; fd++)
        if (!isatty(fd) || fstat(fd, &one[fd]) != 0) return false;
    return one[0].st_rdev == one[1].st_rdev && one[1].st_rdev == one[2].st_rdev && tcgetpgrp(0) == getpgrp();
}

/* Write to stderr so that neither a reader that is gone nor a terminal that stops writers is felt. */
static void write_softly(const char *bytes, size_t size) {
    struct pollfd one = {STDERR_FILENO, POLLOUT, 0};
    struct timespec none = {0, 0};
    sigset_t pipe_signal, blocked, before, pending;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    blocked = pipe_signal;
    sigaddset(&blocked, SIGTTOU);
    if (poll(&one, 1, 0) != 1 || (one.revents & POLLOUT) == 0 || (one.revents & POLLERR) != 0) return;
    if (sigpending(&pending) != 0 || sigprocmask(SIG_BLOCK, &blocked, &before) != 0) return;
    ssize_t wrote = write(STDERR_FILENO, bytes, size);
    if (wrote < 0 && errno == EPIPE && sigismember(&pending, SIGPIPE) == 0)
        (void)sigtimedwait(&pipe_signal, NULL, &none);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
}

/* Control characters other than newline and tab are shown as "?": nothing in a script drives the terminal. */
void say(const void *text, size_t size, bool verbose) {
    static char shown[4096];
    const unsigned char *from = text;
    if (!verbose && !isatty(STDERR_FILENO)) return;
    size_t left = size < MAX_SAY ? size : MAX_SAY;
    while (left > 0) { /* pieces no longer than a pipe takes at once */
        size_t piece = left < sizeof shown ? left : sizeof shown;
        for (size_t i = 0; i < piece; i++) {
            unsigned char byte = *from++;
            shown[i] = (byte < 32 && byte != '\n' && byte != '\t') || byte == 127 ? '?' : (char)byte;
        }
        write_softly(shown, piece);
        left -= piece;
    }
}

bool offer(const struct slice *question) {
    static const char prompt[] = "maple: submit it so? [y/N] ", late[] = "\nmaple: no answer, submitted as written\n";
    struct pollfd terminal = {STDIN_FILENO, POLLIN, 0};
    char answer[64];
    int64_t deadline = now_ms() + ASK_SECONDS * 1000;
    say(question->at, question->size, true);
    say(prompt, sizeof prompt - 1, true);
    for (;;) {
        int64_t left = deadline - now_ms();
        int count = left > 0 ? poll(&terminal, 1, (int)left) : 0;
        if (count < 0 && errno == EINTR) continue;
        if (count > 0) break;
        say(late, sizeof late - 1, true);
        return false;
    }
    ssize_t size = read(STDIN_FILENO, answer, sizeof answer - 1);
    if (size <= 0) return false;
    answer[size] = '\0';
    answer[strcspn(answer, "\r\n")] = '\0';
    return strcasecmp(answer, "y") == 0 || strcasecmp(answer, "yes") == 0;
}

/* One write to the end of the file: lines of many submissions at once do not mix. False: it is not a file of ours. */
static bool append_line(int folder, const char *name, const struct slice *line) {
    struct rlimit limit;
    struct stat file;
    int fd = openat(folder, name, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
    if (fd < 0) return errno == ENOSPC || errno == EDQUOT;
    bool ours = fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && file.st_uid == geteuid() && file.st_nlink == 1;
    if (ours && getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
        (limit.rlim_cur == RLIM_INFINITY || (rlim_t)file.st_size + line->size < limit.rlim_cur)) {
        ssize_t wrote = write(fd, line->at, line->size); /* a full disk loses a line, not a submission */
        (void)wrote;
    }
    close(fd);
    return ours;
}

/* Anybody may put a file of any name into the spool, but cannot have all names: who takes one silences nobody. */
static void append_to_spool(int spool, const struct slice *line) {
    char name[64];
    unsigned long long any = 0;
    snprintf(name, sizeof name, "%lu.jsonl", (unsigned long)geteuid());
    for (int i = 1; !append_line(spool, name, line) && i <= SPOOL_NAMES + 1; i++) {
        if (i <= SPOOL_NAMES) snprintf(name, sizeof name, "%lu.%d.jsonl", (unsigned long)geteuid(), i);
        else if (getrandom(&any, sizeof any, GRND_NONBLOCK) != (ssize_t)sizeof any) return;
        else snprintf(name, sizeof name, "%lu.%016llx.jsonl", (unsigned long)geteuid(), any);
    }
}

static bool one_object(const struct slice *line) {
    if (line->size < 2 || line->size > MAX_AUDIT || line->at[0] != '{' || line->at[line->size - 1] != '}') return false;
    for (size_t i = 0; i < line->size; i++)
        if (line->at[i] < 32) return false;
    return true;
}

struct kept {
    const char *spool;
    struct slice line;
};

/* First the site's: it lies on this host. */
static bool keep(void *of) {
    static const char *const below_home[] = {".local", "state", NULL};
    const struct kept *kept = of;
    char path[PATH_MAX];
    int spool = kept->spool[0] != '\0' ? open(kept->spool, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    if (spool >= 0) {
        append_to_spool(spool, &kept->line);
        close(spool);
    }
    int own = open_own_folder("XDG_STATE_HOME", below_home, path);
    if (own >= 0) {
        (void)append_line(own, "audit.jsonl", &kept->line);
        close(own);
    }
    return true;
}

void write_audit(const struct config *config, const struct slice *line, int64_t started) {
    char whole[MAX_AUDIT + 64];
    bool late;
    if (!one_object(line)) return;
    int size = snprintf(whole, sizeof whole, "%.*s,\"ms\":%lld}\n", (int)line->size - 1, (const char *)line->at,
                        (long long)(now_ms() - started));
    if (size <= 0 || (size_t)size >= sizeof whole) return;
    struct kept kept = {config->audit, {(const unsigned char *)whole, (size_t)size}};
    (void)with_files(config, keep, &kept, &late);
}
