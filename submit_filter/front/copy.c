/* The private copy of a changed script: <folder>/maple/submit/<hash>/<name>, in folders that only the user may enter.
 *
 * The real command opens it by its path, later. So every folder above must be one that nobody but the user and root can
 * change, as sshd's StrictModes has it; where the user's own cache is not so, /run/user/<uid> and /tmp are.
 *
 * Copies unused for a week are swept. Sweeper and writer hold a lock on `submit`, and a copy in use has a fresh time, so
 * no copy vanishes between its use and the moment the real command has read it. */
#include "front.h"

#include <ftw.h>
#include <sys/file.h>

enum { MAX_LOOK = 512, MAX_SWEEP = 16, MAX_DESCRIPTORS = 8, WEEK = 7 * 24 * 3600 };

/* Open *name* below *parent*, a folder of the user's own that nobody else may enter; create it if it is not there. */
static int open_private(int parent, const char *name) {
    struct stat folder;
    if (mkdirat(parent, name, 0700) != 0 && errno != EEXIST) return -1;
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return -1;
    bool good = fstat(fd, &folder) == 0 && folder.st_uid == geteuid();
    if (good && (folder.st_mode & 07777) != 0700) good = fchmod(fd, 0700) == 0;
    if (good) return fd;
    close(fd);
    return -1;
}

static bool append(char path[PATH_MAX], const char *name) {
    size_t size = strlen(path);
    int wrote = snprintf(path + size, PATH_MAX - size, "/%s", name);
    return wrote > 0 && (size_t)wrote < PATH_MAX - size;
}

/* May nobody but the user and root change what lies in this folder? In a sticky one others only add to it. */
static bool is_guarded(const struct stat *folder) {
    return S_ISDIR(folder->st_mode) && (folder->st_uid == 0 || folder->st_uid == geteuid()) &&
           ((folder->st_mode & (S_IWGRP | S_IWOTH)) == 0 || (folder->st_mode & S_ISVTX) != 0);
}

int open_stepwise(const char *path, bool (*fits)(const struct stat *step)) {
    char rest[PATH_MAX], *at = rest, *name;
    struct stat step;
    int fd = open("/", O_PATH | O_CLOEXEC);
    memcpy(rest, path, strlen(path) + 1);
    while (fd >= 0 && fstat(fd, &step) == 0 && fits(&step)) {
        if ((name = strsep(&at, "/")) == NULL) return fd;
        int next = openat(fd, name[0] != '\0' ? name : ".", O_PATH | O_NOFOLLOW | O_CLOEXEC);
        close(fd);
        fd = next;
    }
    if (fd >= 0) close(fd);
    return -1;
}

/* The user's folder for caches or state, made below a home of the user's own. Root has no home: it may be anybody's. */
static bool find_own(const char *variable, const char *const *below_home, char path[PATH_MAX]) {
    const char *base = getenv(variable), *home = getenv("HOME");
    struct stat folder;
    bool named = base != NULL && base[0] == '/';
    if (!named) base = geteuid() == 0 ? NULL : home;
    if (base == NULL || base[0] != '/' || strlen(base) >= PATH_MAX) return false;
    memcpy(path, base, strlen(base) + 1);
    bool ours = stat(path, &folder) == 0 && folder.st_uid == geteuid();
    for (size_t i = 0; !named && below_home[i] != NULL; i++) {
        if (!append(path, below_home[i])) return false;
        if (ours) (void)mkdir(path, 0700);
    }
    return true;
}

/* Parents may be links (a cache folder often lies on scratch): *path* is where they lead to, and holds no more of them. */
static int open_maple(char path[PATH_MAX], const char *name, bool guarded) {
    char real[PATH_MAX];
    if (realpath(path, real) == NULL) return -1;
    memcpy(path, real, strlen(real) + 1);
    int parent = guarded || geteuid() == 0 ? open_stepwise(path, is_guarded) : open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (parent < 0) return -1;
    int fd = append(strcmp(path, "/") == 0 ? memset(path, 0, 1) : path, name) ? open_private(parent, name) : -1;
    close(parent);
    return fd;
}

int open_own_folder(const char *variable, const char *const *below_home, char path[PATH_MAX]) {
    return find_own(variable, below_home, path) ? open_maple(path, "maple", false) : -1;
}

