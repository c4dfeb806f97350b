/* The request and the reply: "MPQ1" or "MPR1", the size of the rest, then fields of tag, size and bytes, all numbers of
 * four bytes, big end first. Fields that are not known are skipped. maple_submit_filter/host/frames.py has the other half. */
#include "front.h"

#include "frame_tags.h"

enum { FACTS_SIZE = 160, MAX_TRAVELLERS = 4096 };

static void add_text(struct buffer *to, unsigned tag, const char *text) { add_field(to, tag, text, strlen(text)); }

static void add_number(struct buffer *to, unsigned tag, unsigned number) {
    unsigned char bytes[4];
    put_number(bytes, number);
    add_field(to, tag, bytes, sizeof bytes);
}

/* Write the size of a frame where it belongs. */
static void close_frame(struct buffer *to) {
    to->broken = to->broken || to->size > MAX_REQUEST;
    if (!to->broken) put_number(to->at + 4, (unsigned)to->size - 8);
}

void build_request(struct buffer *to, const struct submission *of, unsigned flags) {
    char cwd[PATH_MAX];
    add(to, "MPQ1\0\0\0\0", 8);
    add_field(to, Q_NONCE, of->nonce, NONCE_SIZE);
    add_field(to, Q_HASH, of->hash, HASH_SIZE);
    add_text(to, Q_SCHEDULER, of->command->scheduler);
    for (size_t i = 0; of->argv[i] != NULL; i++) add_text(to, Q_ARGV, of->argv[i]);
    add_text(to, Q_CWD, getcwd(cwd, sizeof cwd) != NULL ? cwd : "");
    add_number(to, Q_UID, getuid());
    note_script(&of->source.script);
    for (size_t i = 0, count = 0; of->environment[i] != NULL && !to->broken; i++) {
        int goes = travels(of->environment[i], &of->source.script);
        if (goes == 1) add_text(to, Q_ENVIRONMENT, of->environment[i]);
        if (goes < 0 || (count += goes == 1) > MAX_TRAVELLERS) to->broken = true; /* part of them would mislead */
    }
    add_field(to, Q_SCRIPT, of->source.script.at, of->source.script.size);
    add_text(to, Q_CAME, WAYS[of->source.came]);
    add_text(to, Q_PATH, of->source.path);
    add_number(to, Q_FLAGS, flags);
    add_number(to, Q_WORD, (unsigned)of->arguments.word);
    add_number(to, Q_OFFSET, (unsigned)of->arguments.offset);
    add_number(to, Q_DEADLINE, (unsigned)of->config->socket_ms);
    close_frame(to);
}

void tell_earlier(struct buffer *to, const struct buffer *request, const struct slice *earlier) {
    add(to, request->at, request->size);
    add_field(to, Q_EARLIER, earlier->at, earlier->size);
    close_frame(to);
}

void build_learnt(struct buffer *to, const struct slice *learnt, const unsigned char nonce[NONCE_SIZE]) {
    add(to, "MPL1\0\0\0\0", 8);
    add_field(to, Q_NONCE, nonce, NONCE_SIZE);
    add_field(to, R_LEARNT, learnt->at, learnt->size);
    close_frame(to);
}

/* The facts: device, inode, size and times as text; "" for what is not there. */
bool still_holds(const struct slice *field) {
    const char *path = (const char *)field->at;
    char facts[FACTS_SIZE] = "";
    struct stat file;
    size_t size = strnlen(path, field->size);
    if (size == 0 || size == field->size || size >= PATH_MAX) return false; /* no name, or no end of it */
    if (stat(path, &file) == 0)
        (void)snprintf(facts, sizeof facts, "%llu %llu %lld %lld.%09ld %lld.%09ld", (unsigned long long)file.st_dev,
                       (unsigned long long)file.st_ino, (long long)file.st_size, (long long)file.st_mtim.tv_sec,
                       file.st_mtim.tv_nsec, (long long)file.st_ctim.tv_sec, file.st_ctim.tv_nsec);
    struct slice known = after(field, size + 1);
    return same_text(&known, facts);
}

