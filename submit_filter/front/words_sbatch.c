/* Which word of sbatch's command line is the script. getopt_long's rules ("+": options end at the first other word). */
#define _GNU_SOURCE
#include <string.h>

#include "front.h"

struct option_row {
    const char *name;
    int arity;
    char letter;
};

static const struct option_row ROWS[] = {
#define OPTION(name, arity, letter) {name, arity, letter},
#include "slurm_options.h"
#undef OPTION
};
enum { ROW_COUNT = sizeof ROWS / sizeof *ROWS };

/* Options behind which nothing is submitted, or not by this caller. */
static bool leaves(const struct option_row *row) {
    static const char *const names[] = {"help", "usage", "version", "autocomplete", "uid", "gid"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(row->name, names[i]) == 0) return true;
    return false;
}

static bool matters(const struct option_row *row) {
    return leaves(row) || strcmp(row->name, "wrap") == 0 || strcmp(row->name, "chdir") == 0 ||
           strcmp(row->name, "workdir") == 0;
}

/* The option of that name or unambiguous prefix. Of several candidates any will do if none matters and all take their
 * value alike: which of them a given Slurm knows does not change where the script stands. */
static const struct option_row *long_option(const char *name, size_t size) {
    const struct option_row *found = NULL;
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (strncmp(ROWS[i].name, name, size) != 0) continue;
        if (ROWS[i].name[size] == '\0') return &ROWS[i];
        if (found != NULL && (found->arity != ROWS[i].arity || matters(found) || matters(&ROWS[i]))) return NULL;
        found = &ROWS[i];
    }
    return found;
}

static const struct option_row *short_option(char letter) {
    for (size_t i = 0; i < ROW_COUNT; i++)
        if (ROWS[i].letter == letter) return &ROWS[i];
    return NULL;
}

/* Note an option whose value begins at *offset* of argv[*word*]. False: leave the submission alone. */
static bool note(struct arguments *seen, const struct option_row *row, char *const *argv, int word, size_t offset) {
    if (leaves(row)) return false;
    if (strcmp(row->name, "chdir") == 0 || strcmp(row->name, "workdir") == 0) seen->chdir = argv[word] + offset;
    if (strcmp(row->name, "wrap") == 0) {
        if (seen->came == BY_WRAP || argv[word][offset] == '\0') return false;
        seen->came = BY_WRAP;
        seen->word = word;
        seen->offset = offset;
    }
    return true;
}

static bool read_long(struct arguments *seen, char *const *argv, int *at) {
    const char *name = argv[*at] + 2;
    size_t size = strcspn(name, "=");
    const struct option_row *row = size > 0 ? long_option(name, size) : NULL;
    if (row == NULL || (row->arity == 0 && name[size] == '=')) return false;
    if (row->arity == 0 || name[size] == '=' || row->arity == 2)
        return note(seen, row, argv, *at, name[size] == '=' ? size + 3 : size + 2);
    if (argv[*at + 1] == NULL) return false;
    ++*at;
    return note(seen, row, argv, *at, 0);
}

static bool read_letters(struct arguments *seen, char *const *argv, int *at) {
    for (size_t i = 1; argv[*at][i] != '\0'; i++) {
        const struct option_row *row = short_option(argv[*at][i]);
        if (row == NULL) return false;
        if (row->arity == 0) {
            if (!note(seen, row, argv, *at, i)) return false;
            continue;
        }
        if (row->arity == 2) return argv[*at][i + 1] == '\0'; /* -k took no value before 20.11 */
        if (argv[*at][i + 1] != '\0') return note(seen, row, argv, *at, i + 1);
        if (argv[*at + 1] == NULL) return false;
        ++*at;
        return note(seen, row, argv, *at, 0);
    }
    return true;
}

static struct arguments read_words(char *const *argv) {
    const struct arguments left = {LEFT, 0, 0, NULL, false};
    struct arguments seen = {BY_STDIN, 0, 0, NULL, false};
    int at = 1;
    if (argv[0] == NULL) return left;
    for (int i = 1; argv[i] != NULL; i++)
        if (strcmp(argv[i], ":") == 0) return left; /* parts of a heterogeneous job */
    for (; argv[at] != NULL && argv[at][0] == '-' && argv[at][1] != '\0'; at++) {
        if (strcmp(argv[at], "--") == 0) {
            at++;
            break;
        }
        if (!(argv[at][1] == '-' ? read_long(&seen, argv, &at) : read_letters(&seen, argv, &at))) return left;
    }
    if (argv[at] == NULL) return seen;
    if (seen.came == BY_WRAP || argv[at][0] == '\0') return left;
    seen.came = BY_FILE;
    seen.word = at;
    return seen;
}

const struct command SBATCH = {"sbatch", "slurm", read_words};
