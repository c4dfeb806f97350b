/* Which word of sbatch's command line is the script. The C library's getopt_long, which sbatch has as well, reads the words
 * ("+": options end at the first other word). */
#include "front.h"

#include <getopt.h>

/* What getopt_long returns for a long option. Of several that a word abbreviates it takes any, if they return the same and
 * take their value alike: which of them a given Slurm knows does not change where the script stands. */
enum { OTHER = 256, LEAVES, WRAP, CHDIR };

static const struct option ROWS[] = {
#define OPTION(name, arity, letter) {name, arity, NULL, letter},
#include "slurm_options.h"
#undef OPTION
};
enum { ROW_COUNT = sizeof ROWS / sizeof *ROWS };

/* LEAVES: behind it nothing is submitted, or not by this caller. */
static int meaning(const char *name) {
    static const char *const leaving[] = {"help", "usage", "version", "autocomplete", "uid", "gid"};
    for (size_t i = 0; i < sizeof leaving / sizeof *leaving; i++)
        if (strcmp(name, leaving[i]) == 0) return LEAVES;
    if (strcmp(name, "chdir") == 0 || strcmp(name, "workdir") == 0) return CHDIR;
    return strcmp(name, "wrap") == 0 ? WRAP : OTHER;
}

/* The options as getopt_long takes them. */
static void make_tables(struct option rows[ROW_COUNT + 1], char letters[3 * ROW_COUNT + 2]) {
    *letters++ = '+';
    for (size_t i = 0; i < ROW_COUNT; i++) {
        rows[i] = (struct option){ROWS[i].name, ROWS[i].has_arg, NULL, meaning(ROWS[i].name)};
        if (ROWS[i].val != 0) letters += sprintf(letters, "%c%s", ROWS[i].val, &"::"[2 - ROWS[i].has_arg]);
    }
    rows[ROW_COUNT] = (struct option){NULL, 0, NULL, 0};
}

/* Note an option by what getopt_long returned for it. False: leave the submission alone. */
static bool note(struct arguments *seen, int read, char *const *argv) {
    if (read == '?' || read == 'h' || read == 'V' || read == LEAVES) return false;
    if (read == 'k' && optarg != NULL) return false; /* it took no value before 20.11 */
    if (read == 'D' || read == CHDIR) seen->chdir = optarg;
    if (read == WRAP) {
        if (seen->came == BY_WRAP || optarg[0] == '\0') return false;
        seen->came = BY_WRAP;
        seen->word = optind - 1; /* the value is its end, or all of it */
        seen->offset = (size_t)(optarg - argv[seen->word]);
    }
    return true;
}

static struct arguments read_words(char *const *argv) {
    const struct arguments left = {LEFT, 0, 0, NULL, false};
    struct arguments seen = {BY_STDIN, 0, 0, NULL, false};
    struct option rows[ROW_COUNT + 1];
    char letters[3 * ROW_COUNT + 2];
    int count = 0;
    for (; argv[count] != NULL; count++)
        if (count > 0 && strcmp(argv[count], ":") == 0) return left; /* parts of a heterogeneous job */
    if (count == 0) return left;
    make_tables(rows, letters);
    opterr = optind = 0; /* silently, and from the beginning */
    for (int read; (read = getopt_long(count, argv, letters, rows, NULL)) != -1;)
        if (!note(&seen, read, argv)) return left;
    if (optind == count) return seen;
    if (seen.came == BY_WRAP || argv[optind][0] == '\0') return left;
    return (struct arguments){BY_FILE, optind, 0, seen.chdir, false};
}

const struct command SBATCH = {"sbatch", "slurm", read_words};
