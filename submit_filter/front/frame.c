/* The request and the reply: "MPQ1" or "MPR1", the size of the rest, then fields of tag, size and bytes, all numbers of
 * four bytes, big end first. Fields that are not known are skipped. maple_submit_filter/frames.py has the other half. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "front.h"

enum { FACTS_SIZE = 160, MAX_TRAVELLERS = 4096 };
enum {
    Q_NONCE = 1, Q_HASH = 2, Q_SCHEDULER = 3, Q_ARGV = 4, Q_CWD = 5, Q_UID = 6, Q_ENVIRONMENT = 7, Q_SCRIPT = 8,
    Q_CAME = 9, Q_PATH = 10, Q_FLAGS = 11, Q_WORD = 12, Q_OFFSET = 13, Q_DEADLINE = 14,
    Q_EARLIER = 16,
    R_NONCE = 1, R_HASH = 2, R_VERDICT = 3, R_SCRIPT = 4, R_ARGV = 5, R_SAY = 6, R_AUDIT = 7,
    R_QUESTION = 8, R_OFFER_SCRIPT = 9, R_OFFER_ARGV = 10, R_OFFER_AUDIT = 11, R_CONDITION = 12, R_LEARNT = 13,
    R_READ = 14, R_READ_UNLESS = 15, R_EARLIER = 16
};

static void add_text(struct buffer *to, unsigned tag, const char *text) { add_field(to, tag, text, strlen(text)); }

static void add_number(struct buffer *to, unsigned tag, unsigned number) {
    const unsigned char bytes[4] = {(unsigned char)(number >> 24), (unsigned char)(number >> 16),
                                    (unsigned char)(number >> 8), (unsigned char)number};
    add_field(to, tag, bytes, sizeof bytes);
}

static unsigned number_at(const unsigned char *at) {
    return (unsigned)at[0] << 24 | (unsigned)at[1] << 16 | (unsigned)at[2] << 8 | (unsigned)at[3];
}

/* Write the size of a frame where it belongs. */
static void close_frame(struct buffer *to) {
    if (to->broken || to->size > MAX_REQUEST) {
        to->broken = true;
        return;
    }
    unsigned size = (unsigned)to->size - 8;
    for (unsigned i = 0; i < 4; i++) to->at[4 + i] = (unsigned char)(size >> (24 - 8 * i));
}

void build_request(struct buffer *to, const char *scheduler, const struct arguments *arguments,
                   const struct source *source, char *const *argv, char *const *environment,
                   const unsigned char nonce[NONCE_SIZE], const unsigned char hash[HASH_SIZE], unsigned flags,
                   int deadline) {
    static const char *const ways[] = {"none", "file", "stdin", "wrap", "fd"};
    char cwd[PATH_MAX];
    add(to, "MPQ1\0\0\0\0", 8);
    add_field(to, Q_NONCE, nonce, NONCE_SIZE);
    add_field(to, Q_HASH, hash, HASH_SIZE);
    add_text(to, Q_SCHEDULER, scheduler);
    for (size_t i = 0; argv[i] != NULL; i++) add_text(to, Q_ARGV, argv[i]);
    add_text(to, Q_CWD, getcwd(cwd, sizeof cwd) != NULL ? cwd : "");
    add_number(to, Q_UID, getuid());
    note_script(&source->script);
    for (size_t i = 0, count = 0; environment[i] != NULL && !to->broken; i++) {
        int goes = travels(environment[i], &source->script);
        if (goes == 1) add_text(to, Q_ENVIRONMENT, environment[i]);
        if (goes < 0 || (count += goes == 1) > MAX_TRAVELLERS) to->broken = true; /* part of them would mislead */
    }
    add_field(to, Q_SCRIPT, source->script.at, source->script.size);
    add_text(to, Q_CAME, ways[source->came]);
    add_text(to, Q_PATH, source->path);
    add_number(to, Q_FLAGS, flags);
    add_number(to, Q_WORD, (unsigned)arguments->word);
    add_number(to, Q_OFFSET, (unsigned)arguments->offset);
    add_number(to, Q_DEADLINE, (unsigned)deadline);
    close_frame(to);
}

void tell_earlier(struct buffer *to, const struct buffer *request, const struct slice *earlier) {
    add(to, request->at, request->size);
    add_field(to, Q_EARLIER, earlier->at, earlier->size);
    close_frame(to);
}

/* Device, inode, size and times as text; "" for what is not there. */
static void facts_of(const struct stat *file, char facts[FACTS_SIZE]) {
    (void)snprintf(facts, FACTS_SIZE, "%llu %llu %lld %lld.%09ld %lld.%09ld", (unsigned long long)file->st_dev,
                   (unsigned long long)file->st_ino, (long long)file->st_size, (long long)file->st_mtim.tv_sec,
                   file->st_mtim.tv_nsec, (long long)file->st_ctim.tv_sec, file->st_ctim.tv_nsec);
}

void build_learnt(struct buffer *to, const struct slice *learnt, const unsigned char nonce[NONCE_SIZE]) {
    add(to, "MPL1\0\0\0\0", 8);
    add_field(to, Q_NONCE, nonce, NONCE_SIZE);
    add_field(to, R_LEARNT, learnt->at, learnt->size);
    close_frame(to);
}