/* Append the field as one word of the new argv. A word holds no NUL: execve would cut it. */
static bool add_word(struct change *to, const struct slice *field) {
    if (to->words >= MAX_WORDS || memchr(field->at, 0, field->size) != NULL) return false;
    char **list = realloc(to->argv, (to->words + 2) * sizeof *list);
    if (list == NULL) return false;
    to->argv = list;
    list[to->words] = list[to->words + 1] = NULL;
    list[to->words] = strndup((const char *)field->at, field->size);
    return list[to->words++] != NULL;
}

static bool take_script(struct change *to, const struct slice *field) {
    to->script = *field;
    return field->size > 0 && field->size <= MAX_SCRIPT;
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
};

static bool take(struct reply *reply, struct seen *seen, unsigned tag, const struct slice *field,
                 const struct submission *of) {
    bool ours = seen->nonce && seen->hash; /* what is used of a reply that is refused later */
    switch (tag) {
    case R_NONCE: return seen->nonce = field->size == NONCE_SIZE && memcmp(field->at, of->nonce, NONCE_SIZE) == 0;
    case R_HASH: return seen->hash = field->size == HASH_SIZE && memcmp(field->at, of->hash, HASH_SIZE) == 0;
    case R_VERDICT:
        reply->rewrite = field->size == 1 && (field->at[0] == 1 || field->at[0] == 3);
        reply->ask_helper = field->size == 1 && field->at[0] == 4;
        return seen->verdict = field->size == 1 && field->at[0] <= 4;
    case R_SCRIPT: return take_script(&reply->unasked, field);
    case R_ARGV: return add_word(&reply->unasked, field);
    case R_SAY: reply->say = *field; return true;
    case R_AUDIT: reply->unasked.audit = *field; return true;
    case R_QUESTION: reply->question = *field; return reply->offer = field->size > 0;
    case R_OFFER_SCRIPT: return take_script(&reply->offered, field);
    case R_OFFER_ARGV: return add_word(&reply->offered, field);
    case R_OFFER_AUDIT: reply->offered.audit = *field; return true;
    case R_CONDITION: reply->conditions++; return true;
    case R_LEARNT: reply->learnt = *field; return true;
    case R_READ: if (ours) take_record(&reply->reading, field); return true;
    case R_READ_UNLESS: take_unless(&reply->reading, field); return true;
    case R_EARLIER: if (ours && field->size <= MAX_EARLIER) reply->earlier = *field; return true;
    default: return true;
    }
}

/* The field at *at*, which moves behind it; false at the end of the frame, and where a field is cut off. */
static bool next_field(const struct buffer *frame, size_t *at, unsigned *tag, struct slice *field) {
    if (frame->size - *at < 8) return false;
    *tag = number_at(frame->at + *at);
    *field = (struct slice){frame->at + *at + 8, number_at(frame->at + *at + 4)};
    if (field->size > frame->size - *at - 8) return false;
    *at += 8 + field->size;
    return true;
}

bool read_reply(struct reply *reply, const struct submission *of) {
    const struct buffer *frame = &reply->frame;
    struct seen seen = {false, false, false};
    struct slice field;
    unsigned tag;
    size_t at = 8;
    if (frame->size < 8 || memcmp(frame->at, "MPR1", 4) != 0 || number_at(frame->at + 4) != frame->size - 8) return false;
    while (next_field(frame, &at, &tag, &field))
        if (!take(reply, &seen, tag, &field, of)) return false;
    return at == frame->size && seen.nonce && seen.hash && seen.verdict;
}

bool files_are_as_they_were(void *reply) {
    const struct buffer *frame = &((const struct reply *)reply)->frame;
    struct slice field;
    unsigned tag;
    size_t at = 8;
    while (next_field(frame, &at, &tag, &field))
        if (tag == R_CONDITION && !still_holds(&field)) return false;
    return true;
}
