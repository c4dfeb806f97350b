/* Where the configuration lies, and which command is the real one. */
#include "front.h"

#include <sys/auxv.h>

#define MAX_UID 0xfffffffdLL
enum { MAX_CONFIG = 16384, MAX_MS = 60000, MAX_FRONTS = 5, SLACK = 40, NANOSECONDS = 1000 };

static void copy_path(char to[PATH_MAX], const char *value) {
    size_t size = strlen(value);
    if (value[0] == '/' && size < PATH_MAX) memcpy(to, value, size + 1);
}

static long long number_in(const char *value, long long least, long long most, long long otherwise) {
    char *end;
    long long number = strtoll(value, &end, 10);
    return *value >= '0' && *value <= '9' && *end == '\0' && number >= least && number <= most ? number : otherwise;
}

static void set(struct config *config, const char *key, const char *value, const char *command) {
    if (strncmp(key, "real_", 5) == 0 && strcmp(key + 5, command) == 0) copy_path(config->real, value);
    else if (strcmp(key, "python") == 0) copy_path(config->python, value);
    else if (strcmp(key, "helper") == 0) copy_path(config->helper, value);
    else if (strcmp(key, "child") == 0) copy_path(config->child, value);
    else if (strcmp(key, "child_python") == 0) copy_path(config->child_python, value);
    else if (strcmp(key, "socket") == 0) copy_path(config->socket, value);
    else if (strcmp(key, "audit") == 0) copy_path(config->audit, value);
    else if (strcmp(key, "mode") == 0) config->mode = strcmp(value, "off") == 0 ? OFF
                                                     : strcmp(value, "observe") == 0 ? OBSERVE : ACT;
    else if (strcmp(key, "service_uid") == 0) config->service_uid = (uid_t)number_in(value, 0, MAX_UID, config->service_uid);
    else if (strcmp(key, "socket_ms") == 0) config->socket_ms = (int)number_in(value, 1, MAX_MS, config->socket_ms);
    else if (strcmp(key, "files_ms") == 0) config->files_ms = (int)number_in(value, 1, MAX_MS, config->files_ms);
    else if (strcmp(key, "helper_ms") == 0) config->helper_ms = (int)number_in(value, 1, MAX_MS, config->helper_ms);
}

/* Only root, the owner of the front itself or the caller may have written the file. */
static bool trusted(const struct stat *file, const struct stat *self) {
    return S_ISREG(file->st_mode) && file->st_size <= MAX_CONFIG && (file->st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
           (file->st_uid == 0 || file->st_uid == self->st_uid || file->st_uid == getuid());
}

static bool load(struct config *config, const char *path, const struct stat *self, const char *command) {
    char text[MAX_CONFIG + 1];
    struct stat file;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) return false;
    ssize_t size = fstat(fd, &file) == 0 && trusted(&file, self) ? read(fd, text, MAX_CONFIG) : -1;
    close(fd);
    if (size <= 0) return false;
    text[size] = '\0';
    char *rest = text, *line;
    while ((line = strsep(&rest, "\n")) != NULL) {
        char *value = strchr(line, '=');
        if (line[0] == '#' || value == NULL) continue;
        *value++ = '\0';
        set(config, line, value, command);
    }
    copy_path(config->path, path);
    return true;
}

void read_config(struct config *config, const char *command) {
    char self[PATH_MAX], path[PATH_MAX];
    struct stat own;
    *config = (struct config){.service_uid = (uid_t)-1, .socket_ms = 50, .helper_ms = 250, .files_ms = 500};
    ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
    if (size <= 0 || stat("/proc/self/exe", &own) != 0) return;
    while (size > 0 && self[--size] != '/') continue;
    const struct slice folder = {(const unsigned char *)self, (size_t)size};
    if (join(path, &folder, "../etc/front.conf") && load(config, path, &own, command)) return;
#ifdef MAPLE_PREFIX
    (void)load(config, MAPLE_PREFIX "/current/etc/front.conf", &own, command);
#endif
}