bool still_holds(const struct slice *field) {
    char path[PATH_MAX], facts[FACTS_SIZE] = "";
    struct stat file;
    const unsigned char *end = memchr(field->at, 0, field->size);
    if (end == NULL || end == field->at || (size_t)(end - field->at) >= sizeof path) return false;
    memcpy(path, field->at, (size_t)(end - field->at) + 1);
    if (stat(path, &file) == 0) facts_of(&file, facts);
    size_t size = field->size - (size_t)(end - field->at) - 1;
    return size == strlen(facts) && memcmp(end + 1, facts, size) == 0;
}

/* Append the field as one word of the list. A word holds no NUL: execve would cut it. */
static bool add_word(char ***words, size_t *count, const struct slice *field) {
    if (*count >= MAX_WORDS || memchr(field->at, 0, field->size) != NULL) return false;
    char **list = realloc(*words, (*count + 2) * sizeof **words);
    if (list == NULL) return false;
    *words = list;
    list[*count] = list[*count + 1] = NULL;
    char *word = malloc(field->size + 1);
    if (word == NULL) return false;
    if (field->size > 0) memcpy(word, field->at, field->size);
    word[field->size] = '\0';
    list[(*count)++] = word;
    return true;
}

/* A record's id, which becomes a word of another program's; anything else is none. */
static void take_record(struct reading *reading, const struct slice *field) {
    if (field->size == 0 || field->size > MAX_RECORD) return;
    for (size_t i = 0; i < field->size; i++)
        if (strchr("0123456789abcdef", field->at[i]) == NULL || field->at[i] == '\0') return;
    memcpy(reading->record, field->at, field->size);
    reading->record[field->size] = '\0';
}

/* More files than there is room for: then one of them may have changed, and the child finds out. */
static void take_unless(struct reading *reading, const struct slice *field) {
    static const struct slice never = {(const unsigned char *)"", 0};
    if (reading->count < MAX_UNLESS) reading->unless[reading->count++] = *field;
    else reading->unless[0] = never;
}

struct seen {
    bool nonce, hash, verdict;
    size_t words, offered;
};

static bool take(struct reply *reply, struct seen *seen, unsigned tag, const struct slice *field,
                 const unsigned char *nonce, const unsigned char *hash) {
    switch (tag) {
    case R_NONCE: return seen->nonce = field->size == NONCE_SIZE && memcmp(field->at, nonce, NONCE_SIZE) == 0;
    case R_HASH: return seen->hash = field->size == HASH_SIZE && memcmp(field->at, hash, HASH_SIZE) == 0;
    case R_VERDICT:
        reply->rewrite = field->size == 1 && (field->at[0] == 1 || field->at[0] == 3);
        reply->ask_helper = field->size == 1 && field->at[0] == 4;
        return seen->verdict = field->size == 1 && field->at[0] <= 4;
    case R_SCRIPT: reply->script = *field; return reply->has_script = field->size > 0 && field->size <= MAX_SCRIPT;
    case R_ARGV: return add_word(&reply->argv, &seen->words, field);
    case R_SAY: reply->say = *field; return true;
    case R_AUDIT: reply->audit = *field; return true;
    case R_QUESTION: reply->question = *field; return reply->offer = field->size > 0;
    case R_OFFER_SCRIPT:
        reply->offer_script = *field;
        return reply->offer_has_script = field->size > 0 && field->size <= MAX_SCRIPT;
    case R_OFFER_ARGV: return add_word(&reply->offer_argv, &seen->offered, field);
    case R_OFFER_AUDIT: reply->offer_audit = *field; return true;
    case R_CONDITION: reply->conditions++; return true;
    case R_LEARNT: reply->learnt = *field; return true;
    case R_READ: if (seen->nonce && seen->hash) take_record(&reply->reading, field); return true;
    case R_READ_UNLESS: take_unless(&reply->reading, field); return true;
    case R_EARLIER: if (seen->nonce && seen->hash && field->size <= MAX_EARLIER) reply->earlier = *field; return true;
    default: return true;
    }
}

bool read_reply(struct reply *reply, const unsigned char nonce[NONCE_SIZE], const unsigned char hash[HASH_SIZE]) {
    const struct buffer *frame = &reply->frame;
    struct seen seen = {false, false, false, 0, 0};
    if (frame->size < 8 || memcmp(frame->at, "MPR1", 4) != 0 || number_at(frame->at + 4) != frame->size - 8) return false;
    for (size_t at = 8; at < frame->size;) {
        if (frame->size - at < 8) return false;
        unsigned tag = number_at(frame->at + at);
        struct slice field = {frame->at + at + 8, number_at(frame->at + at + 4)};
        if (field.size > frame->size - at - 8) return false;
        if (!take(reply, &seen, tag, &field, nonce, hash)) return false;
        at += 8 + field.size;
    }
    return seen.nonce && seen.hash && seen.verdict;
}

bool files_are_as_they_were(const struct reply *reply) {
    const struct buffer *frame = &reply->frame;
    size_t size;
    for (size_t at = 8; at < frame->size; at += 8 + size) {
        size = number_at(frame->at + at + 4);
        const struct slice field = {frame->at + at + 8, size};
        if (number_at(frame->at + at) == R_CONDITION && !still_holds(&field)) return false;
    }
    return true;
}
