/* What the server says of a whole job: no connection, a queue it does not have, a limit, or an id. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "qsub.h"

static const char *queue(void) { return option("queue") != NULL ? option("queue") : ""; }

static void check_connection(void) {
    const char *conf = getenv("PBS_CONF_FILE"), *at = strchr(queue(), '@'), *name = at != NULL ? at + 1 : server_name();
    if (conf != NULL && access(conf, R_OK) != 0) {
        fputs("pbsconf error: pbs conf variables not found: PBS_HOME PBS_EXEC PBS_SERVER\nNo such file or directory\n", stderr);
        refuse(255, "cannot connect to server  (errno=0)");
    }
    if (strcmp(name, server_name()) != 0) {
        fputs("Unknown Host.\n", stderr);
        refuse(160, "cannot connect to server %s (errno=15008)", name);
    }
    if (*setup("down") != '\0') {
        fputs("Connection refused\n", stderr);
        refuse(162, "cannot connect to server %s (errno=15010)", name);
    }
}

static bool in_queue(const char *setting) {
    size_t size = strcspn(queue(), "@");
    return size > 0 && setup_lists(setting, queue(), size);
}

static void check_queue(void) {
    if (*setup("queues") != '\0' && *queue() != '\0' && *queue() != '@' && !in_queue("queues")) refuse(170, "Unknown queue");
    if (in_queue("queues_disabled")) refuse(173, "Queue is not enabled");
    if (in_queue("queues_of_others")) refuse(159, "Unauthorized Request ");
    if (in_queue("queues_routed_to")) refuse(174, "Access to queue is denied");
    if (in_queue("queues_to_nowhere") && option("interactive") != NULL)
        refuse(191, "Job rejected by all possible destinations");
}

static void check_attributes(void) {
    static const char *const known[] = {"block", "depend", "umask", "group_list", "sandbox", "stagein", "stageout", "pwd",
                                        "run_count", "release_nodes_on_stageout", "max_run_subjobs", "project",
                                        "create_resv_from_job", "tolerate_node_failures", "Output_Path", NULL};
    for (size_t i = 0; i < setting_count; i++) {
        size_t j = 0;
        if (settings[i].kind != ATTRIBUTE) continue;
        while (known[j] != NULL && strcmp(known[j], settings[i].name) != 0) j++;
        if (known[j] == NULL) refuse(154, "Error (15002) submitting job");
        if (strcmp(settings[i].name, "group_list") == 0 && setup_lists("groups_unknown", settings[i].value, strlen(settings[i].value)))
            refuse(197, "Bad GID for job execution");
    }
}

static void check_user(void) {
    const char *user = option("user"), *own = getenv("LOGNAME");
    if (*setup("root_refused") != '\0' && getuid() == 0) refuse(175, "Bad UID for job execution");
    if (user != NULL && (own == NULL || strcmp(own, user) != 0)) refuse(175, "Bad UID for job execution");
}

static void check_numbers(void) {
    const char *array = option("array"), *most = setup("most_subjobs"), *dash = array != NULL ? strchr(array, '-') : NULL;
    if (*setup("too_many") != '\0') refuse(38, "would exceed complex's per-user limit");
    if (dash != NULL && *most != '\0' && atol(dash + 1) - atol(array) + 1 > atol(most))
        refuse(3, "Array job exceeds server or queue size limit");
}

void check_server(void) {
    check_connection();
    check_attributes();
    check_request(record);
    check_user();
    check_queue();
    check_numbers();
}

static bool is_blocked(void) {
    const char *block = attribute("block");
    return block != NULL && strcmp(block, "true") == 0;
}

void submit(void) {
    char job[256];
    const char *number = setup("number");
    bool plain = option("foreground") == NULL && option("interactive") == NULL && option("all-variables") == NULL;
    snprintf(job, sizeof job, "%s%s.%s", *number != '\0' ? number : "7", option("array") != NULL ? "[]" : "", server_name());
    if (option("interactive") != NULL) {
        if (is_blocked()) fputs("qsub: warning: block is dropped, the job is interactive\n", stderr);
        interact(job);
    }
    if (record != NULL) fflush(record); /* before the write that a closed pipe could end us at */
    if (option("quiet") == NULL) printf("%s\n", job);
    fflush(stdout);
    if (is_blocked()) block(job);
    if (plain && getenv("PBS_JOBID") == NULL) leave_background();
    finish(0);
}
