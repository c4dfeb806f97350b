/* The directives of a script: lines that begin with the prefix, before the first line that a shell would execute. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "qsub.h"

enum { MOST_WORDS = 256 };

static _Noreturn void refuse_directive(int count, char *const *words) {
    fputs("qsub: directive error: ", stderr);
    for (int i = 1; i < count; i++) fprintf(stderr, "%s ", words[i]);
    fputc('\n', stderr);
    finish(1);
}

/* Cut a line into words at blanks; quotes and backslashes are understood, and nothing is expanded. */
static int cut(char *line, char **words) {
    int count = 1;
    char *from = line, *to = line;
    for (;;) {
        while (*from == ' ' || *from == '\t') from++;
        if (*from == '\0' || count == MOST_WORDS - 1) break;
        words[count++] = to;
        for (char quote = '\0'; *from != '\0' && (quote != '\0' || (*from != ' ' && *from != '\t')); from++) {
            if (quote == '\0' && (*from == '"' || *from == '\'')) quote = *from;
            else if (*from == quote) quote = '\0';
            else *to++ = *from == '\\' && from[1] != '\0' ? *++from : *from;
        }
        from += *from != '\0';
        *to++ = '\0';
    }
    words[count] = NULL;
    return count;
}

static void take_directive(char *line) {
    char *words[MOST_WORDS + 1] = {"qsub"};
    int letter, count = cut(line, words);
    optind = 0;
    while ((letter = getopt(count, words, "+" LETTERS)) != -1)
        if (letter == '?' || !take_option(letter, optarg != NULL ? optarg : "", BY_SCRIPT)) refuse_directive(count, words);
    if (optind < count) refuse_directive(count, words); /* a word too many: there are no comments in a directive */
}

/* Return the line's text without its end, joined with the next while it ends with a backslash. */
static char *joined(const char **at, const char *end) {
    char *line = calloc(1, (size_t)(end - *at) + 1);
    size_t size = 0;
    for (;;) {
        const char *stop = memchr(*at, '\n', (size_t)(end - *at));
        size_t here = (size_t)((stop != NULL ? stop : end) - *at);
        memcpy(line + size, *at, here);
        size += here;
        *at += here + (stop != NULL);
        if (size == 0 || line[size - 1] != '\\') break;
        size--;
        if (*at == end) break;
    }
    line[size] = '\0';
    return line;
}

/* Neither blank, nor a comment, nor with a colon in column 0. */
static bool is_executable(const char *line, const char *end) {
    if (line < end && *line == ':') return false;
    while (line < end && (*line == ' ' || *line == '\t')) line++;
    return line < end && *line != '\n' && *line != '#';
}

void take_directives(const char *script, size_t size, const char *prefix) {
    const char *end = script + size;
    size_t length = strnlen(prefix, MOST_PREFIX);
    if (memmem(script, size, "\r\n", 2) != NULL) refuse(1, "script contains cr, lf");
    if (length == 0) return;
    for (const char *at = script; at < end;) {
        const char *text = at, *stop = memchr(at, '\n', (size_t)(end - at));
        while (text < end && (*text == ' ' || *text == '\t')) text++;
        if ((size_t)(end - text) >= length && strncmp(text, prefix, length) == 0) {
            at = text + length;
            char *line = joined(&at, end);
            take_directive(line);
            free(line);
            continue;
        }
        if (is_executable(at, end)) return;
        at = stop != NULL ? stop + 1 : end;
    }
}
