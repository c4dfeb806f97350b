/* The script, read just as the real command will read it: found the same way, and still there for it when we are done. */
#include "front.h"

enum { CHUNK = 65536 };

bool write_all(int fd, const unsigned char *bytes, size_t size) {
    while (size > 0) {
        ssize_t wrote = write(fd, bytes, size);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) return false;
        bytes += wrote;
        size -= (size_t)wrote;
    }
    return true;
}

bool fits_limit(size_t size) {
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > size);
}

/* Memory that reads like a file. -1 where the kernel or a limit on file sizes forbids it. */
static int memory_file(void) { return fits_limit(SIZE_MAX) ? memfd_create("maple", MFD_CLOEXEC) : -1; }

/* Make *fd* what *target* names. A copy made by dup2 stays open when the real command starts. */
static bool put(int fd, int target) {
    bool done = lseek(fd, 0, SEEK_SET) == 0 && dup2(fd, target) == target;
    if (fd != target) close(fd);
    return done;
}

bool give_bytes(int target, const void *bytes, size_t size) {
    int fd = memory_file();
    if (fd < 0) return false;
    if (write_all(fd, bytes, size)) return put(fd, target);
    close(fd);
    return false;
}

/* Read what is there, though a signal comes between. */
static ssize_t read_some(int fd, unsigned char *chunk) {
    ssize_t got;
    while ((got = read(fd, chunk, CHUNK)) < 0 && errno == EINTR) continue;
    return got;
}

static void hand_on(int from, int to) {
    static unsigned char bytes[CHUNK];
    for (ssize_t got; (got = read_some(from, bytes)) > 0;)
        if (!write_all(to, bytes, (size_t)got)) _exit(1);
}

/* Memory ran out with half of a pipe read: a child hands on what was read and then the rest, so nothing is lost. */
static void pump(int memory, const unsigned char *chunk, size_t size, int from) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    pid_t child = divide();
    if (child == 0) {
        close(ends[0]);
        if (lseek(memory, 0, SEEK_SET) != 0) _exit(1);
        hand_on(memory, ends[1]);
        if (!write_all(ends[1], chunk, size)) _exit(1);
        hand_on(from, ends[1]);
        _exit(0);
    }
    close(ends[1]);
    if (child > 0) (void)dup2(ends[0], from);
    close(ends[0]);
}

/* Read a pipe or socket to its end and give it back from memory. True if all of it is in *script*. */
static bool drain(int from, struct buffer *script) {
    static unsigned char chunk[CHUNK];
    int memory = memory_file();
    if (memory < 0) return false; /* not a byte was read */
    for (;;) {
        ssize_t got = read_some(from, chunk);
        if (got <= 0) break; /* an error will be met by the real command as well */
        off_t before = lseek(memory, 0, SEEK_CUR);
        if (!write_all(memory, chunk, (size_t)got)) {
            if (ftruncate(memory, before) == 0) pump(memory, chunk, (size_t)got, from);
            close(memory);
            return false;
        }
        if (script->size <= MAX_SCRIPT) add(script, chunk, (size_t)got);
    }
    return put(memory, from) && script->size <= MAX_SCRIPT && !script->broken;
}

bool read_file(int fd, off_t at, struct buffer *to) {
    static unsigned char chunk[CHUNK];
    while (to->size <= MAX_SCRIPT && !to->broken) {
        ssize_t got = pread(fd, chunk, CHUNK, at + (off_t)to->size);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return got == 0;
        add(to, chunk, (size_t)got);
    }
    return false;
}

static bool read_stdin(struct source *source) {
    struct stat file;
    source->target = STDIN_FILENO;
    if (fstat(STDIN_FILENO, &file) != 0) return false;
    if (S_ISFIFO(file.st_mode) || S_ISSOCK(file.st_mode)) return drain(STDIN_FILENO, &source->script);
    if (!S_ISREG(file.st_mode) || file.st_size > (off_t)MAX_SCRIPT) return false;
    off_t at = lseek(STDIN_FILENO, 0, SEEK_CUR);
    if (at < 0 || !read_file(STDIN_FILENO, at, &source->script)) return false;
    source->end = at + (off_t)source->script.size;
    return true;
}

