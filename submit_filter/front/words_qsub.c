/* Which word of qsub's command line is the script. getopt's rules, and options end at the first other word ("+", seen on
 * OpenPBS 23.06); `-C` and PBS_DPREFIX say how directives begin, never where the script is. */
#include "front.h"

static const char OPTIONS[] = "+a:A:c:C:e:fhIj:J:k:l:m:M:N:o:p:q:r:R:S:u:v:VW:XzP:";

/* -I submits no script and wants the terminal as it is; -u submits in another's name, whose files are none of ours; "?" is
 * what getopt returns for what qsub does not know, or a value that is missing. */
static const char LEAVING[] = "Iu?";

/* What qsub refuses or takes for itself is left to it: `--version`, `-- executable`, a word behind the script. */
static struct arguments read_words(char *const *argv) {
    const struct arguments left = {LEFT, 0, 0, NULL, true}, from_stdin = {BY_STDIN, 0, 0, NULL, true};
    int count = 0;
    while (argv[count] != NULL) count++;
    if (count == 0) return left;
    opterr = optind = 0; /* silently, and from the beginning */
    for (int letter; (letter = getopt(count, argv, OPTIONS)) != -1;)
        if (strchr(LEAVING, letter) != NULL) return left;
    if (strcmp(argv[optind - 1], "--") == 0) return left; /* as a value, too, qsub may take it for the end of the options */
    if (optind == count) return from_stdin;
    if (argv[optind][0] == '\0' || argv[optind + 1] != NULL) return left;
    return strcmp(argv[optind], "-") == 0 ? from_stdin : (struct arguments){BY_FILE, optind, 0, NULL, true};
}

const struct command QSUB = {"qsub", "pbs", read_words};
