/* Feeds bytes to the parsers of frames and argv, under sanitizers. With clang and -DLIBFUZZER it is a libFuzzer target;
 * else `fuzz SEED SECONDS` mutates sound inputs by itself, the same way for the same seed. `fuzz words COMMAND` reads
 * command lines (words end with a NUL, lines with a newline behind it) and prints how each one's script comes. */
#include "front.h"

enum { INPUT_SIZE = 4096, MAX_ARGV = 64 };
static struct config CONFIG = {.socket_ms = 50};
static const struct submission ANY = {.config = &CONFIG};
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "broken: %s\n", what);
    abort();
}

static void free_words(char **words) {
    for (size_t i = 0; words != NULL && words[i] != NULL; i++) free(words[i]);
    free(words);
}

static bool inside(const struct slice *one, const struct buffer *frame) {
    return one->size == 0 || (one->at >= frame->at && one->at + one->size <= frame->at + frame->size);
}

/* A reply that is believed points into its own frame only. *whole*: put right the size, so that the fields are reached. */
static void try_reply(const uint8_t *data, size_t size, bool whole) {
    struct reply reply;
    memset(&reply, 0, sizeof reply);
    add(&reply.frame, data, size);
    if (whole && size >= 8) {
        memcpy(reply.frame.at, "MPR1", 4);
        put_number(reply.frame.at + 4, (unsigned)size - 8);
    }
    if (read_reply(&reply, &ANY)) {
        check(inside(&reply.unasked.script, &reply.frame) && inside(&reply.say, &reply.frame), "a slice outside the frame");
        check(inside(&reply.unasked.audit, &reply.frame) && inside(&reply.question, &reply.frame), "a slice outside the frame");
        check(inside(&reply.offered.script, &reply.frame), "a slice outside the frame");
        check(reply.unasked.argv == NULL || reply.unasked.argv[0] != NULL, "an argv of no words");
    }
    for (size_t i = 0; i < reply.reading.count; i++) {
        check(inside(&reply.reading.unless[i], &reply.frame), "a file outside the frame");
        (void)still_holds(&reply.reading.unless[i]);
    }
    check(inside(&reply.earlier, &reply.frame) && reply.earlier.size <= MAX_EARLIER, "words of earlier jobs outside");
    check(strspn(reply.reading.record, "0123456789abcdef") == strlen(reply.reading.record), "a record that is no id");
    free_words(reply.unasked.argv);
    free_words(reply.offered.argv);
    free(reply.frame.at);
}

/* Whatever the words, the script is one of them and lies behind the options. */
static void try_argv(const struct command *command, const uint8_t *data, size_t size) {
    char text[INPUT_SIZE + 1], name[8], *argv[MAX_ARGV + 2] = {strcpy(name, command->name)}, *rest = text, *word;
    struct buffer request = {NULL, 0, 0, false};
    char *environment[] = {"SLURM_X=1", "OTHER=1", NULL};
    int count = 1;
    size = size < INPUT_SIZE ? size : INPUT_SIZE;
    memcpy(text, data, size);
    text[size] = '\0';
    while (count <= MAX_ARGV && (word = strsep(&rest, "\n")) != NULL) argv[count++] = word;
    argv[count] = NULL;
    struct arguments seen = command->read(argv);
    check(seen.word >= 0 && seen.word < count, "a word that is not there");
    if (seen.came == BY_FILE) check(seen.word > 0 && argv[seen.word][0] != '\0', "a script without a name");
    if (seen.came == BY_WRAP) check(seen.word > 0 && seen.offset < strlen(argv[seen.word]), "a command that is not there");
    const struct submission call = {&CONFIG, command, argv, environment, 0, seen, {.came = BY_WRAP, .path = ""}, {0}, {0}};
    build_request(&request, &call, 0);
    check(!request.broken && memcmp(request.at, "MPQ1", 4) == 0, "a request that cannot be built");
    free(request.at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    if (data[0] % 4 == 0) try_reply(data + 1, size - 1, false);
    else if (data[0] % 4 == 1) try_reply(data + 1, size - 1, true);
    else try_argv(data[0] % 4 == 2 ? &SBATCH : &QSUB, data + 1, size - 1);
    return 0;
}

#ifndef LIBFUZZER
static uint64_t state;

static unsigned draw(unsigned below) { /* xorshift64 */
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)((state >> 33) % below);
}

