/* The parts of the front that decide by values alone, each asked by itself: a line with its name and how many fields
 * follow, each a line with its size and then its bytes; an answer is one line. Compiled with the parts' own text, so that
 * what is private to them can be asked, too. */
#include "bounds.c"
#include "config.c"
#define wish copy_wish
#include "copy.c"
#undef wish
#include "audit.c"
#include "detach.c"
#include "frame.c"
#define main front_main
#include "front.c"
#undef main
#include "mentions.c"
#include "source.c"
#include "terminal.c"

enum { FIELDS = 4 };
static const struct submission ASKED = {.nonce = "nonce of a test", .hash = "hash of a test"};

static void print_hex(const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++) printf("%02x", ((const unsigned char *)bytes)[i]);
}

static bool bounded(const struct slice *was, const struct slice *is) {
    unsigned char hash[HASH_SIZE];
    const struct buffer script = {(unsigned char *)(uintptr_t)was->at, was->size, was->size, false};
    sha256(was->at, was->size, hash);
    return script_is_bounded(&script, is, hash);
}

static int goes(const char *variable, const struct slice *script) {
    const struct buffer text = {(unsigned char *)(uintptr_t)script->at, script->size, script->size, false};
    memset(grams, 0, sizeof grams);
    note_script(&text);
    return travels(variable, &text);
}

static void print_change(const struct change *change) {
    putchar(' ');
    print_hex(change->script.at, change->script.size);
    putchar('/');
    print_hex(change->audit.at, change->audit.size);
    for (size_t i = 0; change->argv != NULL && change->argv[i] != NULL; i++) {
        putchar('/');
        print_hex(change->argv[i], strlen(change->argv[i]));
    }
}

static void print_reply(const struct slice *frame) {
    struct reply reply = {.rewrite = false};
    add(&reply.frame, frame->at, frame->size);
    if (!read_reply(&reply, &ASKED)) printf("refused");
    else {
        printf("%d%d%d %zu %zu %s", reply.rewrite, reply.offer, reply.ask_helper, reply.conditions, reply.reading.count,
               reply.reading.record);
        print_change(&reply.unasked);
        print_change(&reply.offered);
        const struct slice texts[] = {reply.say, reply.question, reply.learnt, reply.earlier};
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) putchar(' '), print_hex(texts[i].at, texts[i].size);
    }
    putchar('\n');
}

static bool word_is_bounded(const char *was, const char *is) {
    char *const words[] = {(char *)(uintptr_t)was, NULL}, *const changed[] = {(char *)(uintptr_t)is, NULL};
    return words_are_bounded(words, changed);
}

/* What a line of front.conf sets, all the rest of it as it begins. */
static void print_set(const char *key, const char *value) {
    struct config config = {.service_uid = 7, .socket_ms = 50, .helper_ms = 250, .files_ms = 500};
    set(&config, key, value, "sbatch");
    const char *const paths[] = {config.real, config.python, config.helper, config.child, config.child_python, config.socket,
                                 config.audit};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) printf("%s ", paths[i]);
    printf("%d %u %d %d %d\n", (int)config.mode, (unsigned)config.service_uid, config.socket_ms, config.files_ms,
           config.helper_ms);
}

/* What would stand on the terminal. */
static void print_said(const struct slice *text) {
    (void)fflush(stdout);
    if (dup2(STDOUT_FILENO, STDERR_FILENO) == STDERR_FILENO) say(text->at, text->size, true);
    putchar('\n');
}

/* The fields' bytes end with a NUL that is none of theirs. */
static void answer(const char *name, const struct slice *field) {
    const char *first = (const char *)field[0].at, *second = (const char *)field[1].at;
    const struct buffer script = {(unsigned char *)(uintptr_t)field[0].at, field[0].size, field[0].size, false};
    struct stat file = {.st_mode = 0};
    unsigned char hash[HASH_SIZE];
    if (strcmp(name, "bounded") == 0) printf("%d\n", bounded(&field[0], &field[1]));
    else if (strcmp(name, "word") == 0) printf("%d\n", word_is_bounded(first, second));
    else if (strcmp(name, "goes") == 0) printf("%d\n", goes(first, &field[1]));
    else if (strcmp(name, "set") == 0) print_set(first, second);
    else if (strcmp(name, "said") == 0) print_said(&field[0]);
    else if (strcmp(name, "off") == 0) printf("%d\n", script_says_off(&script));
    else if (strcmp(name, "object") == 0) printf("%d\n", one_object(&field[0]));
    else if (strcmp(name, "descriptor") == 0) printf("%d\n", named_descriptor(first));
    else if (strcmp(name, "hash") == 0) sha256(field[0].at, field[0].size, hash), print_hex(hash, HASH_SIZE), putchar('\n');
    else if (strcmp(name, "reply") == 0) print_reply(&field[0]);
    else {
        file.st_mode = (mode_t)strtoul(first, NULL, 8);
        file.st_uid = (uid_t)strtoul(second, NULL, 10);
        file.st_gid = (gid_t)strtoul((const char *)field[2].at, NULL, 10);
        printf("%d\n", strcmp(name, "guarded") == 0 ? is_guarded(&file) : unshared(&file));
    }
}

int main(void) {
    char name[32];
    size_t count, size;
    while (scanf("%31s %zu", name, &count) == 2 && count <= FIELDS) {
        struct slice field[FIELDS] = {{NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}};
        for (size_t i = 0; i < count; i++) {
            if (scanf("%zu", &size) != 1 || getchar() != '\n') return 1;
            unsigned char *bytes = malloc(size + 1);
            if (bytes == NULL || fread(bytes, 1, size, stdin) != size) return 1;
            bytes[size] = '\0';
            field[i] = (struct slice){bytes, size};
        }
        answer(name, field);
        for (size_t i = 0; i < count; i++) free((unsigned char *)(uintptr_t)field[i].at);
    }
    return 0;
}
