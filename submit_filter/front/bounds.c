/* A service whose account is not root's and not the caller's may lie. What it would submit is believed only where it
 * looks like a repair: the same lines, few of them changed, and in those no word that is neither the line's own nor one
 * that repairs are made of; then the closing comment of this very script. Root believes no such service at all. */
#include "front.h"

#include <ctype.h>

#include "service_words.h"

enum { MAX_CHANGED = 64, MAX_LINE = 1024, MAX_CLOSING = 1024 };
static const char SOFT[] = " \t=,:\"'${}()|";

static bool in_word(unsigned char byte) { return isalnum(byte) || (byte != 0 && strchr("_-./~%@+", byte) != NULL); }

static bool same(const struct slice *one, const struct slice *other) {
    return one->size == other->size && memcmp(one->at, other->at, one->size) == 0;
}

static bool is_listed(const struct slice *token) {
    struct slice word = *token;
    while (begins(&word, "-")) word = after(&word, 1);
    for (size_t i = 0; i < sizeof SERVICE_WORDS / sizeof *SERVICE_WORDS; i++)
        if (same_text(&word, SERVICE_WORDS[i])) return true;
    return false;
}

/* A number with at most one letter before and one behind (`-N2`, `16G`), or a letter. Two letters are a program's name. */
static bool is_number(const struct slice *token) {
    struct slice word = *token;
    while (begins(&word, "-")) word = after(&word, 1);
    if (word.size < 2) return word.size == 0 || isalnum(word.at[0]);
    if (isalpha(word.at[0])) word = after(&word, 1);
    if (!isdigit(word.at[0])) return false;
    while (word.size > 0 && isdigit(word.at[0])) word = after(&word, 1);
    return word.size == 0 || (word.size == 1 && isalpha(word.at[0]));
}

/* Take the next word or sign; no bytes: there is none. */
static struct slice next_token(struct slice *line) {
    size_t size = 0;
    while (size < line->size && in_word(line->at[size])) size++;
    const struct slice token = {line->at, size > 0 || line->size == 0 ? size : 1};
    *line = after(line, token.size);
    return token;
}

/* The next that is the line's own: no word of repairs, no sign that means little. In a directive no sign means anything. */
static struct slice next_own(struct slice *line, bool directive) {
    for (;;) {
        struct slice token = next_token(line);
        if (token.size == 0) return token;
        bool sign = !in_word(token.at[0]), soft = token.at[0] != 0 && strchr(SOFT, token.at[0]) != NULL;
        if (sign ? !directive && !soft : !is_listed(&token) && !is_number(&token)) return token;
    }
}

static bool is_directive(const struct slice *line) { return begins(line, "#SBATCH ") || begins(line, "#PBS "); }

/* Whether a word of repairs stands in the line: what starts no job (`rm -rf $A $B`) loses no word. */
static bool may_lose(struct slice line) {
    for (struct slice token; (token = next_token(&line)).size > 0;)
        if (is_listed(&token)) return true;
    return false;
}

/* What is the line's own stays in its order, every sign of it, and every word that it may not lose. */
static bool line_is_bounded(struct slice was, struct slice is) {
    static const char working[] = "cd \"$PBS_O_WORKDIR\" && ";
    bool directive = is_directive(&was) && is_directive(&is), loses = directive || may_lose(was);
    if (is_directive(&was) && begins(&is, "##")) return true;
    if (begins(&is, working)) is = after(&is, sizeof working - 1);
    if (was.size > MAX_LINE || is.size > MAX_LINE) return false;
    for (;;) {
        struct slice one = next_own(&was, directive), other = next_own(&is, directive);
        while (loses && one.size > 0 && in_word(one.at[0]) && !same(&one, &other)) one = next_own(&was, directive);
        if (!same(&one, &other)) return false;
        if (other.size == 0) return true;
    }
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
        if (!same(&one, &other) && (++differing > MAX_CHANGED || !line_is_bounded(one, other))) return false;
    }
    return is.size == 0 || is_closing(&is, hash);
}

static bool words_are_bounded(char *const *was, char *const *is) {
    static const struct slice nothing = {(const unsigned char *)"", 0};
    for (size_t i = 0; is != NULL && is[i] != NULL; i++) {
        struct slice word = {(const unsigned char *)is[i], strlen(is[i])};
        size_t j = 0;
        while (was[j] != NULL && strcmp(was[j], is[i]) != 0) j++;
        if (was[j] == NULL && !line_is_bounded(nothing, word)) return false;
    }
    return true;
}

static bool change_is_bounded(const struct change *change, const struct submission *of) {
    return words_are_bounded(of->argv, change->argv) &&
           (change->script.size == 0 || script_is_bounded(&of->source.script, &change->script, of->hash));
}

bool is_bounded(const struct reply *reply, const struct submission *of) {
    if (!reply->rewrite && !reply->offer) return true;
    return getuid() != 0 && change_is_bounded(&reply->unasked, of) && change_is_bounded(&reply->offered, of);
}