static int open_for_copies(char path[PATH_MAX]) {
    static const char *const below_home[] = {".cache", NULL};
    char name[64];
    unsigned long uid = geteuid(), any = 0;
    int fd = find_own("XDG_CACHE_HOME", below_home, path) ? open_maple(path, "maple", true) : -1;
    if (fd >= 0) return fd;
    snprintf(path, PATH_MAX, "/run/user/%lu", uid);
    if ((fd = open_maple(path, "maple", true)) >= 0) return fd;
    snprintf(name, sizeof name, "maple-%lu", uid);
    for (int i = 0; i < 2; i++) {
        snprintf(path, PATH_MAX, "/tmp");
        if ((fd = open_maple(path, name, true)) >= 0) return fd;
        if (getrandom(&any, sizeof any, GRND_NONBLOCK) != (ssize_t)sizeof any) return -1;
        snprintf(name, sizeof name, "maple-%lu.%016lx", uid, any); /* somebody else took the first */
    }
    return -1;
}

/* A copy that is there already stays: on NFS, who reads one that is replaced from another host reads an error. */
static bool holds(int folder, const char *name, const struct slice *script) {
    struct buffer there = {NULL, 0, 0, false};
    struct stat file;
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return false;
    bool same = fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && file.st_uid == geteuid() &&
                read_file(fd, 0, &there) && there.size == script->size && memcmp(there.at, script->at, script->size) == 0;
    free(there.at);
    close(fd);
    return same;
}

/* Write under a passing name, then rename: a reader sees the whole script or none. */
static bool write_new(int folder, const char *name, const struct slice *script) {
    char passing[64];
    snprintf(passing, sizeof passing, ".new.%ld.%llx", (long)getpid(), (unsigned long long)now_ms());
    if (!fits_limit(script->size)) return false;
    int fd = openat(folder, passing, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return false;
    bool done = fchmod(fd, 0600) == 0 && write_all(fd, script->at, script->size);
    done = close(fd) == 0 && done && renameat(folder, passing, folder, name) == 0;
    if (!done) (void)unlinkat(folder, passing, 0);
    return done;
}

/* Called for each folder of a copy, then for what lies in it: remove copies not used for a week, a bounded number. */
static int sweep_one(const char *path, const struct stat *file, int type, struct FTW *at) {
    static bool old;
    static int looked, swept;
    char folder[PATH_MAX];
    if (at->level == 1) old = type == FTW_D && path[at->base] != '.' && file->st_mtim.tv_sec < time(NULL) - WEEK;
    if (at->level == 1 && old && rmdir(path) == 0) swept++; /* it was empty */
    if (at->level == 2 && old && unlink(path) == 0) {
        (void)snprintf(folder, sizeof folder, "%.*s", at->base - 1, path);
        if (rmdir(folder) == 0) swept++;
    }
    return ++looked > MAX_LOOK || swept == MAX_SWEEP;
}

/* None while anybody else is at work here. The working directory is that of this process alone. */
static void sweep(int submit) {
    if (flock(submit, LOCK_EX | LOCK_NB) == 0 && fchdir(submit) == 0)
        (void)nftw(".", sweep_one, MAX_DESCRIPTORS, FTW_PHYS | FTW_MOUNT);
}

static bool place(int submit, const struct slice *script, const char *name, char path[PATH_MAX]) {
    unsigned char hash[HASH_SIZE];
    char folder_name[2 * HASH_SIZE + 1];
    sha256(script->at, script->size, hash);
    hex(folder_name, hash, 16);
    if (!append(path, folder_name) || !append(path, name)) return false;
    int folder = open_private(submit, folder_name);
    if (folder < 0) return false;
    bool done = (holds(folder, name, script) || write_new(folder, name, script)) && futimens(folder, NULL) == 0;
    close(folder);
    return done;
}

struct wish {
    const struct slice *script;
    const char *name;
    char *path;
};

static bool copy_now(void *of) {
    const struct wish *wish = of;
    int own = open_for_copies(wish->path);
    int submit = own >= 0 && append(wish->path, "submit") ? open_private(own, "submit") : -1;
    if (submit >= 0) (void)flock(submit, LOCK_SH); /* waits for a sweeper; where there are no locks nobody sweeps */
    bool done = submit >= 0 && place(submit, wish->script, wish->name, wish->path);
    if (done) sweep(submit);
    return done;
}

bool private_copy(const struct config *config, const struct slice *script, const char *name, char path[PATH_MAX],
                  bool *late) {
    if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return false;
    struct wish wish = {script, name, path};
    return with_files(config, copy_now, &wish, late);
}
