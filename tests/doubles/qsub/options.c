/* Options of qsub: which values they take, and which place wins where one is said twice. */
#define _GNU_SOURCE
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "qsub.h"

struct setting settings[MOST_SETTINGS];
size_t setting_count;

static const char *const NAMES[128] = {
    ['a'] = "execution-time", ['A'] = "account", ['c'] = "checkpoint", ['C'] = "directive-prefix", ['e'] = "error",
    ['f'] = "foreground", ['h'] = "hold", ['I'] = "interactive", ['j'] = "join", ['J'] = "array", ['k'] = "keep",
    ['m'] = "mail-type", ['M'] = "mail-user", ['N'] = "job-name", ['o'] = "output", ['p'] = "priority", ['q'] = "queue",
    ['r'] = "rerunable", ['R'] = "remove-files", ['S'] = "shell", ['u'] = "user", ['v'] = "variable-list",
    ['V'] = "all-variables", ['X'] = "x11", ['z'] = "quiet", ['P'] = "project",
};

_Noreturn void usage(void) {
    fputs("usage: qsub [options] [script | -- executable [arguments]]\n", stderr);
    finish(2);
}

static struct setting *said(const char *name, enum kind kind) {
    for (size_t i = 0; i < setting_count; i++)
        if (settings[i].kind == kind && strcmp(settings[i].name, name) == 0) return &settings[i];
    return NULL;
}

const char *option(const char *name) {
    const struct setting *one = said(name, OPTION);
    return one != NULL ? one->value : NULL;
}

const char *resource(const char *name) {
    const struct setting *one = said(name, RESOURCE);
    return one != NULL ? one->value : NULL;
}

const char *attribute(const char *name) {
    const struct setting *one = said(name, ATTRIBUTE);
    return one != NULL ? one->value : NULL;
}

/* The command line is read before the script and wins. Within one of them the last wins, but the first for a script's -l. */
static void put(const char *name, const char *value, enum kind kind, enum origin origin) {
    struct setting *one = said(name, kind);
    if (one != NULL && origin == BY_SCRIPT && (one->origin == BY_ARGV || kind == RESOURCE)) return;
    if (one == NULL) {
        if (setting_count == MOST_SETTINGS) refuse(1, "too many settings");
        one = &settings[setting_count++];
        one->name = strdup(name);
    }
    *one = (struct setting){one->name, strdup(value), origin, kind};
}

/* Whether every byte is one of *known*, each at most once. */
static bool is_set(const char *value, const char *known) {
    for (const char *at = value; *at != '\0'; at++)
        if (strchr(known, *at) == NULL || strchr(at + 1, *at) != NULL) return false;
    return *value != '\0';
}

static bool is_time(const char *value) { /* [[[[CC]YY]MM]DD]hhmm[.SS] */
    size_t digits = strspn(value, "0123456789");
    const char *clock = value + (digits >= 4 ? digits - 4 : 0), *rest = value + digits;
    if (digits < 4 || digits > 12 || digits % 2 != 0) return false;
    if ((clock[0] - '0') * 10 + clock[1] - '0' > 23 || clock[2] > '5') return false;
    return *rest == '\0' || (rest[0] == '.' && strspn(rest + 1, "0123456789") == 2 && rest[3] == '\0');
}

static bool is_number(const char *value, long least, long most) {
    char *end;
    long number = strtol(value, &end, 10);
    return *value != '\0' && *end == '\0' && number >= least && number <= most;
}

static bool is_range(const char *value) { /* X-Y[:Z][%N] */
    char *end;
    if (!isdigit((unsigned char)*value)) return false;
    long first = strtol(value, &end, 10);
    if (*end != '-' || !isdigit((unsigned char)end[1])) return false;
    long last = strtol(end + 1, &end, 10), step = 1, most = 1;
    if (*end == ':') step = strtol(end + 1, &end, 10);
    if (*end == '%') most = strtol(end + 1, &end, 10);
    return *end == '\0' && first < last && step > 0 && most > 0;
}

static bool is_shell_list(const char *value) {
    for (const char *at = value; at != NULL; at = strchr(at, ','), at += at != NULL)
        if (*at != '/') return false;
    return true;
}