static bool same_bytes(const char *path, const char *other) {
    struct buffer one = {NULL, 0, 0, false}, two = {NULL, 0, 0, false};
    bool same = read_regular(path, &one) && read_regular(other, &two) && one.size == two.size && one.size > 0 &&
                memcmp(one.at, two.at, one.size) == 0;
    free(one.at);
    free(two.at);
    return same;
}

/* Whether *path* is this very program, by any name or as a copy: becoming it would never end. */
static bool is_self(const char *path) {
    struct stat file, own;
    const char *executed = (const char *)(uintptr_t)getauxval(AT_EXECFN);
    if (stat(path, &file) != 0) return false;
    if (stat("/proc/self/exe", &own) != 0 && (executed == NULL || stat(executed, &own) != 0)) return true;
    return same_file(path, &own) || (file.st_size == own.st_size && same_bytes(path, "/proc/self/exe"));
}

/* How many fronts this command has passed. What is taken for the real command may be a wrapper that looks for the next
 * in PATH, and finds us. Environment, descriptors and limits are the user's; the timer slack is a number that goes
 * through fork and execve and that nobody sees: some nanoseconds beyond whole microseconds of it count the fronts. */
int fronts_before(void) {
    static int count = -1;
    if (count < 0) {
        int slack = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0) % NANOSECONDS;
        count = slack > SLACK && slack <= SLACK + MAX_FRONTS ? slack - SLACK : 0;
    }
    return count;
}

static void count_front(void) {
    int slack = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0), rest = slack % NANOSECONDS;
    if (slack > 0 && (rest == 0 || fronts_before() > 0))
        (void)prctl(PR_SET_TIMERSLACK, (unsigned long)(slack - rest + SLACK + fronts_before() + 1), 0, 0, 0);
}

/* The next command of that name in PATH, behind this one, and not *avoid*: two fronts that find each other so still come
 * to an end. */
static bool next_in_path(const char *command, const struct stat *avoid, char found[PATH_MAX]) {
    const char *list = getenv("PATH");
    struct slice part;
    bool passed = false;
    found[0] = '\0';
    if (list == NULL || list[0] == '\0') list = "/usr/local/bin:/usr/bin:/bin";
    while (next_part(&list, ':', &part)) {
        char path[PATH_MAX];
        struct stat file;
        if (part.size == 0 || !join(path, &part, command) || stat(path, &file) != 0) continue;
        if (is_self(path)) {
            if (!passed) found[0] = '\0';
            passed = true;
        } else if (found[0] == '\0' && S_ISREG(file.st_mode) && (avoid == NULL || !same_file(path, avoid)) &&
                   access(path, X_OK) == 0) {
            memcpy(found, path, strlen(path) + 1);
        }
    }
    return found[0] != '\0';
}

int try_real(const struct config *config, const char *command, char **argv, char **environment) {
    char path[PATH_MAX];
    struct stat real;
    int error = ENOENT;
    bool known = config->real[0] != '\0' && !is_self(config->real) && stat(config->real, &real) == 0;
    if (fronts_before() >= MAX_FRONTS) return ELOOP;
    count_front();
    if (known && fronts_before() > 0 && next_in_path(command, &real, path)) execve(path, argv, environment);
    if (known) {
        execve(config->real, argv, environment);
        error = errno;
    }
    if (error != E2BIG && next_in_path(command, NULL, path)) {
        execve(path, argv, environment);
        error = errno;
    }
    return error;
}

int become_real(const struct config *config, const char *command, char **argv, char **environment) {
    int error = try_real(config, command, argv, environment);
    if (error == ELOOP)
        dprintf(STDERR_FILENO, "maple: %s, which %s has for the real %s, starts the front again: name the scheduler's own\n",
                config->real, config->path, command);
    else dprintf(STDERR_FILENO, "maple: cannot run the real %s: %s\n", command, strerror(error));
    return error == ENOENT ? 127 : 126;
}
