/* What the server refuses of a request for resources, in its own words. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "qsub.h"

enum { MOST_NAMES = 32 };

/* Type: l a number, s a size, t a time, x text. Host-wide ones may stand in a chunk, job-wide ones may not. */
struct known {
    const char *name;
    char type;
    bool host;
};

static const struct known KNOWN[] = {
    {"ncpus", 'l', true},       {"mpiprocs", 'l', true},      {"ompthreads", 'l', true},    {"ngpus", 'l', true},
    {"nchunk", 'l', true},      {"naccelerators", 'l', true}, {"mem", 's', true},           {"vmem", 's', true},
    {"host", 'x', true},        {"vnode", 'x', true},         {"arch", 'x', true},          {"walltime", 't', false},
    {"cput", 't', false},       {"pcput", 't', false},        {"min_walltime", 't', false}, {"max_walltime", 't', false},
    {"pmem", 's', false},       {"pvmem", 's', false},        {"file", 's', false},         {"nice", 'l', false},
    {"software", 'x', false},   {"nodes", 'x', false},        {"select", 'x', false},       {"place", 'x', false},
};

/* `host_resources` and `job_resources` of the set-up: further ones, of text. */
static bool find(const char *name, size_t size, struct known *found) {
    for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++)
        if (strlen(KNOWN[i].name) == size && strncmp(KNOWN[i].name, name, size) == 0) return *found = KNOWN[i], true;
    *found = (struct known){name, 'x', setup_lists("host_resources", name, size)};
    return found->host || setup_lists("job_resources", name, size);
}

static bool is_digits(const char *text, size_t size) {
    return size > 0 && size < 10 && strspn(text, "0123456789") >= size;
}

static bool is_time(const char *text) { /* up to three numbers with colons between; 01:70:00 will do, nothing as well */
    int parts = 1;
    if (*text == '\0') return true;
    for (const char *at = text; *at != '\0' && *at != '.'; at++) {
        if (*at == ':') parts++;
        else if (*at < '0' || *at > '9') return false;
    }
    return parts <= 3;
}

static bool is_size(const char *text, size_t size) {
    size_t digits = strspn(text, "0123456789.");
    if (digits == 0 || digits > size) return false;
    size_t unit = digits + (digits < size && strchr("kmgtpKMGTP", text[digits]) != NULL);
    unit += unit < size && strchr("bBwW", text[unit]) != NULL;
    return unit == size;
}

static bool is_value(char type, const char *text, size_t size) {
    char *copy = strndup(text, size);
    bool good = type == 'l' ? is_digits(text, size) : type == 's' ? is_size(text, size) : type != 't' || is_time(copy);
    free(copy);
    return good;
}

/* One `name=value` of a chunk. *seen*: names so far, to find one that is there twice. */
static void check_part(const char *part, size_t size, const char **seen, size_t *count) {
    struct known one;
    size_t name = strcspn(part, "=");
    if (name >= size || name == 0) refuse(166, "Illegal attribute or resource value Resource_List.select");
    if (!find(part, name, &one)) refuse(187, "Unknown resource: %.*s", (int)name, part);
    if (!one.host) refuse(4, "Resource invalid in \"select\" specification: %.*s", (int)name, part);
    for (size_t i = 0; i < *count; i++)
        if (strncmp(seen[i], part, name + 1) == 0)
            refuse(12, "duplicated resource within a section of a select specification, resource is: %.*s", (int)name, part);
    if (!is_value(one.type, part + name + 1, size - name - 1))
        refuse(166, "Illegal attribute or resource value select.%.*s", (int)name, part);
    if (*count < MOST_NAMES) seen[(*count)++] = part;
}

/* One chunk, `[count:]name=value:...`; return how many there are of it. */
static long check_chunk(const char *chunk, size_t size) {
    const char *seen[MOST_NAMES];
    size_t count = 0, first = strcspn(chunk, ":");
    first = first < size ? first : size;
    bool counted = is_digits(chunk, first);
    for (size_t at = counted ? first + 1 : 0; at < size || (at == 0 && size == 0);) {
        size_t part = strcspn(chunk + at, ":");
        part = part < size - at ? part : size - at;
        check_part(chunk + at, part, seen, &count);
        at += part + 1;
    }
    if (counted && atol(chunk) == 0) refuse(166, "Illegal attribute or resource value");
    return counted ? atol(chunk) : 1;
}