bool is_job_name(const char *name) {
    for (const char *at = name; *at != '\0'; at++)
        if (!isgraph((unsigned char)*at)) return false;
    return *name != '\0';
}

static bool is_checkpoint(const char *value) {
    if (value[0] == '\0') return false;
    if (value[1] == '=') return strchr("cw", value[0]) != NULL && is_number(value + 2, 1, 1000000);
    return strchr("nscwu", value[0]) != NULL && value[1] == '\0';
}

/* `queue`, `queue@server` or `@server`. */
static void check_destination(const char *value) {
    for (const char *at = value; *at != '\0'; at++)
        if (!isalnum((unsigned char)*at) && strchr("@_-.:", *at) == NULL)
            refuse(2, "illegally formed destination: %s", value);
    if (*value == '\0') refuse(2, "illegally formed destination: %s", value);
}

static bool fits(int letter, const char *value) {
    switch (letter) {
    case 'a': return is_time(value);
    case 'c': return is_checkpoint(value);
    case 'e': case 'o': case 'M': case 'u': case 'v': return *value != '\0';
    case 'j': return strcmp(value, "oe") == 0 || strcmp(value, "eo") == 0 || strcmp(value, "n") == 0;
    case 'J': return is_range(value);
    case 'k': return strcmp(value, "n") == 0 || (is_set(value, "oed") && strcmp(value, "d") != 0);
    case 'm': return strcmp(value, "n") == 0 || is_set(value, "abej");
    case 'N': return is_job_name(value);
    case 'p': return is_number(value, -1024, 1023);
    case 'r': return strcmp(value, "y") == 0 || strcmp(value, "n") == 0;
    case 'R': return is_set(value, "oe");
    case 'S': return is_shell_list(value);
    default: return true;
    }
}

static size_t name_size(const char *text) {
    size_t size = 0;
    while (isalnum((unsigned char)text[size]) || (size > 0 && (text[size] == '_' || text[size] == '-'))) size++;
    return size;
}

/* `name[=value],...`: qsub splits at each comma. */
static bool take_resources(const char *value, enum origin origin) {
    char *list = strdup(value), *rest = list, *item;
    while ((item = strsep(&rest, ",")) != NULL) {
        size_t size = name_size(item);
        if (size == 0 || (item[size] != '=' && item[size] != '\0')) return false;
        const char *text = item[size] == '=' ? item + size + 1 : "";
        item[size] = '\0';
        put(item, text, RESOURCE, origin);
    }
    free(list);
    return true;
}

/* `name=value,...`; an item without `=` goes on with the list before it, where that is a list. */
static bool take_attributes(const char *value, enum origin origin) {
    static const char *const lists[] = {"depend", "group_list", "stagein", "stageout", NULL};
    char *all = strdup(value), *rest = all, *item, *name = NULL, *text = NULL, *joined;
    while ((item = strsep(&rest, ",")) != NULL) {
        size_t size = name_size(item), i = 0;
        if (size > 0 && item[size] == '=' && item[size + 1] != '\0') {
            item[size] = '\0';
            name = item;
            text = strdup(item + size + 1);
        } else {
            while (lists[i] != NULL && (name == NULL || strcmp(lists[i], name) != 0)) i++;
            if (lists[i] == NULL || asprintf(&joined, "%s,%s", text, item) < 0) return false;
            text = joined;
        }
        put(name, text, ATTRIBUTE, origin);
    }
    free(all);
    return true;
}

bool take_option(int letter, const char *value, enum origin origin) {
    bool good = fits(letter, value);
    if (letter == 'q') check_destination(value);
    if (letter == 'N' && good && strlen(value) > MOST_NAME) refuse(2, "Job name is too long ");
    if (letter == 'C' && origin == BY_SCRIPT) return true; /* without effect there */
    if (letter == 'l') good = take_resources(value, origin);
    else if (letter == 'W') good = take_attributes(value, origin);
    else if (good) put(NAMES[letter], value, OPTION, origin);
    if (!good) fprintf(stderr, "qsub: illegal -%c value\n", letter);
    return good;
}
