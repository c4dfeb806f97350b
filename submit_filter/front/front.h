/* Types and promises shared by the parts of the front. Nothing here ever fails a submission: a part that cannot do its
 * work says so by its return value, and the real command runs with the user's own bytes. */
#ifndef MAPLE_FRONT_H
#define MAPLE_FRONT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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
    bool off;
    uid_t service_uid;
    int socket_ms, helper_ms, files_ms;
};

/* How the script comes: in doubt it is LEFT, that is, not looked at. */
enum coming { LEFT, BY_FILE, BY_STDIN, BY_WRAP, BY_FD };

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

/* What the daemon would like to be read of the user's files. *unless*: files as they were when it was told of them. */
struct reading {
    char record[MAX_RECORD + 1]; /* "" for nothing */
    struct slice unless[MAX_UNLESS];
    size_t count;
};

/* Who had the whole time that config gives and did not answer in it. */
struct waited {
    bool for_daemon, for_helper, for_files;
};

/* What an answerer said; the slices point into *frame*. */
struct reply {
    struct buffer frame;
    bool rewrite, offer, ask_helper;
    bool has_script, offer_has_script;
    struct slice script, say, audit;
    struct slice question, offer_script, offer_audit, learnt;
    size_t conditions;    /* files that it depends on */
    struct slice earlier; /* what the helper has to know of earlier jobs; as reading */
    struct reading reading; /* also of a reply that is not believed because a file changed */
    struct waited waited;   /* also where nobody answered */
    char **argv, **offer_argv; /* NULL: as it was. NULL-terminated, words owned by the reply */
};

/* buffer.c */
void add(struct buffer *to, const void *bytes, size_t size);
void add_field(struct buffer *to, unsigned tag, const void *bytes, size_t size);
bool contains(const struct buffer *text, const char *word);
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
bool read_source(const struct arguments *arguments, char *const *argv, struct source *source);
/* Put *size* bytes where the real command will read its script from: descriptor *target*. */
bool give_bytes(int target, const void *bytes, size_t size);

/* frame.c */
void build_request(struct buffer *to, const char *scheduler, const struct arguments *arguments,
                   const struct source *source, char *const *argv, char *const *environment,
                   const unsigned char nonce[NONCE_SIZE], const unsigned char hash[HASH_SIZE], unsigned flags,
                   int deadline);
/* What the helper learnt, for the daemon to remember: it opens no file of a user's by itself. */
void build_learnt(struct buffer *to, const struct slice *learnt, const unsigned char nonce[NONCE_SIZE]);
/* Read one whole reply frame; false if it is not exactly what was agreed, or answers something else. */
bool read_reply(struct reply *reply, const unsigned char nonce[NONCE_SIZE], const unsigned char hash[HASH_SIZE]);

/* The request with what the daemon said of earlier jobs, for the helper. */
void tell_earlier(struct buffer *to, const struct buffer *request, const struct slice *earlier);

/* Is a file still what it was? The field holds its path, a NUL, and its facts. It may hang as long as the file does. */
bool still_holds(const struct slice *field);
/* All that a reply, which was read, depends on. It may hang. */
bool files_are_as_they_were(const struct reply *reply);

/* deadline.c: the same, in time; false where that cannot be said before the deadline. */
bool conditions_hold(struct reply *reply, int64_t deadline);
/* Let a process of ours do the work; false where it failed, or was not done before the deadline. */
bool in_time(bool (*work)(void *of), void *of, int64_t deadline);
/* The same for what touches the user's or the site's folders, in what is left of files_ms. */
bool with_files(const struct config *config, bool (*work)(void *of), void *of, bool *late);

/* mentions.c: 1 the variable goes with the script that was noted, 0 it does not, -1 there is too much to look through. */
void note_script(const struct buffer *script);
int travels(const char *variable, const struct buffer *script);

/* bounds.c: may a service that is neither root nor the caller say this of the script? */
bool is_bounded(const struct reply *reply, const struct source *source, char *const *argv,
                const unsigned char hash[HASH_SIZE]);

/* answer.c: ask the daemon, else the helper. False: nobody answered in time. */
bool ask(const struct config *config, const struct source *source, char *const *argv, const struct buffer *request,
         struct reply *reply,
         const unsigned char nonce[NONCE_SIZE], const unsigned char hash[HASH_SIZE]);

/* detach.c: start the process that reads the user's files, if the daemon wants it and the site has it; nobody's child. */
void detach(const struct config *config, const struct reading *reading);

/* answer.c: wait until *fd* is ready; false when the deadline has passed. */
bool ready(int fd, short events, int64_t deadline);
/* answer.c: end a child of ours, and what it started in its group; one that cannot be ended is left. */
void end_process(pid_t process);
/* answer.c: in a child, everything but fd 0, 1 and 2. */
void close_others(void);

/* copy.c: write a private copy and leave its path in *path*. *late*: whether it was given up. */
bool private_copy(const struct config *config, const struct slice *script, const char *name, char path[PATH_MAX],
                  bool *late);
/* Open (creating it where needed) the folder `maple` in the user's folder for caches or state; -1 if it is not safe. */
int open_own_folder(const char *variable, const char *const *below_home, char path[PATH_MAX]);

/* late.c: leave an audit line that says who was too late; none where nobody was. */
void write_late(const struct config *config, const struct waited *waited, const unsigned char nonce[NONCE_SIZE],
                const unsigned char hash[HASH_SIZE], enum coming came, int64_t started);

/* terminal.c */
bool may_ask(void);
void say(const void *text, size_t size, bool verbose);
bool offer(const struct slice *question);
void write_audit(const struct config *config, const struct slice *line, int64_t started);

enum { MAY_ASK = 1, STDERR_IS_TERMINAL = 2 };

#endif
