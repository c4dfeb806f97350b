/* The line that is kept of a submission, and the one of a submission that nobody answered in time: it went as written, and
 * a site should see how often. */
#include "front.h"

#include <sys/utsname.h>

enum { MAX_AUDIT = 4000, SPOOL_NAMES = 8 };

/* One write to the end of the file: lines of many submissions at once do not mix. False: it is not a file of ours. */
static bool append_line(int folder, const char *name, const struct slice *line) {
    struct stat file;
    int fd = openat(folder, name, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
    if (fd < 0) return errno == ENOSPC || errno == EDQUOT;
    bool ours = fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && file.st_uid == geteuid() && file.st_nlink == 1;
    if (ours && fits_limit((size_t)file.st_size + line->size)) {
        ssize_t wrote = write(fd, line->at, line->size); /* a full disk loses a line, not a submission */
        (void)wrote;
    }
    close(fd);
    return ours;
}

/* Anybody may put a file of any name into the spool, but cannot have all names: who takes one silences nobody. */
static void append_to_spool(const char *folder, const char *suffix, const struct slice *line) {
    char name[64];
    unsigned long long any = 0;
    unsigned long uid = (unsigned long)geteuid();
    int spool = folder[0] != '\0' ? open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    if (spool < 0) return;
    snprintf(name, sizeof name, "%lu.%s", uid, suffix);
    for (int i = 1; !append_line(spool, name, line) && i <= SPOOL_NAMES + 1; i++) {
        if (i <= SPOOL_NAMES) snprintf(name, sizeof name, "%lu.%d.%s", uid, i, suffix);
        else if (getrandom(&any, sizeof any, GRND_NONBLOCK) != (ssize_t)sizeof any) return;
        else snprintf(name, sizeof name, "%lu.%016llx.%s", uid, any, suffix);
    }
}

static bool one_object(const struct slice *line) {
    if (line->size < 2 || line->size > MAX_AUDIT || line->at[0] != '{' || line->at[line->size - 1] != '}') return false;
    for (size_t i = 0; i < line->size; i++)
        if (line->at[i] < 32) return false;
    return true;
}

struct kept {
    const char *spool;
    struct slice line;
};

/* First the site's: it lies on this host. */
static bool keep(void *of) {
    static const char *const below_home[] = {".local", "state", NULL};
    const struct kept *kept = of;
    char path[PATH_MAX];
    append_to_spool(kept->spool, "jsonl", &kept->line);
    int own = open_own_folder("XDG_STATE_HOME", below_home, path);
    if (own >= 0) (void)append_line(own, "audit.jsonl", &kept->line);
    return true;
}

void write_audit(const struct submission *of, const struct slice *line) {
    char whole[MAX_AUDIT + 64];
    if (!one_object(line)) return;
    int size = snprintf(whole, sizeof whole, "%.*s,\"ms\":%lld}\n", (int)line->size - 1, (const char *)line->at,
                        (long long)(now_ms() - of->started));
    if (size <= 0 || (size_t)size >= sizeof whole) return;
    struct kept kept = {of->config->audit, {(const unsigned char *)whole, (size_t)size}};
    (void)with_files(of->config, keep, &kept, NULL);
}

/* One byte in the day's file, so that its size is their number, and many at once need no lock. */
static bool add_one(void *of) {
    static const struct slice one = {(const unsigned char *)".", 1};
    const struct config *config = ((const struct submission *)of)->config;
    char suffix[32];
    struct tm now;
    time_t seconds = time(NULL);
    if (gmtime_r(&seconds, &now) == NULL || strftime(suffix, sizeof suffix, "%Y-%m-%d.count", &now) == 0) return false;
    append_to_spool(config->audit, suffix, &one);
    return true;
}

void count_untouched(struct submission *of) {
    if (of->config->audit[0] != '\0') (void)with_files(of->config, add_one, of, NULL);
}

void write_late(const struct submission *of, unsigned waited) {
    static const char *const who[] = {"", "\"daemon\"", "\"helper\"", "\"daemon\",\"helper\"", "\"files\""};
    char line[1024], when[32], record[2 * 8 + 1], job[2 * HASH_SIZE + 1];
    struct utsname here;
    struct tm now;
    time_t seconds = time(NULL);
    if (waited == 0 || gmtime_r(&seconds, &now) == NULL || uname(&here) != 0) return;
    if (strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &now) == 0) return;
    for (char *name = here.nodename; *name != '\0'; name++) /* as it may stand in a JSON text */
        if (*name <= 32 || *name == '"' || *name == '\\' || *name == 127) *name = '?';
    hex(record, of->nonce, 8);
    hex(job, of->hash, HASH_SIZE);
    int size = snprintf(line, sizeof line,
                        "{\"time\":\"%s\",\"host\":\"%s\",\"uid\":%lu,\"record\":\"%s\",\"job\":\"%s\",\"verdict\":\"late\","
                        "\"mode\":\"\",\"codes\":[],\"site\":\"\",\"revision\":\"\",\"came\":\"%s\",\"late\":[%s]}",
                        when, here.nodename, (unsigned long)getuid(), record, job, WAYS[of->source.came], who[waited]);
    const struct slice whole = {(const unsigned char *)line, (size_t)size};
    if (size > 0 && (size_t)size < sizeof line) write_audit(of, &whole);
}
