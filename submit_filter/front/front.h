/* Types and promises shared by the parts of the front. Nothing here ever fails a submission: a part that cannot do its
 * work says so by its return value, and the real command runs with the user's own bytes.
 *
 * Each part includes this before anything else: it says which C library is meant, and brings what several parts use. */
#ifndef MAPLE_FRONT_H
#define MAPLE_FRONT_H

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { NONCE_SIZE = 16, HASH_SIZE = 32 };
#define MAX_SCRIPT ((size_t)4 << 20)  /* Slurm itself refuses more */
#define MAX_REQUEST ((size_t)8 << 20)
#define MAX_REPLY ((size_t)20 << 20)
#define MAX_WORDS 65536U
enum { MAX_RECORD = 64, MAX_UNLESS = 64, MAX_EARLIER = 16384 };

/* A growing run of bytes. Once an append fails it stays failed: look at *broken* at the end. */
struct buffer {
    unsigned char *at;
    size_t size, room;
    bool broken;
};

/* Bytes that somebody else owns. */
struct slice {
    const unsigned char *at;
    size_t size;
};

struct config {
    char path[PATH_MAX]; /* of the file itself; "" when there is none */
    char real[PATH_MAX], python[PATH_MAX], helper[PATH_MAX], socket[PATH_MAX], audit[PATH_MAX];
    char child[PATH_MAX], child_python[PATH_MAX]; /* what reads the user's files; "": nothing does */
    enum { ACT, OBSERVE, OFF } mode; /* ACT: what the answer says, which knows the rest of the modes */
    uid_t service_uid;
    int socket_ms, helper_ms, files_ms;
};

/* How the script comes: in doubt it is LEFT, that is, not looked at. WAYS has the words for it. */
enum coming { LEFT, BY_FILE, BY_STDIN, BY_WRAP, BY_FD };
extern const char *const WAYS[];

/* What the command line says about the script. */
struct arguments {
    enum coming came; /* BY_FILE, BY_STDIN, BY_WRAP or LEFT */
    int word;         /* which word of argv names the script or holds the --wrap command */
    size_t offset;    /* where in that word the --wrap command begins */
    const char *chdir;
    bool as_named; /* a file is opened by the name as it is, and must be a regular one */
};

/* A command that the front stands in for. */
struct command {
    const char *name, *scheduler;
    struct arguments (*read)(char *const *argv);
};

/* The script as it will be read by the real command. */
struct source {
    enum coming came;
    const char *path;     /* as named on the command line, "" for stdin and --wrap */
    int target;           /* descriptor it is read from, for BY_STDIN and BY_FD */
    off_t end;            /* BY_STDIN from a seekable file: where reading would stop; -1 otherwise */
    struct buffer script;
};

/* One call of the command, and what an answer to it has to name. */
struct submission {
    const struct config *config;
    const struct command *command;
    char **argv, **environment;
    int64_t started;
    struct arguments arguments;
    struct source source;
    unsigned char nonce[NONCE_SIZE], hash[HASH_SIZE];
};

/* What would be submitted in place of what came, and its audit line. */
struct change {
    struct slice script, audit; /* no bytes: there is none */
    char **argv;                /* NULL: as it was. NULL-terminated, words owned by the reply */
    size_t words;
};

/* What the daemon would like to be read of the user's files. *unless*: files as they were when it was told of them. */
struct reading {
    char record[MAX_RECORD + 1]; /* "" for nothing */
    struct slice unless[MAX_UNLESS];
    size_t count;
};

/* Who had the whole time that config gives and did not answer in it; one or several. */
enum { FOR_DAEMON = 1, FOR_HELPER = 2, FOR_FILES = 4 };

/* What an answerer said; the slices point into *frame*. */
struct reply {
    struct buffer frame;
    bool rewrite, offer, ask_helper;
    struct change unasked, offered; /* the audit line of *unasked* also where nothing changes */
    struct slice say, question, learnt;
    size_t conditions;      /* files that it depends on */
    struct slice earlier;   /* what the helper has to know of earlier jobs; as reading */
    struct reading reading; /* also of a reply that is not believed because a file changed */
    unsigned waited;        /* for whom, of those that did not answer in time */
};

/* buffer.c */
void put_number(unsigned char to[4], unsigned number);
unsigned number_at(const unsigned char *at);
void add(struct buffer *to, const void *bytes, size_t size);
void add_field(struct buffer *to, unsigned tag, const void *bytes, size_t size);
bool same_text(const struct slice *bytes, const char *text);
bool begins(const struct slice *bytes, const char *with);
struct slice after(const struct slice *bytes, size_t size);
/* Take the first line, or the first part of a list, from the text; what is left is in *text*. */
struct slice next_line(struct slice *text);
bool next_part(const char **list, char separator, struct slice *part);
/* The path of *name* in the folder; false where it is too long. */
bool join(char path[PATH_MAX], const struct slice *folder, const char *name);
bool same_file(const char *path, const struct stat *other);
int64_t now_ms(void);
void hex(char *to, const unsigned char *bytes, size_t size);
void sha256(const void *bytes, size_t size, unsigned char hash[HASH_SIZE]);