/* The descriptor that the path names, or -1 if it names none. */
static int named_descriptor(const char *path) {
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    if (strcmp(path, "/dev/stdin") == 0) return STDIN_FILENO;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        if (strncmp(path, folders[i], strlen(folders[i])) != 0) continue;
        const char *number = path + strlen(folders[i]);
        size_t digits = strspn(number, "0123456789");
        if (digits > 0 && digits < 7 && number[digits] == '\0') return atoi(number);
    }
    return -1;
}

bool read_regular(const char *path, struct buffer *to) {
    struct stat file;
    if (stat(path, &file) != 0 || !S_ISREG(file.st_mode) || file.st_size > (off_t)MAX_SCRIPT) return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) return false;
    bool done = fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && read_file(fd, 0, to);
    close(fd);
    return done;
}

/* /dev/fd/N opens a pipe where it stands, and a regular file anew from its beginning. qsub refuses the pipe: given back
 * from memory it would be a regular file. */
static bool read_descriptor(struct source *source, bool as_named) {
    struct stat file;
    source->came = BY_FD;
    if (fstat(source->target, &file) != 0) return false;
    if (S_ISFIFO(file.st_mode)) return !as_named && drain(source->target, &source->script);
    return read_regular(source->path, &source->script);
}

/* Look for *name* in the folder: 1 it is there, 0 it is not, -1 something else is. */
static int look(const struct slice *folder, const char *name, char path[PATH_MAX]) {
    struct stat file;
    if (!join(path, folder, name)) return -1;
    if (stat(path, &file) != 0) return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
    return S_ISREG(file.st_mode) ? 1 : -1;
}

/* Find the file that sbatch will open, as traced on 22.05: a name that begins with "." or "/" is taken as it is; any other
 * is looked up in -D (else the working directory), then in PATH, then in the working directory. */
static bool find(const char *name, const char *chdir, char path[PATH_MAX]) {
    static const struct slice here = {(const unsigned char *)".", 1};
    struct slice first = chdir != NULL ? (struct slice){(const unsigned char *)chdir, strlen(chdir)} : here, part;
    if (name[0] == '.' || name[0] == '/') {
        path[0] = '\0';
        return strlen(name) < PATH_MAX && memcpy(path, name, strlen(name) + 1) != NULL;
    }
    int there = look(&first, name, path);
    if (there != 0) {
        char other[PATH_MAX];
        struct stat file;
        /* Where -D and the working directory both have it, a Slurm of another age may choose the other. */
        return there == 1 && (chdir == NULL || look(&here, name, other) != 1 ||
                              (stat(other, &file) == 0 && same_file(path, &file)));
    }
    for (const char *list = getenv("PATH"); next_part(&list, ':', &part);) {
        there = part.size > 0 ? look(&part, name, path) : 0;
        if (there != 0) return there == 1;
    }
    return look(&here, name, path) == 1;
}

bool read_source(struct submission *of) {
    char path[PATH_MAX];
    const struct arguments *arguments = &of->arguments;
    struct source *source = &of->source;
    *source = (struct source){arguments->came, "", -1, -1, {NULL, 0, 0, false}};
    if (source->came == BY_WRAP) {
        const char *command = of->argv[arguments->word] + arguments->offset;
        add(&source->script, command, strlen(command));
        return !source->script.broken && source->script.size <= MAX_SCRIPT;
    }
    if (source->came == BY_STDIN) return read_stdin(source);
    if (source->came != BY_FILE) return false;
    source->path = of->argv[arguments->word];
    source->target = named_descriptor(source->path);
    if (source->target >= 0) return read_descriptor(source, arguments->as_named);
    if (arguments->as_named) return read_regular(source->path, &source->script);
    return find(source->path, arguments->chdir, path) && read_regular(path, &source->script);
}
