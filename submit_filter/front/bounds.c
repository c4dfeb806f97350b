/* A service whose account is not root's and not the caller's may lie. What it would submit is believed only where it
 * looks like a repair: the same lines, few of them changed, and in those no word that is neither the line's own nor one
 * that repairs are made of; then the closing comment of this very script. Root believes no such service at all. */
#define _GNU_SOURCE
#include <ctype.h>
#include <string.h>
#include <unistd.h>

#include "front.h"
#include "service_words.h"

enum { MAX_CHANGED = 64, MAX_LINE = 1024, MAX_CLOSING = 1024 };
static const char SOFT[] = " \t=,:\"'${}()|";

static bool in_word(unsigned char byte) { return isalnum(byte) || (byte != 0 && strchr("_-./~%@+", byte) != NULL); }

static size_t word_at(const struct slice *line, size_t at) {
    size_t size = 0;
    while (at + size < line->size && in_word(line->at[at + size])) size++;
    return size;
}

static bool has_word(const struct slice *line, const unsigned char *word, size_t size) {
    for (size_t at = 0, here; at < line->size; at += here > 0 ? here : 1)
        if ((here = word_at(line, at)) == size && memcmp(line->at + at, word, size) == 0) return true;
    return false;
}

/* A number with at most one letter before and one behind (`-N2`, `16G`), a letter, or one of the table. */
static bool is_harmless(const unsigned char *word, size_t size) {
    size_t at = 0, end = size;
    while (at < size && word[at] == '-') at++;
    for (size_t i = 0; i < sizeof SERVICE_WORDS / sizeof *SERVICE_WORDS; i++)
        if (strlen(SERVICE_WORDS[i]) == size - at && memcmp(SERVICE_WORDS[i], word + at, size - at) == 0) return true;
    if (at < end && isalpha(word[at])) at++;
    if (at < end && isalpha(word[end - 1])) end--;
    while (at < end && isdigit(word[at])) at++;
    return at == end;
}

static size_t count(const struct slice *line, unsigned char byte) {
    size_t found = 0;
    for (size_t i = 0; i < line->size; i++) found += line->at[i] == byte;
    return found;
}

static bool begins(const struct slice *line, const char *with) {
    return line->size >= strlen(with) && memcmp(line->at, with, strlen(with)) == 0;
}

static bool is_directive(const struct slice *line) { return begins(line, "#SBATCH ") || begins(line, "#PBS "); }

/* Has the one line every sign of the other that is no part of a word and not harmless, as often? */
static bool has_signs(const struct slice *line, const struct slice *of) {
    for (size_t i = 0; i < of->size; i++)
        if (!in_word(of->at[i]) && (of->at[i] == 0 || strchr(SOFT, of->at[i]) == NULL) &&
            count(line, of->at[i]) != count(of, of->at[i]))
            return false;
    return true;
}

static bool line_is_bounded(const struct slice *was, const struct slice *changed) {
    static const char working[] = "cd \"$PBS_O_WORKDIR\" && ";
    struct slice rest = *changed, *is = &rest;
    bool both = is_directive(was) && is_directive(is); /* signs mean nothing there */
    if (is_directive(was) && begins(is, "##")) return true;
    if (begins(is, working)) rest = (struct slice){is->at + sizeof working - 1, is->size - (sizeof working - 1)};
    if (was->size > MAX_LINE || is->size > MAX_LINE) return false;
    if (!both && (!has_signs(was, is) || !has_signs(is, was))) return false;
    for (size_t at = 0, size; at < is->size; at += size > 0 ? size : 1) {
        size = word_at(is, at);
        if (size > 0 && !is_harmless(is->at + at, size) && !has_word(was, is->at + at, size)) return false;
    }
    return true;
}

static struct slice next_line(struct slice *text) {
    const unsigned char *end = text->size > 0 ? memchr(text->at, '\n', text->size) : NULL;
    struct slice line = {text->at, end != NULL ? (size_t)(end - text->at) : text->size};
    size_t passed = line.size + (end != NULL);
    text->at += passed;
    text->size -= passed;
    return line;
}

static bool is_closing(const struct slice *rest, const unsigned char hash[HASH_SIZE]) {
    static const char head[] = "# maple: repaired (";
    char original[2 * HASH_SIZE + 1];
    struct slice left = *rest, line = next_line(&left);
    hex(original, hash, HASH_SIZE);
    return left.size == 0 && line.size < MAX_CLOSING && line.size > sizeof head && memcmp(line.at, head, sizeof head - 1) == 0 &&
           memmem(line.at, line.size, original, 2 * HASH_SIZE) != NULL;
}

static bool script_is_bounded(const struct buffer *script, const struct slice *changed, const unsigned char *hash) {
    struct slice was = {script->at, script->size}, is = *changed;
    for (int differing = 0; was.size > 0;) {
        if (is.size == 0) return false;
        struct slice one = next_line(&was), other = next_line(&is);
        bool same = one.size == other.size && memcmp(one.at, other.at, one.size) == 0;
        if (!same && (++differing > MAX_CHANGED || !line_is_bounded(&one, &other))) return false;
    }
    return is.size == 0 || is_closing(&is, hash);
}

static bool words_are_bounded(char *const *was, char *const *is) {
    static const struct slice nothing = {(const unsigned char *)"", 0};
    for (size_t i = 0; is != NULL && is[i] != NULL; i++) {
        struct slice word = {(const unsigned char *)is[i], strlen(is[i])};
        size_t j = 0;
        while (was[j] != NULL && strcmp(was[j], is[i]) != 0) j++;
        if (was[j] == NULL && !line_is_bounded(&nothing, &word)) return false;
    }
    return true;
}

bool is_bounded(const struct reply *reply, const struct source *source, char *const *argv,
                const unsigned char hash[HASH_SIZE]) {
    if (!reply->rewrite && !reply->offer) return true;
    return getuid() != 0 && words_are_bounded(argv, reply->argv) && words_are_bounded(argv, reply->offer_argv) &&
           (!reply->has_script || script_is_bounded(&source->script, &reply->script, hash)) &&
           (!reply->offer_has_script || script_is_bounded(&source->script, &reply->offer_script, hash));
}
