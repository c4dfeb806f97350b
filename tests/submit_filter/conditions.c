/* Feeds replies that depend on files to the front's parser, under sanitizers. `conditions hold` reads fields (a line with
 * their size, then their bytes) and says of each whether it holds; `conditions SEED NUMBER` mutates replies by itself. */
#include "front.h"

static const struct submission MINE = {.nonce = {1, 2, 3}, .hash = {4, 5, 6}};
static unsigned long long state;

static unsigned draw(unsigned below) { /* xorshift64 */
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)((state >> 33) % below);
}

static void check(bool holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "broken: %s\n", what);
    abort();
}

static int hold(void) {
    size_t size;
    while (scanf("%zu", &size) == 1 && getchar() == '\n') {
        unsigned char *bytes = malloc(size + (size == 0)); /* exact, so that one byte too far is seen */
        check(bytes != NULL && fread(bytes, 1, size, stdin) == size, "no field");
        const struct slice field = {bytes, size};
        puts(still_holds(&field) ? "yes" : "no");
        free(bytes);
    }
    return 0;
}

static void add_condition(struct buffer *to, const char *path) {
    char field[PATH_MAX + 200], facts[160] = "";
    struct stat file;
    if (stat(path, &file) == 0)
        snprintf(facts, sizeof facts, "%llu %llu %lld %lld.%09ld %lld.%09ld", (unsigned long long)file.st_dev,
                 (unsigned long long)file.st_ino, (long long)file.st_size, (long long)file.st_mtim.tv_sec,
                 file.st_mtim.tv_nsec, (long long)file.st_ctim.tv_sec, file.st_ctim.tv_nsec);
    int size = snprintf(field, sizeof field, "%s%c%s", path, 0, facts);
    add_field(to, 12, field, (size_t)size);
}

/* A reply that holds: some files are there, some are not. */
static void sound(struct buffer *to, unsigned files) {
    static const char *const paths[] = {"/etc/passwd", "/usr", "/proc/nowhere/x", "/dev/null", "/bin/sh", "nothing here"};
    static const unsigned char changed = 3;
    add(to, "MPR1\0\0\0\0", 8);
    add_field(to, 1, MINE.nonce, NONCE_SIZE);
    add_field(to, 2, MINE.hash, HASH_SIZE);
    add_field(to, 3, &changed, 1);
    for (unsigned i = 0; i < files; i++) add_condition(to, paths[draw(sizeof paths / sizeof *paths)]);
    add_field(to, 4, "srun x\n", 7);
    for (unsigned i = 0; i < draw(3); i++) add_field(to, 5, "word", draw(5));
    if (draw(2) == 0) add_field(to, 13, "{\"what\":\"was learnt\"}", 1 + draw(20));
    if (draw(2) == 0) add_field(to, 14 + draw(3), "0123456789abcdef", draw(17));
    put_number(to->at + 4, (unsigned)to->size - 8);
}

static void mutate(struct buffer *frame) {
    for (unsigned i = draw(4); i > 0; i--) {
        size_t at = draw(3) == 0 ? draw(8) : draw((unsigned)frame->size);
        if (draw(2) == 0) frame->at[at] = (unsigned char)draw(256);
        else frame->at[at] ^= (unsigned char)(1U << draw(8));
    }
    if (draw(8) == 0) frame->size = draw((unsigned)frame->size + 1);
}

static void free_words(char **words) {
    for (size_t i = 0; words != NULL && words[i] != NULL; i++) free(words[i]);
    free(words);
}

/* What is believed depends on what it says; what the helper learnt goes back as it came. */
static bool try_one(const struct buffer *made) {
    struct reply reply;
    unsigned char *exact = malloc(made->size + (made->size == 0)); /* so that one byte too far is seen */
    check(exact != NULL, "no memory");
    memcpy(exact, made->at, made->size);
    memset(&reply, 0, sizeof reply);
    reply.frame.at = exact;
    reply.frame.size = made->size;
    bool believed = read_reply(&reply, &MINE), holds = believed && files_are_as_they_were(&reply);
    if (believed) check(holds == conditions_hold(&reply, now_ms() + 10000), "a process of its own sees other files");
    if (believed && reply.learnt.size > 0) {
        struct buffer told = {NULL, 0, 0, false};
        build_learnt(&told, &reply.learnt, MINE.nonce);
        check(told.size == 8 + 8 + NONCE_SIZE + 8 + reply.learnt.size, "other bytes than the helper's");
        check(memcmp(told.at + told.size - reply.learnt.size, reply.learnt.at, reply.learnt.size) == 0, "other words");
        free(told.at);
    }
    free_words(reply.unasked.argv);
    free_words(reply.offered.argv);
    free(exact);
    return holds;
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "hold") == 0) return hold();
    if (argc != 3) return 2;
    state = strtoull(argv[1], NULL, 10) * 2 + 1;
    unsigned long number = strtoul(argv[2], NULL, 10), held = 0;
    for (unsigned long i = 0; i < number; i++) {
        struct buffer frame = {NULL, 0, 0, false};
        sound(&frame, draw(4));
        bool whole = draw(10) == 0;
        if (!whole) mutate(&frame);
        bool holds = try_one(&frame);
        check(!whole || holds, "a sound reply is not believed");
        held += holds;
        free(frame.at);
    }
    printf("%lu replies, %lu held\n", number, held);
    return 0;
}
