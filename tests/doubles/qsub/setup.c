/* What the server of this double is like. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "qsub.h"

static char *text;

static void load(void) {
    const char *path = getenv("QSUB_SETUP");
    FILE *file = path != NULL ? fopen(path, "re") : NULL;
    size_t room = 0;
    text = calloc(1, 1);
    if (file == NULL) return;
    if (getdelim(&text, &room, '\0', file) < 0) text[0] = '\0';
    fclose(file);
}

/* A value is found by its line; "\n" in it stands for a newline. */
const char *setup(const char *name) {
    size_t size = strlen(name);
    if (text == NULL) load();
    for (const char *line = text; line != NULL && *line != '\0'; line = strchr(line, '\n'), line += line != NULL) {
        if (strncmp(line, name, size) != 0 || line[size] != '=') continue;
        char *value = strndup(line + size + 1, strcspn(line + size + 1, "\n")), *to = value;
        for (const char *from = value; *from != '\0'; to++)
            if (from[0] == '\\' && from[1] == 'n') *to = '\n', from += 2;
            else *to = *from++;
        *to = '\0';
        return value;
    }
    return "";
}

/* Whether the word is one of the value's, which commas part. */
bool setup_lists(const char *name, const char *word, size_t size) {
    const char *at = setup(name);
    for (size_t here; *at != '\0'; at += here + (at[here] == ',')) {
        here = strcspn(at, ",");
        if (here == size && strncmp(at, word, size) == 0) return true;
    }
    return false;
}

const char *server_name(void) {
    const char *name = setup("server");
    return *name != '\0' ? name : "pbs01";
}