static long check_select(const char *select) {
    long chunks = 0;
    for (const char *at = select;; at++) {
        size_t size = strcspn(at, "+");
        chunks += check_chunk(at, size);
        at += size;
        if (*at == '\0') return chunks;
    }
}

/* What the server makes of one `[count:]ppn=P:property` of nodes=. */
static long convert_nodes(FILE *to, const char *part, size_t size, bool first) {
    char *copy = strndup(part, size), *rest = copy, *word;
    long count = 1, cpus = 1;
    bool ppn = false, at_start = true;
    for (; (word = strsep(&rest, ":")) != NULL; at_start = false) {
        struct known one;
        if (at_start && is_digits(word, strlen(word))) count = atol(word);
        else if (strncmp(word, "ppn=", 4) == 0 && is_digits(word + 4, strlen(word + 4))) cpus = atol(word + 4), ppn = true;
        else if (strchr(word, '=') != NULL || *word == '\0') refuse(241, "node(s) specification error");
        else if (!find(word, strlen(word), &one)) refuse(187, "Unknown resource: %s", word);
    }
    if (to != NULL) fprintf(to, ppn ? "%s%ld:ncpus=%ld:mpiprocs=%ld" : "%s%ld:ncpus=%ld", first ? "" : "+", count, cpus, cpus);
    free(copy);
    return count;
}

static long check_nodes(FILE *to, const char *nodes) {
    long count = 0;
    if (to != NULL) fputs("given select ", to);
    for (const char *at = nodes;; at++) {
        size_t size = strcspn(at, "+");
        count += convert_nodes(to, at, size, at == nodes);
        at += size;
        if (*at == '\0') break;
    }
    if (to != NULL) fputs("\ngiven place scatter\n", to);
    return count;
}

static void check_names(void) {
    for (size_t i = 0; i < setting_count; i++) {
        const struct setting *one = &settings[i];
        struct known known;
        if (one->kind != RESOURCE) continue;
        if (!find(one->name, strlen(one->name), &known)) refuse(187, "Unknown resource Resource_List.%s", one->name);
        if (!is_value(known.type, one->value, strlen(one->value)) && *one->value != '\0')
            refuse(166, "Illegal attribute or resource value Resource_List.%s", one->name);
    }
}

/* `select` and `place` exclude the older forms: `nodes`, and host-wide resources of their own. */
static void check_together(void) {
    const char *select = resource("select"), *place = resource("place");
    struct known known;
    if (select == NULL && place == NULL) return;
    if (resource("nodes") != NULL) refuse(6, "Cannot be used with select or place: nodes");
    for (size_t i = 0; i < setting_count; i++)
        if (settings[i].kind == RESOURCE && find(settings[i].name, strlen(settings[i].name), &known) && known.host)
            refuse(5, "\"-lresource=\" cannot be used with \"select\" or \"place\", resource is: %s", settings[i].name);
    if (select == NULL) refuse(7, "Cannot have \"place\" without \"select\"");
}

/* Without select the server makes one chunk of the resources that were asked for by themselves. */
static void give_default(FILE *to) {
    struct known known;
    bool cpus = false;
    if (to == NULL) return;
    fputs("given select 1", to);
    for (size_t i = 0; i < setting_count; i++)
        if (settings[i].kind == RESOURCE && find(settings[i].name, strlen(settings[i].name), &known) && known.host) {
            fprintf(to, ":%s=%s", settings[i].name, settings[i].value);
            cpus = cpus || strcmp(settings[i].name, "ncpus") == 0;
        }
    fputs(cpus ? "\ngiven place pack\n" : ":ncpus=1\ngiven place pack\n", to);
}

static void check_limits(long chunks) {
    const char *most = setup("most_chunks"), *longest = setup("most_seconds"), *walltime = resource("walltime");
    long seconds = 0;
    for (const char *at = walltime; at != NULL; at = strchr(at, ':'), at += at != NULL) seconds = seconds * 60 + atol(at);
    if ((*most != '\0' && chunks > atol(most)) || (*longest != '\0' && seconds > atol(longest)))
        refuse(188, "Job violates queue and/or server resource limits");
}

void check_request(FILE *to) {
    long chunks = 1;
    check_names();
    check_together();
    if (resource("select") != NULL) chunks = check_select(resource("select"));
    else if (resource("nodes") != NULL) chunks = check_nodes(to, resource("nodes"));
    else give_default(to);
    if (*setup("hook") != '\0') refuse(32, "%s", setup("hook"));
    check_limits(chunks);
}
