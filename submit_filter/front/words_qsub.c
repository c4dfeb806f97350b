/* Which word of qsub's command line is the script. getopt's rules, and options end at the first other word (seen on
 * OpenPBS 23.06); `-C` and PBS_DPREFIX say how directives begin, never where the script is. */
#define _GNU_SOURCE
#include <string.h>

#include "front.h"

static const char OPTIONS[] = "a:A:c:C:e:fhIj:J:k:l:m:M:N:o:p:q:r:R:S:u:v:VW:XzP:";

/* -I submits no script and wants the terminal as it is; -u submits in another's name, whose files are none of ours. */
static const char LEAVING[] = "Iu";

/* Pass over the letters of argv[*at] and the value of the last. False: leave the submission alone. */
static bool pass_letters(char *const *argv, int *at) {
    for (const char *letter = argv[*at] + 1; *letter != '\0'; letter++) {
        const char *known = *letter != ':' ? strchr(OPTIONS, *letter) : NULL;
        if (known == NULL || strchr(LEAVING, *letter) != NULL) return false;
        if (known[1] == ':') return letter[1] != '\0' || argv[++*at] != NULL;
    }
    return true;
}

/* What qsub refuses or takes for itself is left to it: `--version`, `-- executable`, a word behind the script. */
static struct arguments read_words(char *const *argv) {
    const struct arguments left = {LEFT, 0, 0, NULL, true}, from_stdin = {BY_STDIN, 0, 0, NULL, true};
    int at = 1;
    if (argv[0] == NULL) return left;
    for (; argv[at] != NULL && argv[at][0] == '-' && argv[at][1] != '\0'; at++)
        if (!pass_letters(argv, &at)) return left; /* "--" and what begins so has no letter of qsub's */
    if (strcmp(argv[at - 1], "--") == 0) return left; /* a value: qsub may take it for the end of the options */
    if (argv[at] == NULL) return from_stdin;
    if (argv[at][0] == '\0' || argv[at + 1] != NULL) return left;
    return strcmp(argv[at], "-") == 0 ? from_stdin : (struct arguments){BY_FILE, at, 0, NULL, true};
}

const struct command QSUB = {"qsub", "pbs", read_words};
