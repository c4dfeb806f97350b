/* A double of sbatch that writes down everything a process can see of how it was started, and reads its script the way
 * sbatch 22.05 was seen to (traced): so that a call with Maple in front can be compared with a bare one.
 *
 * RECORD names the file written; RECORD_EXIT the exit status. It prints what sbatch prints. */
#define _GNU_SOURCE
#include "record.h"

static int find_script(int argc, char **argv, const char **name, const char **chdir_to, const char **wrap) {
    static const char *const with_value[] = {"-N", "-n", "-J", "-t", "-p", "-A", "-o", "-D", "--wrap", "--chdir", "--nodes",
                                             "--output", "--export", "--array", "--time", "--job-name", NULL};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0) return *name = argv[i + 1], i + 1 < argc ? i + 1 : 0;
        if (argv[i][0] != '-' || argv[i][1] == '\0') return *name = argv[i], i;
        if (strncmp(argv[i], "--wrap=", 7) == 0) *wrap = argv[i] + 7;
        if (strncmp(argv[i], "--chdir=", 8) == 0) *chdir_to = argv[i] + 8;
        for (int j = 0; with_value[j] != NULL && i + 1 < argc; j++)
            if (strcmp(argv[i], with_value[j]) == 0) {
                i++;
                if (j == 7 || j == 9) *chdir_to = argv[i];
                if (j == 8) *wrap = argv[i];
                break;
            }
    }
    return 0;
}

static int is_file(const char *path) {
    struct stat file;
    return stat(path, &file) == 0 && S_ISREG(file.st_mode);
}

static void search(const char *name, const char *chdir_to, char *path, size_t room) {
    char *list = strdup(getenv("PATH") != NULL ? getenv("PATH") : ""), *rest = list, *folder;
    snprintf(path, room, "%s", name);
    if (name[0] != '.' && name[0] != '/') {
        snprintf(path, room, "%s/%s", chdir_to != NULL ? chdir_to : ".", name);
        while (!is_file(path) && (folder = strsep(&rest, ":")) != NULL) snprintf(path, room, "%s/%s", folder, name);
        if (!is_file(path)) snprintf(path, room, "%s", name);
    }
    free(list);
}

static void dump_script(FILE *to, int argc, char **argv) {
    static char text[8 << 20];
    char path[4096];
    const char *name = NULL, *chdir_to = NULL, *wrap = NULL;
    int word = find_script(argc, argv, &name, &chdir_to, &wrap), fd = STDIN_FILENO;
    size_t size = 0;
    ssize_t got;
    if (wrap != NULL) {
        dump(to, "wrap", wrap, strlen(wrap));
        return;
    }
    if (getenv("RECORD_UNREAD") != NULL) return;
    if (word > 0) {
        search(name, chdir_to, path, sizeof path);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        const char *slash = strrchr(name, '/');
        fprintf(to, "name %s\n", slash != NULL ? slash + 1 : name);
    }
    while (fd >= 0 && size < sizeof text && (got = read(fd, text + size, sizeof text - size)) > 0) size += (size_t)got;
    if (fd < 0) fprintf(to, "unreadable\n");
    dump(to, "script", text, size);
}

int main(int argc, char **argv, char **environment) {
    const char *record = getenv("RECORD"), *status = getenv("RECORD_EXIT"), *by = getenv("RECORD_KILL");
    FILE *to = record != NULL ? fopen(record, "we") : NULL;
    if (to != NULL) {
        dump_process(to, argc, argv, environment);
        dump_script(to, argc, argv);
        fclose(to);
    }
    if (by != NULL) raise(atoi(by));
    printf("Submitted batch job 7\n");
    fprintf(stderr, "sbatch: a word on stderr\n");
    return status != NULL ? atoi(status) : 0;
}
