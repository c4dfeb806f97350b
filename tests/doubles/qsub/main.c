/* A double of qsub that writes down all it sees of how it was started, reads its request as qsub does, and answers so. */
#define _GNU_SOURCE
#include "../record.h"

#include <stdarg.h>

#include "qsub.h"

FILE *record;
static char script[MOST_SCRIPT];
static size_t script_size;
static const char *script_name; /* NULL: from stdin */
static char **executable;       /* NULL: there is a script */

/* RECORD_EXIT stands in place of every other status, RECORD_KILL for a signal that ends qsub. */
_Noreturn void finish(int status) {
    const char *other = getenv("RECORD_EXIT"), *by = getenv("RECORD_KILL");
    if (record != NULL) fclose(record);
    fflush(stdout);
    fflush(stderr);
    if (by != NULL) raise(atoi(by));
    _exit((other != NULL ? atoi(other) : status) & 255);
}

_Noreturn void refuse(int status, const char *format, ...) {
    va_list values;
    va_start(values, format);
    fputs("qsub: ", stderr);
    vfprintf(stderr, format, values);
    fputc('\n', stderr);
    va_end(values);
    finish(status);
}

static void read_words(int argc, char **argv) {
    int letter;
    bool good = true;
    opterr = 0;
    while ((letter = getopt(argc, argv, "+" LETTERS)) != -1) {
        if (letter == '?') usage();
        good = take_option(letter, optarg != NULL ? optarg : "", BY_ARGV) && good;
    }
    if (!good) usage();
    if (strcmp(argv[optind - 1], "--") == 0) { /* also where it is the last option's value */
        if (optind == argc) usage();
        executable = argv + optind;
    } else if (argc - optind > 1) {
        usage();
    } else if (optind < argc && strcmp(argv[optind], "-") != 0) {
        script_name = argv[optind];
    }
}

static void read_all(int fd) {
    ssize_t got;
    while (script_size < sizeof script && (got = read(fd, script + script_size, sizeof script - script_size)) > 0)
        script_size += (size_t)got;
}

static void read_script(void) {
    struct stat file;
    if (script_name == NULL) {
        if (option("interactive") != NULL) return; /* the terminal is the job's */
        if (isatty(STDIN_FILENO)) puts("Job script will be read from standard input. Submit with CTRL+D.");
        fflush(stdout);
        read_all(STDIN_FILENO);
        return;
    }
    if (stat(script_name, &file) != 0) refuse(1, "script file:: %s", strerror(errno));
    if (!S_ISREG(file.st_mode)) refuse(1, "script not a file");
    int fd = open(script_name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) refuse(8, "opening script file:: %s", strerror(errno));
    read_all(fd);
    close(fd);
}

static const char *job_name(void) {
    const char *slash = script_name != NULL ? strrchr(script_name, '/') : NULL;
    const char *name = script_name == NULL ? "STDIN" : slash != NULL ? slash + 1 : script_name;
    if (option("job-name") != NULL) return option("job-name");
    if (!is_job_name(name)) refuse(2, "illegal -N value");
    if (strlen(name) > MOST_NAME) refuse(2, "Job name is too long ");
    return name;
}

/* -v NAME wants the variable to be there. */
static void check_variables(void) {
    char *list = option("variable-list") != NULL ? strdup(option("variable-list")) : NULL, *item;
    while ((item = strsep(&list, ",")) != NULL)
        if (strchr(item, '=') == NULL && getenv(item) == NULL) refuse(1, "cannot send environment with the job");
}

/* An array takes neither a terminal nor a job that may not be started again. */
static void check_array(void) {
    const char *again = option("rerunable");
    if (option("array") == NULL) return;
    if (option("interactive") != NULL) refuse(1, "an array job cannot be interactive");
    if (again != NULL && strcmp(again, "n") == 0) refuse(1, "an array job must be rerunable");
}

static void check_terminal(void) {
    if (option("interactive") == NULL || (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))) return;
    fputs("qsub:\tstandard input and output must be a terminal for\n\tinteractive job submission\n", stderr);
    finish(1);
}

/* `set NAME VALUE`, bytes that a line could not hold as \xNN. */
static void write_settings(void) {
    for (size_t i = 0; record != NULL && i < setting_count; i++) {
        fprintf(record, "set %s ", settings[i].name);
        for (const unsigned char *at = (unsigned char *)settings[i].value; *at != '\0'; at++)
            fprintf(record, *at < 32 || *at == '\\' || *at > 126 ? "\\x%02x" : "%c", *at);
        fputc('\n', record);
    }
}

int main(int argc, char **argv, char **environment) {
    const char *path = getenv("RECORD");
    record = path != NULL ? fopen(path, "we") : NULL;
    if (record != NULL) dump_process(record, argc, argv, environment);
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        puts("pbs_version = 23.06.06");
        finish(0);
    }
    read_words(argc, argv);
    if (executable == NULL) {
        const char *prefix = option("directive-prefix"), *said = getenv("PBS_DPREFIX");
        read_script();
        if (record != NULL) dump(record, "script", script, script_size);
        take_directives(script, script_size, prefix != NULL ? prefix : said != NULL ? said : "#PBS");
    }
    for (char **word = executable; record != NULL && word != NULL && *word != NULL; word++)
        dump(record, "executable", *word, strlen(*word));
    const char *name = job_name();
    write_settings();
    if (record != NULL) fprintf(record, "name %s\n", name), fflush(record);
    check_variables();
    check_array();
    check_terminal();
    check_server();
    submit();
}
