/* What the user sees, and what the user is asked. */
#include "front.h"

enum { ASK_SECONDS = 20, MAX_SAY = 65536 };

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

/* Control characters other than newline and tab are shown as "?", those that UTF-8 writes as two bytes (U+0080 to U+009F)
 * as well: nothing in a script drives the terminal. */
void say(const void *text, size_t size, bool verbose) {
    static char shown[4096];
    const unsigned char *from = text;
    if (!verbose && !isatty(STDERR_FILENO)) return;
    if (size > MAX_SAY) size = MAX_SAY;
    for (size_t at = 0, count = 0; at < size; at++) {
        unsigned char byte = from[at], before = at > 0 ? from[at - 1] : 0;
        bool control = (byte < 32 && byte != '\n' && byte != '\t') || byte == 127;
        shown[count++] = control || (before == 0xc2 && byte >= 0x80 && byte < 0xa0) ? '?' : (char)byte;
        if (count < sizeof shown && at + 1 < size) continue;
        write_softly(shown, count); /* pieces no longer than a pipe takes at once */
        count = 0;
    }
}

bool offer(const struct slice *question) {
    static const char prompt[] = "maple: submit with these changes? N submits as written, Ctrl-C nothing [y/N] ";
    static const char kept[] = "\nmaple: submitted as written\n";
    static const char late[] = "\nmaple: submitted as written: no answer within 20 seconds\n";
    char answer[64];
    say(question->at, question->size, true);
    say(prompt, sizeof prompt - 1, true);
    bool in_time = ready(STDIN_FILENO, POLLIN, now_ms() + ASK_SECONDS * 1000);
    ssize_t size = in_time ? read(STDIN_FILENO, answer, sizeof answer - 1) : 0;
    answer[size > 0 ? size : 0] = '\0';
    answer[strcspn(answer, "\r\n")] = '\0';
    if (strcasecmp(answer, "y") == 0 || strcasecmp(answer, "yes") == 0) return true;
    const char *word = !in_time ? late : size > 0 ? kept + 1 : kept; /* what was typed ended the prompt's line */
    say(word, strlen(word), true);
    return false;
}
