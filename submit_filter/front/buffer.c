/* Bytes, clock and SHA-256 (FIPS 180-4). */
#include "front.h"

#include "sha256_constants.h"

void put_number(unsigned char to[4], unsigned number) {
    for (unsigned i = 0; i < 4; i++) to[i] = (unsigned char)(number >> (24 - 8 * i));
}

unsigned number_at(const unsigned char *at) {
    return (unsigned)at[0] << 24 | (unsigned)at[1] << 16 | (unsigned)at[2] << 8 | (unsigned)at[3];
}

void add(struct buffer *to, const void *bytes, size_t size) {
    to->broken = to->broken || size > MAX_REPLY || to->size > 2 * MAX_REPLY;
    if (to->broken) return;
    if (to->size + size + 1 > to->room) {
        size_t room = (to->size + size + 1) * 2;
        unsigned char *at = realloc(to->at, room);
        to->broken = at == NULL;
        if (to->broken) return;
        to->at = at;
        to->room = room;
    }
    if (size > 0) memcpy(to->at + to->size, bytes, size);
    to->size += size;
    to->at[to->size] = 0;
}

void add_field(struct buffer *to, unsigned tag, const void *bytes, size_t size) {
    unsigned char head[8];
    put_number(head, tag);
    put_number(head + 4, (unsigned)size); /* what is too large for four bytes is too large to be added */
    add(to, head, sizeof head);
    add(to, bytes, size);
}

bool same_text(const struct slice *bytes, const char *text) {
    return bytes->size == strlen(text) && memcmp(bytes->at, text, bytes->size) == 0;
}

bool begins(const struct slice *bytes, const char *with) {
    return bytes->size >= strlen(with) && memcmp(bytes->at, with, strlen(with)) == 0;
}

struct slice after(const struct slice *bytes, size_t size) {
    return (struct slice){bytes->at + size, bytes->size - size};
}

struct slice next_line(struct slice *text) {
    const unsigned char *end = text->size > 0 ? memchr(text->at, '\n', text->size) : NULL;
    struct slice line = {text->at, end != NULL ? (size_t)(end - text->at) : text->size};
    *text = after(text, line.size + (end != NULL));
    return line;
}

bool next_part(const char **list, char separator, struct slice *part) {
    if (*list == NULL) return false;
    const char *at = *list, *end = strchr(at, separator);
    *part = (struct slice){(const unsigned char *)at, end != NULL ? (size_t)(end - at) : strlen(at)};
    *list = end != NULL ? end + 1 : NULL;
    return true;
}

bool same_file(const char *path, const struct stat *other) {
    struct stat file;
    return stat(path, &file) == 0 && file.st_dev == other->st_dev && file.st_ino == other->st_ino;
}

bool join(char path[PATH_MAX], const struct slice *folder, const char *name) {
    int size = folder->size < PATH_MAX ? (int)folder->size : PATH_MAX;
    int wrote = snprintf(path, PATH_MAX, "%.*s/%s", size, (const char *)folder->at, name);
    return wrote > 0 && wrote < PATH_MAX;
}

int64_t now_ms(void) {
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) return INT64_MAX / 2; /* no clock: every deadline has passed */
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void hex(char *to, const unsigned char *bytes, size_t size) {
    for (size_t i = 0; i < size; i++) (void)sprintf(to + 2 * i, "%02x", bytes[i]);
}

static uint32_t turn(uint32_t x, unsigned by) { return (x >> by) | (x << (32 - by)); }

static void mix(uint32_t h[8], const unsigned char *block) {
    uint32_t w[64], v[8];
    for (size_t i = 0; i < 16; i++) w[i] = number_at(block + 4 * i);
    for (size_t i = 16; i < 64; i++)
        w[i] = w[i - 16] + w[i - 7] + (turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ (w[i - 15] >> 3)) +
               (turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ (w[i - 2] >> 10));
    memcpy(v, h, sizeof v);
    for (size_t i = 0; i < 64; i++) {
        uint32_t one = v[7] + (turn(v[4], 6) ^ turn(v[4], 11) ^ turn(v[4], 25)) + ((v[4] & v[5]) ^ (~v[4] & v[6])) +
                       K[i] + w[i];
        uint32_t two = (turn(v[0], 2) ^ turn(v[0], 13) ^ turn(v[0], 22)) +
                       ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += one;
        v[0] = one + two;
    }
    for (size_t i = 0; i < 8; i++) h[i] += v[i];
}

void sha256(const void *bytes, size_t size, unsigned char hash[HASH_SIZE]) {
    uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    const unsigned char *from = bytes;
    unsigned char last[128] = {0};
    size_t whole = size / 64 * 64, rest = size - whole, tail = rest < 56 ? 64 : 128;
    for (size_t i = 0; i < whole; i += 64) mix(h, from + i);
    if (rest > 0) memcpy(last, from + whole, rest);
    last[rest] = 0x80;
    put_number(last + tail - 8, (unsigned)(size >> 29)); /* in bits */
    put_number(last + tail - 4, (unsigned)(size << 3));
    for (size_t i = 0; i < tail; i += 64) mix(h, last + i);
    for (size_t i = 0; i < 8; i++) put_number(hash + 4 * i, h[i]);
}
