/* In place of sbatch and qsub: look at the script, ask Maple, become the real command. README.md tells the whole way. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/types.h>
#include <unistd.h>

#include "front.h"
#include "launcher_words.h"

/* Whether MAPLE, a list with commas, holds the word. */
static bool user_said(const char *word) {
    const char *at = getenv("MAPLE");
    for (size_t size; at != NULL && *at != '\0'; at += size + (at[size] == ',')) {
        size = strcspn(at, ",");
        if (strlen(word) == size && strncmp(at, word, size) == 0) return true;
    }
    return false;
}

/* Whether a line of the script says `# maple: off`. */
static bool script_says_off(const struct buffer *script) {
    const char *at = (const char *)script->at, *end = at + script->size;
    while ((at = memmem(at, (size_t)(end - at), "maple:", 6)) != NULL) {
        const char *before = at;
        while (before > (const char *)script->at && (before[-1] == ' ' || before[-1] == '\t')) before--;
        at += 6;
        if (before == (const char *)script->at || before[-1] != '#') continue;
        for (before--; before > (const char *)script->at && (before[-1] == ' ' || before[-1] == '\t');) before--;
        if (before > (const char *)script->at && before[-1] != '\n') continue;
        while (at < end && (*at == ' ' || *at == '\t')) at++;
        if (end - at < 3 || memcmp(at, "off", 3) != 0) continue;
        for (at += 3; at < end && (*at == ' ' || *at == '\t' || *at == '\r');) at++;
        if (at == end || *at == '\n') return true;
    }
    return false;
}

static bool is_worth_asking(const struct buffer *script) {
    if (script->broken || script->size == 0 || script_says_off(script)) return false;
    for (size_t i = 0; i < sizeof LAUNCHER_WORDS / sizeof *LAUNCHER_WORDS; i++)
        if (contains(script, LAUNCHER_WORDS[i])) return true;
    return false;
}

/* The changed argv must name the same script in the same way; only then do we know what to put in its place. */
static bool same_form(const struct arguments *was, char *const *argv, const struct arguments *is, char **changed) {
    if (is->came != was->came || strcmp(argv[0], changed[0]) != 0) return false;
    return was->came != BY_FILE || strcmp(argv[was->word], changed[is->word]) == 0;
}

/* Put the script where the real command reads. Who shares the file behind fd 0 finds it read to its end, as always. */
static bool replace(const struct source *source, const struct slice *script) {
    if (source->end < 0) return give_bytes(source->target, script->at, script->size);
    off_t before = lseek(source->target, 0, SEEK_CUR);
    if (before < 0 || lseek(source->target, source->end, SEEK_SET) < 0) return false;
    if (give_bytes(source->target, script->at, script->size)) return true;
    (void)lseek(source->target, before, SEEK_SET);
    return false;
}

/* Make the submission what the answer says; return the argv to run, or NULL to run as written. */
static char **carry_out(const struct command *command, const struct config *config, const struct source *source,
                        const struct arguments *arguments, char **argv, char **changed, const struct slice *script,
                        bool *late) {
    static char path[PATH_MAX];
    struct arguments now = *arguments;
    size_t count = 0;
    if (changed != NULL) {
        now = command->read(changed);
        if (!same_form(arguments, argv, &now, changed)) return NULL;
        argv = changed;
    }
    while (argv[count] != NULL) count++;
    char **result = calloc(count + 1, sizeof *result);
    if (result == NULL) return NULL;
    memcpy(result, argv, count * sizeof *result);
    if (script == NULL) return result;
    if (source->came == BY_STDIN || source->came == BY_FD) return replace(source, script) ? result : NULL;
    if (source->came != BY_FILE) return NULL;
    const char *slash = strrchr(source->path, '/');
    if (!private_copy(config, script, slash != NULL ? slash + 1 : source->path, path, late)) return NULL;
    result[now.word] = path;
    return result;
}

/* Ask about the script and return the argv to run; NULL: as written. */
static char **consult(const struct command *command, const struct config *config, const struct arguments *arguments,
                      const struct source *source, char **argv, char **environment, int64_t started) {
    static const char silent[] = "maple: no answer in time; submitted as written\n";
    static const char unable[] = "maple: cannot hand over the repaired script; submitted as written\n";
    bool verbose = user_said("verbose");
    unsigned char nonce[NONCE_SIZE], hash[HASH_SIZE];
    struct buffer request = {NULL, 0, 0, false};
    struct reply reply;
    unsigned flags = (may_ask() ? MAY_ASK : 0) | (isatty(STDERR_FILENO) || verbose ? STDERR_IS_TERMINAL : 0);
    if (getrandom(nonce, sizeof nonce, GRND_NONBLOCK) != (ssize_t)sizeof nonce) return NULL;
    sha256(source->script.at, source->script.size, hash);
    build_request(&request, command->scheduler, arguments, source, argv, environment, nonce, hash, flags,
                  config->socket_ms);
    if (request.broken || config->path[0] == '\0') return NULL;
    bool answered = ask(config, source, argv, &request, &reply, nonce, hash);
    detach(config, &reply.reading);
    if (!answered) {
        say(silent, sizeof silent - 1, verbose);
        write_late(config, &reply.waited, nonce, hash, source->came, started);
        return NULL;
    }
    say(reply.say.at, reply.say.size, verbose);
    bool taken = reply.offer && (flags & MAY_ASK) != 0 && offer(&reply.question);
    if (!taken && !reply.rewrite) {
        write_audit(config, &reply.audit, started);
        return NULL;
    }
    bool has_script = taken ? reply.offer_has_script : reply.has_script;
    const struct slice *script = taken ? &reply.offer_script : &reply.script;
    char **changed = taken ? reply.offer_argv : reply.argv;
    struct waited waited = {false, false, false};
    char **result = carry_out(command, config, source, arguments, argv, changed, has_script ? script : NULL,
                              &waited.for_files);
    if (result != NULL) {
        write_audit(config, taken ? &reply.offer_audit : &reply.audit, started);
        return result;
    }
    say(unable, sizeof unable - 1, verbose);
    write_late(config, &waited, nonce, hash, source->came, started);
    return NULL;
}

int main(int argc, char **argv, char **environment) {
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    const char *called = argc > 0 ? (slash != NULL ? slash + 1 : argv[0]) : "";
    const struct command *command = strcmp(called, QSUB.name) == 0 ? &QSUB : &SBATCH;
    int64_t started = now_ms();
    struct config config;
    struct source source;
    char **result = NULL;
    read_config(&config, command->name);
    static const char again[] = "maple: the real command came back to the front; the next in PATH is taken\n";
    if (fronts_before() > 0) {
        if (user_said("verbose")) say(again, sizeof again - 1, true);
    } else if (!config.off && !user_said("off")) {
        struct arguments arguments = command->read(argv);
        if (arguments.came != LEFT && read_source(&arguments, argv, &source) && is_worth_asking(&source.script))
            result = consult(command, &config, &arguments, &source, argv, environment, started);
    }
    if (result != NULL) (void)try_real(&config, command->name, result, environment);
    return become_real(&config, command->name, argv, environment);
}
