/* The audit line of a submission that nobody answered in time: it went as written, and a site should see how often. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "front.h"

/* A host's name as it may stand in a JSON text. */
static void plain_name(char *name) {
    for (; *name != '\0'; name++)
        if (*name <= 32 || *name == '"' || *name == '\\' || *name == 127) *name = '?';
}

void write_late(const struct config *config, const struct waited *waited, const unsigned char nonce[NONCE_SIZE],
                const unsigned char hash[HASH_SIZE], enum coming came, int64_t started) {
    static const char *const forms[] = {"", "file", "stdin", "wrap", "fd"};
    char line[1024], when[32], record[2 * 8 + 1], job[2 * HASH_SIZE + 1];
    struct utsname here;
    struct tm now;
    time_t seconds = time(NULL);
    const char *who = waited->for_files ? "\"files\"" : waited->for_helper && waited->for_daemon
        ? "\"daemon\",\"helper\"" : waited->for_helper ? "\"helper\"" : "\"daemon\"";
    if ((!waited->for_daemon && !waited->for_helper && !waited->for_files) || gmtime_r(&seconds, &now) == NULL || uname(&here) != 0) return;
    if (strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &now) == 0) return;
    plain_name(here.nodename);
    hex(record, nonce, 8);
    hex(job, hash, HASH_SIZE);
    int size = snprintf(line, sizeof line,
                        "{\"time\":\"%s\",\"host\":\"%s\",\"uid\":%lu,\"record\":\"%s\",\"job\":\"%s\",\"verdict\":\"late\","
                        "\"mode\":\"\",\"codes\":[],\"site\":\"\",\"revision\":\"\",\"came\":\"%s\",\"late\":[%s]}",
                        when, here.nodename, (unsigned long)getuid(), record, job, forms[came], who);
    const struct slice whole = {(const unsigned char *)line, (size_t)size};
    if (size > 0 && (size_t)size < sizeof line) write_audit(config, &whole, started);
}