static size_t sound_reply(unsigned char *to) {
    static const unsigned char yes = 1;
    struct buffer frame = {NULL, 0, 0, false};
    add(&frame, "\1MPR1\0\0\0\0", 9);
    add_field(&frame, 1, ANY.nonce, NONCE_SIZE);
    add_field(&frame, 2, ANY.hash, HASH_SIZE);
    add_field(&frame, 3, &yes, 1);
    for (unsigned i = 0; i < draw(70); i++) add_field(&frame, 15, "/dev/null\0" "1 2 3", draw(16));
    if (draw(2) == 0) add_field(&frame, 14, "0123456789abcdef", draw(17));
    for (unsigned tag = 4; tag < 13; tag++)
        for (unsigned i = 0; i < 1 + draw(3); i++) add_field(&frame, tag, "{\"some\":\"text\"}", draw(16));
    size_t size = frame.size < INPUT_SIZE ? frame.size : INPUT_SIZE;
    memcpy(to, frame.at, size);
    free(frame.at);
    return size;
}

static size_t sound_argv(unsigned char *to) {
    static const char *const words[] = {"-N2", "-N", "2", "--nodes", "--nodes=2", "--wrap", "--wrap=srun x", "--no", "--t",
                                        "job.sh", "--", "-", ":", "-k", "-QHv", "-D", "/tmp", "--chdir=x", "", "--exclusive",
                                        "--exclusive=user", "-h", "--ti", "--uid", "/dev/stdin", "--=", "---", "-J=x", "-lselect=2", "-l", "-hz", "-W", "block=true", "-Wblock=true", "-I",
                                        "-u", "bob", "-v", "A=1,B", "-C", "#X", "-P", "-hN", "--version", "-J1-4", "-q:"};
    size_t size = 1;
    to[0] = (unsigned char)(2 + draw(2));
    for (unsigned i = 0; i < 1 + draw(8); i++) {
        const char *word = words[draw(sizeof words / sizeof *words)];
        memcpy(to + size, word, strlen(word));
        size += strlen(word);
        to[size++] = '\n';
    }
    return size;
}

static size_t mutate(unsigned char *bytes, size_t size) {
    for (unsigned i = 0; i < draw(5); i++) {
        size_t at = draw((unsigned)size);
        switch (draw(4)) {
        case 0: bytes[at] = (unsigned char)draw(256); break;
        case 1: bytes[at] ^= (unsigned char)(1U << draw(8)); break;
        case 2: size = at + 1; break;
        default:
            if (size < INPUT_SIZE) {
                memmove(bytes + at + 1, bytes + at, size - at);
                size++;
            }
        }
    }
    return size;
}

static int print_words(const struct command *command) {
    static const char *const ways[] = {"left", "file", "stdin", "wrap", "fd"};
    char *line = NULL, name[8];
    size_t room = 0;
    ssize_t size;
    while ((size = getline(&line, &room, stdin)) > 0) {
        char *argv[MAX_ARGV + 2] = {strcpy(name, command->name)};
        int count = 1;
        for (ssize_t at = 0; at < size - 1 && count <= MAX_ARGV; at += (ssize_t)strlen(line + at) + 1) argv[count++] = line + at;
        struct arguments seen = command->read(argv);
        printf("%s %d\n", ways[seen.came], seen.word);
    }
    free(line);
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "words") == 0) return print_words(strcmp(argv[2], "qsub") == 0 ? &QSUB : &SBATCH);
    unsigned char *bytes = malloc(INPUT_SIZE);
    unsigned long count = 0;
    int64_t until = now_ms() + 1000 * (argc > 2 ? atoi(argv[2]) : 5);
    state = argc > 1 ? strtoull(argv[1], NULL, 10) * 2 + 1 : 1;
    if (bytes == NULL) return 1;
    for (; now_ms() < until; count++) {
        size_t size = draw(2) == 0 ? sound_reply(bytes) : sound_argv(bytes);
        size = mutate(bytes, size);
        unsigned char *exact = malloc(size); /* so that one byte too far is seen */
        if (exact == NULL) return 1;
        memcpy(exact, bytes, size);
        LLVMFuzzerTestOneInput(exact, size);
        free(exact);
    }
    free(bytes);
    printf("%lu inputs\n", count);
    return 0;
}
#endif
