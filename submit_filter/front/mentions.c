/* Which of the caller's variables travel. Sixty thousand of them and a long script: each is looked for in the script
 * only where the script has all that it is made of, four letters at a time. */
#include "front.h"

#include "watched.h"

enum { MAX_NAME = 127, GRAM = 4, GRAMS = 1 << 18 };
#define MAX_SEARCH ((size_t)64 << 20) /* bytes: a few milliseconds */
static unsigned char grams[GRAMS / 8];

static unsigned gram_at(const void *at) {
    uint32_t four;
    memcpy(&four, at, GRAM);
    return (four * 2654435761U) >> 14;
}

void note_script(const struct buffer *script) {
    if (script->size > MOST_SEARCHED) return;
    for (size_t i = 0; i + GRAM <= script->size; i++) {
        unsigned gram = gram_at(script->at + i);
        grams[gram / 8] |= (unsigned char)(1U << gram % 8);
    }
}

static bool may_hold(const char *name, size_t size) {
    for (size_t i = 0; i + GRAM <= size; i++) {
        unsigned gram = gram_at(name + i);
        if ((grams[gram / 8] >> gram % 8 & 1) == 0) return false;
    }
    return true;
}

static bool is_secret(const char *variable) {
    size_t size = strcspn(variable, "=");
    for (size_t i = 0; i < sizeof SECRET_WORDS / sizeof *SECRET_WORDS; i++) {
        const char *found = strcasestr(variable, SECRET_WORDS[i]);
        if (found != NULL && (size_t)(found - variable) < size) return true;
    }
    return false;
}

static bool is_watched(const char *variable) {
    size_t size = strcspn(variable, "=");
    for (size_t i = 0; i < sizeof WATCHED_PREFIXES / sizeof *WATCHED_PREFIXES; i++)
        if (strncmp(variable, WATCHED_PREFIXES[i], strlen(WATCHED_PREFIXES[i])) == 0 && !is_secret(variable)) return true;
    for (size_t i = 0; i < sizeof WATCHED_NAMES / sizeof *WATCHED_NAMES; i++)
        if (strlen(WATCHED_NAMES[i]) == size && strncmp(variable, WATCHED_NAMES[i], size) == 0) return true;
    return false;
}

int travels(const char *variable, const struct buffer *script) {
    static size_t searched;
    if (is_watched(variable)) return 1;
    size_t size = strcspn(variable, "=");
    if (size < 2 || size > MAX_NAME || script->size == 0 || script->size > MOST_SEARCHED) return 0;
    if (!may_hold(variable, size)) return 0;
    if ((searched += script->size) > MAX_SEARCH) return -1;
    return memmem(script->at, script->size, variable, size) != NULL && !is_secret(variable);
}
