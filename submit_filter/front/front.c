/* In place of sbatch and qsub: look at the script, ask Maple, become the real command. docs/front.md tells the whole way. */
#include "front.h"

#include "launcher_words.h"

/* Whether MAPLE, a list with commas, holds the word. */
static bool user_said(const char *word) {
    const char *list = getenv("MAPLE");
    struct slice part;
    while (next_part(&list, ',', &part))
        if (same_text(&part, word)) return true;
    return false;
}

/* Pass over blanks, and over the text behind them, if it is there. */
static bool pass(struct slice *line, const char *text) {
    while (begins(line, " ") || begins(line, "\t")) *line = after(line, 1);
    if (!begins(line, text)) return false;
    *line = after(line, strlen(text));
    return true;
}

/* Whether a line of the script says `# maple: off`. */
static bool script_says_off(const struct buffer *script) {
    struct slice rest = {script->at, script->size};
    while (rest.size > 0) {
        struct slice line = next_line(&rest);
        if (!pass(&line, "#") || !pass(&line, "maple:") || !pass(&line, "off")) continue;
        while (pass(&line, "\r")) continue;
        if (line.size == 0) return true;
    }
    return false;
}

/* Why a script is not asked about, NULL where it is. */
static const char *why_unasked(const struct buffer *script) {
    if (script->broken || script->size == 0) return "the script is empty, or could not be read whole";
    if (script_says_off(script)) return "the script says # maple: off";
    for (size_t i = 0; i < sizeof LAUNCHER_WORDS / sizeof *LAUNCHER_WORDS; i++)
        if (memmem(script->at, script->size, LAUNCHER_WORDS[i], strlen(LAUNCHER_WORDS[i])) != NULL) return NULL;
    return "no launcher is named in the script";
}

/* Say why the user's own bytes go on: to who wants to hear it, and where something went amiss on any terminal. */
static char **as_written(const char *why, bool amiss) {
    char line[160];
    bool verbose = user_said("verbose");
    int size = snprintf(line, sizeof line, "maple: submitted as written: %s\n", why);
    if (verbose || amiss) say(line, (size_t)size, verbose);
    return NULL;
}

/* The changed argv must name the same script in the same way; only then do we know what to put in its place. */
static bool same_form(const struct submission *of, const struct arguments *is, char **changed) {
    if (is->came != of->arguments.came || strcmp(of->argv[0], changed[0]) != 0) return false;
    return is->came != BY_FILE || strcmp(of->argv[of->arguments.word], changed[is->word]) == 0;
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
static char **carry_out(const struct submission *of, const struct change *change, bool *late) {
    static char path[PATH_MAX];
    const struct source *source = &of->source;
    char **argv = change->argv != NULL ? change->argv : of->argv;
    struct arguments now = of->command->read(argv);
    size_t count = 0;
    if (!same_form(of, &now, argv)) return NULL;
    while (argv[count] != NULL) count++;
    char **result = calloc(count + 1, sizeof *result);
    if (result == NULL) return NULL;
    memcpy(result, argv, count * sizeof *result);
    if (change->script.size == 0) return result;
    if (source->came == BY_STDIN || source->came == BY_FD) return replace(source, &change->script) ? result : NULL;
    if (source->came != BY_FILE) return NULL;
    if (!private_copy(of->config, &change->script, basename(source->path), path, late)) return NULL;
    result[now.word] = path;
    return result;
}

/* Ask about the script and return the argv to run; NULL: as written. */
static char **consult(struct submission *of) {
    bool verbose = user_said("verbose");
    struct buffer request = {NULL, 0, 0, false};
    struct reply reply = {.rewrite = false};
    bool late = false;
    unsigned flags = (may_ask() ? MAY_ASK : 0) | (isatty(STDERR_FILENO) || verbose ? STDERR_IS_TERMINAL : 0);
    if (getrandom(of->nonce, NONCE_SIZE, GRND_NONBLOCK) != NONCE_SIZE) return NULL;
    sha256(of->source.script.at, of->source.script.size, of->hash);
    build_request(&request, of, flags);
    if (of->config->path[0] == '\0') return as_written("Maple has no front.conf", false);
    if (request.broken) return as_written("the script and the environment are too large to be searched", false);
    bool answered = ask(of, &request, &reply);
    detach(of->config, &reply.reading);
    if (!answered) {
        write_late(of, reply.waited);
        return as_written("no answer in time", of->config->mode != OBSERVE); /* observing is silent */
    }
    say(reply.say.at, reply.say.size, verbose);
    int64_t asked = now_ms();
    bool taken = reply.offer && (flags & MAY_ASK) != 0 && offer(&reply.question);
    of->started += now_ms() - asked; /* the user's time, not Maple's */
    const struct change *change = taken ? &reply.offered : &reply.unasked;
    if (!taken && !reply.rewrite) {
        if (change->audit.size == 0) count_untouched(of);
        else write_audit(of, &change->audit);
        return NULL;
    }
    char **result = carry_out(of, change, &late);
    if (result != NULL) {
        write_audit(of, &change->audit);
        return result;
    }
    write_late(of, late ? FOR_FILES : 0); /* who answered late is no news where another answered */
    return as_written("the repaired script could not be handed over", true);
}

int main(int argc, char **argv, char **environment) {
    static const char again[] = "maple: the real command came back to the front; the next in PATH is taken\n";
    const struct command *command = argc > 0 && strcmp(basename(argv[0]), QSUB.name) == 0 ? &QSUB : &SBATCH;
    struct config config;
    struct submission call = {&config, command, argv, environment, now_ms(), .arguments = {.came = LEFT}};
    char **result = NULL;
    read_config(&config, command->name);
    if (fronts_before() > 0) {
        if (user_said("verbose")) say(again, sizeof again - 1, true);
    } else if (config.mode == OFF || user_said("off")) {
        (void)as_written(config.mode == OFF ? "Maple is switched off here" : "MAPLE=off", false);
    } else {
        call.arguments = command->read(argv);
        const char *why = read_source(&call) ? why_unasked(&call.source.script) : "no script of at most 4 MiB can be read";
        result = why == NULL ? consult(&call) : as_written(why, false);
    }
    if (result != NULL) (void)try_real(&config, command->name, result, environment);
    return become_real(&config, command->name, argv, environment);
}
