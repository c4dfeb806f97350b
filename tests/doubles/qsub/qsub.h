/* A double of qsub: the parts and what they promise each other. README.md in the folder above says what it is for.
 *
 * Everything here was written from facts about OpenPBS 23.06 that were measured at its command line. */
#ifndef MAPLE_TESTS_QSUB_H
#define MAPLE_TESTS_QSUB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define LETTERS "a:A:c:C:e:fhIj:J:k:l:m:M:N:o:p:q:r:R:S:u:v:VW:XzP:"
enum { MOST_SETTINGS = 512, MOST_PREFIX = 32, MOST_NAME = 230, MOST_SCRIPT = 8 << 20 };

/* Where a setting was said. */
enum origin { BY_ARGV, BY_SCRIPT };
/* What it is: an option, a resource of -l, an attribute of -W. */
enum kind { OPTION, RESOURCE, ATTRIBUTE };

struct setting {
    char *name, *value;
    enum origin origin;
    enum kind kind;
};

/* options.c: the settings in force. */
extern struct setting settings[MOST_SETTINGS];
extern size_t setting_count;
const char *option(const char *name); /* NULL: not said */
const char *resource(const char *name);
const char *attribute(const char *name);
/* Take one option. False: it was complained about. */
bool take_option(int letter, const char *value, enum origin origin);
bool is_job_name(const char *name);
_Noreturn void usage(void);

/* directives.c: returns only if every directive was taken. */
void take_directives(const char *script, size_t size, const char *prefix);

/* resources.c: refuse as the server would refuse the request; *to* gets the chunks that it makes of it. */
void check_request(FILE *to);

/* server.c */
void check_server(void);
void submit(void);

/* waiting.c */
_Noreturn void interact(const char *job);
_Noreturn void block(const char *job);
void leave_background(void);

/* setup.c: what this server is like, `name=value` lines in the file that QSUB_SETUP names; "" if not said. */
const char *setup(const char *name);
bool setup_lists(const char *name, const char *word, size_t size);
const char *server_name(void);

/* main.c */
extern FILE *record; /* NULL: nothing is written down */
_Noreturn void finish(int status);
/* Say `qsub: TEXT` and end. */
_Noreturn void refuse(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