/* config.c */
void read_config(struct config *config, const char *command);
int fronts_before(void); /* in this chain of fork and execve */
/* Become the real command; returns only if that fails, with errno. */
int try_real(const struct config *config, const char *command, char **argv, char **environment);
/* The same; says why it failed and returns the exit status to use. */
int become_real(const struct config *config, const char *command, char **argv, char **environment);

/* words_sbatch.c, words_qsub.c */
extern const struct command SBATCH, QSUB;

/* source.c */
bool read_source(struct submission *of);
/* Put *size* bytes where the real command will read its script from: descriptor *target*. */
bool give_bytes(int target, const void *bytes, size_t size);
bool write_all(int fd, const unsigned char *bytes, size_t size);
/* Read a file from *at* to its end without moving its offset; false where that is more than a script may have. */
bool read_file(int fd, off_t at, struct buffer *to);
bool read_regular(const char *path, struct buffer *to);
/* May a file have that size? One that may not would end us. */
bool fits_limit(size_t size);

/* frame.c */
void build_request(struct buffer *to, const struct submission *of, unsigned flags);
/* What the helper learnt, for the daemon to remember: it opens no file of a user's by itself. */
void build_learnt(struct buffer *to, const struct slice *learnt, const unsigned char nonce[NONCE_SIZE]);
/* Read one whole reply frame; false if it is not exactly what was agreed, or answers something else. */
bool read_reply(struct reply *reply, const struct submission *of);
/* The request with what the daemon said of earlier jobs, for the helper. */
void tell_earlier(struct buffer *to, const struct buffer *request, const struct slice *earlier);
/* Is a file still what it was? The field holds its path, a NUL, and its facts. It may hang as long as the file does. */
bool still_holds(const struct slice *field);
/* All that a reply, which was read, depends on. It may hang. */
bool files_are_as_they_were(void *reply);

/* process.c */
/* A process of ours; without an exit signal, so that a caller who blocks, ignores or handles SIGCHLD sees none. */
pid_t divide(void);
/* In a child: everything but fd 0, 1 and 2; signals and umask as a program of its own wants them; a resource. */
void close_others(void);
void begin_anew(void);
void bound(int resource, unsigned long most);
/* Become the program, with a clean environment; *word* may be NULL. */
_Noreturn void become_python(const char *python, const char *flags, const char *program, const char *conf, const char *word);
/* End a child of ours, and what it started in its group; one that cannot be ended is left. */
void end_process(pid_t process);

/* Wait until *fd* is ready; false when the deadline has passed. */
bool ready(int fd, short events, int64_t deadline);
/* Let a process of ours do the work, whose end closes what it opens; false where it failed, or was late. */
bool in_time(bool (*work)(void *of), void *of, int64_t deadline);
/* The same for what touches the user's or the site's folders, in what is left of files_ms. *late* may be NULL. */
bool with_files(const struct config *config, bool (*work)(void *of), void *of, bool *late);
/* files_are_as_they_were, in time; false where that cannot be said before the deadline. */
bool conditions_hold(struct reply *reply, int64_t deadline);

/* mentions.c: 1 the variable goes with the script that was noted, 0 it does not, -1 there is too much to look through. */
void note_script(const struct buffer *script);
int travels(const char *variable, const struct buffer *script);

/* bounds.c: may a service that is neither root nor the caller say this of the script? */
bool is_bounded(const struct reply *reply, const struct submission *of);

/* answer.c: ask the daemon, else the helper. False: nobody answered in time. */
bool ask(const struct submission *of, const struct buffer *request, struct reply *reply);

/* detach.c: start the process that reads the user's files, if the daemon wants it and the site has it; nobody's child. */
void detach(const struct config *config, const struct reading *reading);

/* copy.c: write a private copy and leave its path in *path*. *late*: whether it was given up. */
bool private_copy(const struct config *config, const struct slice *script, const char *name, char path[PATH_MAX],
                  bool *late);
/* Open (creating it where needed) the folder `maple` in the user's folder for caches or state; -1 if it is not safe. */
int open_own_folder(const char *variable, const char *const *below_home, char path[PATH_MAX]);
/* Open what lies at *path* from the root on; -1 where a step of the way is a link or not as it must be. */
int open_stepwise(const char *path, bool (*fits)(const struct stat *step));

/* terminal.c */
bool may_ask(void);
void say(const void *text, size_t size, bool verbose);
bool offer(const struct slice *question);

/* audit.c: keep the line; keep one that says who was too late, none where nobody was. */
void write_audit(const struct submission *of, const struct slice *line);
/* Count a submission of which nothing is to be said: a report has to know of how many the others are. */
void count_untouched(struct submission *of);
void write_late(const struct submission *of, unsigned waited);

enum { MAY_ASK = 1, STDERR_IS_TERMINAL = 2 };

#endif
