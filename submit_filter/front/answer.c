/* Who answers: the daemon on its socket, else a helper child. Both have a deadline, and neither leaves a trace: no signal,
 * no descriptor, no child is left for the real command to find. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "front.h"

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

static bool send_all(int fd, const struct buffer *frame, int64_t deadline) {
    for (size_t sent = 0; sent < frame->size;) {
        ssize_t count = send(fd, frame->at + sent, frame->size - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count > 0) sent += (size_t)count;
        else if (count == 0 || (errno != EAGAIN && errno != EINTR)) return false;
        else if (!ready(fd, POLLOUT, deadline)) return false;
    }
    return true;
}

static bool receive(int fd, struct buffer *frame, size_t size, int64_t deadline) {
    unsigned char chunk[16384];
    while (frame->size < size) {
        size_t wanted = size - frame->size < sizeof chunk ? size - frame->size : sizeof chunk;
        if (!ready(fd, POLLIN, deadline)) return false;
        ssize_t count = recv(fd, chunk, wanted, MSG_DONTWAIT);
        if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
        if (count <= 0) return false;
        add(frame, chunk, (size_t)count);
        if (frame->broken) return false;
    }
    return true;
}

static bool exchange(int fd, const struct buffer *request, struct buffer *frame, int64_t deadline) {
    if (!send_all(fd, request, deadline) || !receive(fd, frame, 8, deadline)) return false;
    size_t size = (size_t)frame->at[4] << 24 | (size_t)frame->at[5] << 16 | (size_t)frame->at[6] << 8 | frame->at[7];
    return memcmp(frame->at, "MPR1", 4) == 0 && size <= MAX_REPLY && receive(fd, frame, 8 + size, deadline);
}

/* Where more wait to be accepted than fit, connecting waits too, until the deadline: the daemon refuses a crowd fast. */
static int connect_daemon(const struct config *config, bool *trusted) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (config->socket[0] == '\0' || strlen(config->socket) >= sizeof address.sun_path) return -1;
    memcpy(address.sun_path, config->socket, strlen(config->socket) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const struct timeval most = {config->socket_ms / 1000, config->socket_ms % 1000 * 1000};
    if (fd < 0) return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most) == 0 &&
        connect(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
        (peer.uid == 0 || peer.uid == getuid() || peer.uid == config->service_uid)) {
        *trusted = peer.uid == 0 || peer.uid == getuid();
        return fd;
    }
    close(fd);
    return -1;
}

void close_others(void) {
#ifdef SYS_close_range
    if (syscall(SYS_close_range, 3U, ~0U, 0U) == 0) return;
#endif
    long most = sysconf(_SC_OPEN_MAX);
    for (int fd = 3; fd < (most > 0 && most < 65536 ? most : 65536); fd++) close(fd);
}

/* In the child: nothing of the caller's but its working directory and uid reaches the helper. */
static _Noreturn void become_helper(const struct config *config, int fd) {
    static char *const environment[] = {"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", NULL};
    char flags[] = "-IS";
    char *const argv[] = {(char *)(uintptr_t)config->python, flags, (char *)(uintptr_t)config->helper,
                          (char *)(uintptr_t)config->path, NULL};
    struct rlimit none = {0, 0}, seconds = {10, 10};
    sigset_t empty;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setpgid(0, 0);
    sigemptyset(&empty);
    for (int number = 1; number < _NSIG; number++) (void)signal(number, SIG_DFL);
    (void)sigprocmask(SIG_SETMASK, &empty, NULL);
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)setrlimit(RLIMIT_CPU, &seconds);
    (void)umask(077);
    int nothing = open("/dev/null", O_WRONLY);
    if (fd < 3 || nothing < 0) _exit(127);
    if (dup2(fd, 0) != 0 || dup2(fd, 1) != 1 || dup2(nothing, 2) != 2) _exit(127);
    close_others();
    execve(config->python, argv, environment);
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

/* A descriptor above the standard ones, whichever of those the caller closed. */
static int above_standard(int fd) {
    if (fd < 0 || fd > 2) return fd;
    int higher = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    close(fd);
    return higher;
}

