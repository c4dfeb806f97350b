/* Who answers: the daemon on its socket, else a helper child. Both have a deadline, and neither leaves a trace: no signal,
 * no descriptor, no child is left for the real command to find. */
#include "front.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

enum { CPU_SECONDS = 10 };

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
    size_t size = number_at(frame->at + 4);
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

/* In the child: nothing of the caller's but its working directory and uid reaches the helper. */
static _Noreturn void become_helper(const struct config *config, int fd) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setpgid(0, 0);
    begin_anew();
    bound(RLIMIT_CORE, 0);
    bound(RLIMIT_CPU, CPU_SECONDS);
    int nothing = open("/dev/null", O_WRONLY);
    if (fd < 3 || nothing < 0 || dup2(fd, 0) != 0 || dup2(fd, 1) != 1 || dup2(nothing, 2) != 2) _exit(127);
    close_others();
    become_python(config->python, "-IS", config->helper, config->path, NULL);
}

/* A descriptor above the standard ones, whichever of those the caller closed. */
static int above_standard(int fd) {
    if (fd < 0 || fd > 2) return fd;
    int higher = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    close(fd);
    return higher;
}

static bool ask_helper(const struct config *config, const struct buffer *request, struct reply *reply) {
    int64_t deadline = now_ms() + config->helper_ms;
    int ends[2];
    if (config->python[0] == '\0' || config->helper[0] == '\0' || config->path[0] == '\0') return false;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
    int ours = above_standard(ends[0]), theirs = above_standard(ends[1]);
    bool answered = false;
    pid_t helper = ours >= 0 && theirs >= 0 ? divide() : -1;
    if (helper == 0) become_helper(config, theirs);
    if (theirs >= 0) close(theirs);
    if (helper > 0) {
        (void)setpgid(helper, helper);
        answered = exchange(ours, request, &reply->frame, deadline);
        if (!answered && now_ms() >= deadline) reply->waited |= FOR_HELPER;
        end_process(helper);
    }
    if (ours >= 0) close(ours);
    return answered;
}

/* Ask the daemon on *fd*; what it cannot decide, because that takes a file of the user's, the helper can. */
static bool ask_daemon(const struct submission *of, int fd, bool trusted, int64_t deadline, const struct buffer *request,
                       struct reply *reply) {
    if (!exchange(fd, request, &reply->frame, deadline)) {
        if (now_ms() >= deadline) reply->waited |= FOR_DAEMON;
        return false;
    }
    return read_reply(reply, of) && !reply->ask_helper && (trusted || is_bounded(reply, of)) &&
           conditions_hold(reply, now_ms() + of->config->socket_ms);
}

/* Tell the daemon what the helper learnt, if that can be done without waiting. */
static void teach(int fd, const struct reply *reply, const unsigned char nonce[NONCE_SIZE]) {
    struct buffer frame = {NULL, 0, 0, false};
    if (reply->learnt.size == 0) return;
    build_learnt(&frame, &reply->learnt, nonce);
    if (!frame.broken) (void)send(fd, frame.at, frame.size, MSG_NOSIGNAL | MSG_DONTWAIT);
    free(frame.at);
}

/* *reply*: what the daemon said, if it said anything: the helper is told what that says of earlier jobs. */
static bool ask_instead(const struct submission *of, const struct buffer *request, struct reply *reply) {
    struct buffer told = {NULL, 0, 0, false};
    struct reply other = {.waited = reply->waited};
    if (reply->earlier.size > 0) tell_earlier(&told, request, &reply->earlier);
    const struct buffer *asked = told.size > 0 && !told.broken ? &told : request;
    bool answered = ask_helper(of->config, asked, &other) && read_reply(&other, of) && !other.ask_helper &&
                    conditions_hold(&other, now_ms() + of->config->socket_ms);
    other.reading = reply->reading; /* the daemon's: a helper wishes for nothing */
    if (other.reading.record[0] == '\0') free(reply->frame.at); /* the wish points into it */
    *reply = other; /* words of a refused reply are not worth freeing: we become another program */
    free(told.at);
    return answered;
}

bool ask(const struct submission *of, const struct buffer *request, struct reply *reply) {
    int64_t deadline = now_ms() + of->config->socket_ms;
    bool trusted = false;
    int daemon = connect_daemon(of->config, &trusted);
    if (daemon < 0 && of->config->socket[0] != '\0' && now_ms() >= deadline) reply->waited |= FOR_DAEMON;
    bool answered = daemon >= 0 && ask_daemon(of, daemon, trusted, deadline, request, reply);
    if (!answered) {
        answered = ask_instead(of, request, reply);
        if (answered && daemon >= 0) teach(daemon, reply, of->nonce);
    }
    if (daemon >= 0) close(daemon);
    return answered;
}
