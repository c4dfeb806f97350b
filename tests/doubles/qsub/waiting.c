/* What qsub does when it does not end at once: the interactive job, the blocking one, and the process left behind. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "qsub.h"

enum { LONGEST = 60 }; /* seconds; whatever is asked for, nothing of a double lives longer */

static double seconds(const char *name) {
    double asked = atof(setup(name));
    return asked < LONGEST ? asked : LONGEST;
}

/* A job that is a shell on the terminal: what is typed is written down, until `exit` or the end. qsub's own exit is 0. */
_Noreturn void interact(const char *job) {
    char line[4096];
    printf("qsub: waiting for job %s to start\nqsub: job %s ready\n", job, job);
    fflush(stdout);
    while (fgets(line, sizeof line, stdin) != NULL && strcmp(line, "exit\n") != 0)
        if (record != NULL) fprintf(record, "typed %s", line);
    printf("qsub: job %s completed\n", job);
    finish(0);
}

/* Wait for the job to end, or for a signal, which deletes it. `unroutable`: the job vanished, and nobody ever answers. */
_Noreturn void block(const char *job) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    bool forever = option("queue") != NULL && setup_lists("queues_to_nowhere", option("queue"), strlen(option("queue")));
    double wait = forever ? LONGEST : seconds("job_seconds");
    struct timespec left = {(time_t)wait, (long)((wait - (double)(time_t)wait) * 1e9)};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) sigaddset(&set, numbers[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    if (record != NULL) fprintf(record, "waits\n"), fflush(record);
    int number = sigtimedwait(&set, NULL, &left);
    if (number > 0) {
        fprintf(stderr, "Job %s is being deleted\n", job);
        refuse(2, "wait for job %s interrupted by signal %d", job, number);
    }
    if (*setup("deleted_by") != '\0') refuse(3, "%s Job to be deleted at request of %s", job, setup("deleted_by"));
    finish(atoi(setup("job_exit")));
}

/* The first plain submission leaves a process for the next ones: it closes 0 to 2 and keeps every other descriptor. */
void leave_background(void) {
    double most = seconds("background_seconds");
    if (most <= 0) return;
    fflush(NULL); /* else both would write what is waiting */
    pid_t child = fork();
    if (child > 0 && record != NULL) fprintf(record, "background %ld\n", (long)child);
    if (child != 0) return;
    if (record != NULL) close(fileno(record));
    setsid();
    for (int fd = 0; fd < 3; fd++) close(fd);
    const struct timespec pause = {(time_t)most, 0};
    nanosleep(&pause, NULL);
    _exit(0);
}