static bool ask_helper(const struct config *config, const struct buffer *request, struct buffer *frame,
                       struct waited *waited) {
    int64_t deadline = now_ms() + config->helper_ms;
    int ends[2];
    if (config->python[0] == '\0' || config->helper[0] == '\0' || config->path[0] == '\0') return false;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
    int ours = above_standard(ends[0]), theirs = above_standard(ends[1]);
    bool answered = false;
    /* clone with no exit signal in place of fork: a caller that blocks or handles SIGCHLD sees none. */
    pid_t helper = ours >= 0 && theirs >= 0 ? (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, NULL) : -1;
    if (helper == 0) become_helper(config, theirs);
    if (theirs >= 0) close(theirs);
    if (helper > 0) {
        (void)setpgid(helper, helper);
        answered = exchange(ours, request, frame, deadline);
        waited->for_helper = !answered && now_ms() >= deadline;
        end_process(helper);
    }
    if (ours >= 0) close(ours);
    return answered;
}

static void forget(struct reply *reply) {
    free(reply->frame.at);
    memset(reply, 0, sizeof *reply); /* words of a refused reply are not worth freeing: we become another program */
}

/* Ask the daemon on *fd*; what it cannot decide, because that takes a file of the user's, the helper can. */
static bool ask_daemon(int64_t deadline, int fd, const struct buffer *request, struct reply *reply,
                       const unsigned char nonce[NONCE_SIZE], const unsigned char hash[HASH_SIZE]) {
    if (exchange(fd, request, &reply->frame, deadline)) return read_reply(reply, nonce, hash);
    reply->waited.for_daemon = now_ms() >= deadline;
    return false;
}

/* Tell the daemon what the helper learnt, if that can be done without waiting. */
static void teach(int fd, const struct reply *reply, const unsigned char nonce[NONCE_SIZE]) {
    struct buffer frame = {NULL, 0, 0, false};
    if (reply->learnt.size == 0) return;
    build_learnt(&frame, &reply->learnt, nonce);
    if (!frame.broken) (void)send(fd, frame.at, frame.size, MSG_NOSIGNAL | MSG_DONTWAIT);
    free(frame.at);
}

bool ask(const struct config *config, const struct source *source, char *const *argv, const struct buffer *request,
         struct reply *reply,
         const unsigned char nonce[NONCE_SIZE], const unsigned char hash[HASH_SIZE]) {
    memset(reply, 0, sizeof *reply);
    int64_t deadline = now_ms() + config->socket_ms;
    bool trusted = false;
    int daemon = connect_daemon(config, &trusted);
    reply->waited.for_daemon = daemon < 0 && config->socket[0] != '\0' && now_ms() >= deadline;
    bool answered = daemon >= 0 && ask_daemon(deadline, daemon, request, reply, nonce, hash) && !reply->ask_helper &&
                    (trusted || is_bounded(reply, source, argv, hash)) &&
                    conditions_hold(reply, now_ms() + config->socket_ms);
    struct reading reading = reply->reading;
    struct waited waited = reply->waited;
    if (!answered) {
        struct buffer told = {NULL, 0, 0, false};
        if (reply->earlier.size > 0) tell_earlier(&told, request, &reply->earlier);
        const struct buffer *asked = told.size > 0 && !told.broken ? &told : request;
        if (reading.record[0] != '\0') reply->frame.at = NULL; /* the wish points into it */
        forget(reply);
        answered = ask_helper(config, asked, &reply->frame, &waited) && read_reply(reply, nonce, hash) &&
                   !reply->ask_helper && conditions_hold(reply, now_ms() + config->socket_ms);
        free(told.at);
        if (answered && daemon >= 0) teach(daemon, reply, nonce);
        if (!answered) forget(reply);
    }
    reply->reading = reading; /* the daemon's: a helper wishes for nothing */
    reply->waited = waited;
    if (daemon >= 0) close(daemon);
    return answered;
}
