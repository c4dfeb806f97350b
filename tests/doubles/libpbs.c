/* A double of OpenPBS' libpbs: the functions that Maple calls, told by a file what to answer.
 *
 * MAPLE_LIBPBS_SCENARIO  the file: one line a command, words separated by a tab, %XX for any byte (see libpbs.py)
 * MAPLE_LIBPBS_LOG       a file to which each call is added as a line, and each misuse as a line `fault ...`
 *
 * Written from facts about the interface (facts/pbs.md, section 5), not from anybody's code. Results are malloc'd
 * piece by piece, so that the address sanitizer sees what is not given back; pbs_statfree frees what it is given.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct attrl { struct attrl *next; char *name, *resource, *value; int op; };
struct batch_status { struct batch_status *next; char *name; struct attrl *attribs; char *text; };
struct in_error { struct attrl *attribute; int code; char *text; };
struct all_in_error { int count; struct in_error *entries; };

enum { CONNECTIONS = 64, UNKNOWN_JOB = 15001, BAD_HOST = 15008, UNKNOWN_QUEUE = 15018, PROTOCOL = 15031, ENDED = 15139 };

/* The scenario. A thing is a job, queue, node or server; a job has steps, one for each time it is asked for. */
struct step { struct attrl *attribs; int gone; struct step *next; };
struct thing { char kind, *name; struct step *steps, *now; int asked; struct thing *next; };
struct fault { char *call; int nth, number, result; char *text; struct fault *next; };
struct delay { char *call; int milliseconds; struct delay *next; };

static struct thing *things, *last_thing;
static struct fault *faults;
static struct delay *delays;
static struct all_in_error refused;
static char *greeting;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int loaded, live;

static struct { int open, inside, process; char *text; } connections[CONNECTIONS];
static struct { const char *call; int count; } counts[32];

static __thread int number;
int *__pbs_errno_location(void) { return &number; }
/* For tests without a sanitizer: how many lists are out and not given back. */
int double_live(void) { return __atomic_load_n(&live, __ATOMIC_SEQ_CST); }

static void note(const char *form, ...)
{
	char line[4096];
	const char *path = getenv("MAPLE_LIBPBS_LOG");
	va_list words;
	va_start(words, form);
	int size = vsnprintf(line, sizeof line, form, words);
	va_end(words);
	if (size >= (int)sizeof line)
		size = sizeof line - 1;
	int file = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
	if (file >= 0) {
		if (write(file, line, (size_t)size) != size)
			abort();
		close(file);
	}
}

static void *grab(size_t size)
{
	void *found = calloc(1, size);
	if (!found)
		abort();
	return found;
}

static char *copy(const char *text)
{
	return text ? strcpy(grab(strlen(text) + 1), text) : NULL;
}

static int hex(char digit)
{
	return digit <= '9' ? digit - '0' : (digit | 32) - 'a' + 10;
}

/* Take the next word off a line, with %XX turned into bytes in place. */
static char *word(char **line)
{
	char *start = strsep(line, "\t");
	if (!start)
		return NULL;
	char *to = start;
	for (char *from = start; *from; from++) {
		if (*from == '%' && from[1] && from[2]) {
			*to++ = (char)(hex(from[1]) * 16 + hex(from[2]));
			from += 2;
		} else {
			*to++ = *from;
		}
	}
	*to = 0;
	return start;
}

static struct attrl *attribute(char **line)
{
	struct attrl *one = grab(sizeof *one);
	one->name = copy(word(line));
	char *resource = word(line);
	one->resource = resource && *resource ? copy(resource) : NULL;
	one->value = copy(word(line));
	return one;
}

static void new_step(struct thing *of)
{
	struct step *one = grab(sizeof *one), **end = &of->steps;
	while (*end)
		end = &(*end)->next;
	*end = one;
	of->now = one;
}

static void command(char *line)
{
	char *verb = word(&line);
	if (!strcmp(verb, "job") || !strcmp(verb, "queue") || !strcmp(verb, "node") || !strcmp(verb, "server")) {
		struct thing *one = grab(sizeof *one);
		one->kind = verb[0];
		one->name = copy(word(&line));
		*(last_thing ? &last_thing->next : &things) = one;
		last_thing = one;
		new_step(one);
	} else if (!strcmp(verb, "step")) {
		new_step(last_thing);
	} else if (!strcmp(verb, "gone")) {
		last_thing->now->gone = 1;
	} else if (!strcmp(verb, "attr")) {
		struct attrl **end = &last_thing->now->attribs;
		while (*end)
			end = &(*end)->next;
		*end = attribute(&line);
	} else if (!strcmp(verb, "fault")) { /* call, nth (0: each), error number, result, text (empty: none) */
		struct fault *one = grab(sizeof *one), **end = &faults;
		one->call = copy(word(&line));
		one->nth = atoi(word(&line));
		one->number = atoi(word(&line));
		one->result = atoi(word(&line));
		one->text = copy(word(&line));
		while (*end)
			end = &(*end)->next;
		*end = one;
	} else if (!strcmp(verb, "slow")) {
		struct delay *one = grab(sizeof *one);
		one->call = copy(word(&line));
		one->milliseconds = atoi(word(&line));
		one->next = delays;
		delays = one;
	} else if (!strcmp(verb, "refuse")) { /* code, text, then the attribute */
		refused.entries = realloc(refused.entries, sizeof(struct in_error) * (size_t)(refused.count + 1));
		struct in_error *one = &refused.entries[refused.count++];
		one->code = atoi(word(&line));
		one->text = copy(word(&line));
		one->attribute = attribute(&line);
	} else if (!strcmp(verb, "greet")) { /* printed on descriptor 2 by each connect, as pbs_iff does */
		greeting = copy(word(&line));
	} else {
		fprintf(stderr, "libpbs double: unknown command %s\n", verb);
		abort();
	}
}

static void load(void)
{
	const char *path = getenv("MAPLE_LIBPBS_SCENARIO");
	FILE *file = path ? fopen(path, "re") : NULL;
	char *line = NULL;
	size_t size = 0;
	ssize_t length;
	loaded = 1;
	while (file && (length = getline(&line, &size, file)) > 0) {
		if (line[length - 1] == '\n')
			line[length - 1] = 0;
		if (*line)
			command(line);
	}
	free(line);
	if (file)
		fclose(file);
	for (struct thing *one = things; one; one = one->next)
		one->now = one->steps;
}

static void say(int connection, const char *text)
{
	free(connections[connection].text);
	connections[connection].text = copy(text);
}

static void nap(const char *call)
{
	for (struct delay *one = delays; one; one = one->next)
		if (!strcmp(one->call, call)) {
			struct timespec time = {one->milliseconds / 1000, one->milliseconds % 1000 * 1000000L};
			nanosleep(&time, NULL);
		}
}

/* The fault that is planned for this time that *call* is made, or NULL. */
static struct fault *planned(const char *call)
{
	int count = 0;
	for (int i = 0; i < 32 && !count; i++)
		if (!counts[i].call || !strcmp(counts[i].call, call)) {
			counts[i].call = call;
			count = ++counts[i].count;
		}
	for (struct fault *one = faults; one; one = one->next)
		if (!strcmp(one->call, call) && (!one->nth || one->nth == count))
			return one;
	return NULL;
}

/* Enter a connection. Two threads inside of one at a time, or a process that did not open it, is a fault of the caller:
 * the real library frees twice then. Returns 0 where the connection is closed. */
static int enter(const char *call, int connection, const char *said)
{
	note("call %s %d %s\n", call, connection, said ? said : "");
	if (connection < 0 || connection >= CONNECTIONS) {
		number = PROTOCOL;
		return 0;
	}
	if (__atomic_add_fetch(&connections[connection].inside, 1, __ATOMIC_SEQ_CST) > 1)
		note("fault two threads in connection %d\n", connection);
	if (connections[connection].open && connections[connection].process != getpid())
		note("fault connection %d used after a fork\n", connection);
	nap(call);
	pthread_mutex_lock(&lock);
	if (!connections[connection].open)
		number = PROTOCOL;
	return connections[connection].open;
}

static void leave(int connection)
{
	if (connection >= 0 && connection < CONNECTIONS) {
		pthread_mutex_unlock(&lock);
		__atomic_sub_fetch(&connections[connection].inside, 1, __ATOMIC_SEQ_CST);
	}
}

/* Return 1 where a fault was planned: number and text are set as it says. */
static int strikes(const char *call, int connection, int *result)
{
	struct fault *one = planned(call);
	if (!one)
		return 0;
	number = one->number;
	if (one->text && *one->text)
		say(connection, one->text);
	*result = one->result;
	return 1;
}

int pbs_connect(const char *server)
{
	int result = -1;
	pthread_mutex_lock(&lock);
	if (!loaded)
		load();
	pthread_mutex_unlock(&lock);
	nap("connect");
	pthread_mutex_lock(&lock);
	note("call connect %s\n", server ? server : "");
	if (greeting && write(2, greeting, strlen(greeting)) < 0)
		abort();
	struct fault *one = planned("connect");
	if (one) {
		number = one->number;
		result = one->result;
	} else if (server && strstr(server, "nowhere")) {
		number = BAD_HOST;
	} else {
		for (result = 0; connections[result].open;)
			if (++result == CONNECTIONS)
				abort();
		connections[result].open = 1;
		connections[result].process = getpid();
		say(result, NULL);
	}
	pthread_mutex_unlock(&lock);
	return result;
}

int pbs_disconnect(int connection)
{
	int result = -1, ignored;
	if (enter("disconnect", connection, NULL) && !strikes("disconnect", connection, &ignored)) {
		connections[connection].open = 0;
		say(connection, NULL);
		result = 0;
	}
	leave(connection);
	return result;
}

/* Stale by design: what the last failure left, whatever was done since. */
char *pbs_geterrmsg(int connection)
{
	char *found = NULL;
	if (enter("geterrmsg", connection, NULL))
		found = connections[connection].text;
	leave(connection);
	return found;
}

struct all_in_error *pbs_get_attributes_in_error(int connection)
{
	(void)connection;
	return refused.count ? &refused : NULL;
}

static struct batch_status *status(const char *name, const struct attrl *from)
{
	struct batch_status *one = grab(sizeof *one);
	one->name = copy(name);
	struct attrl **end = &one->attribs;
	for (; from; from = from->next) {
		struct attrl *to = *end = grab(sizeof *to);
		to->name = copy(from->name);
		to->resource = copy(from->resource);
		to->value = copy(from->value);
		end = &to->next;
	}
	return one;
}

void pbs_statfree(struct batch_status *one)
{
	if (one)
		__atomic_sub_fetch(&live, 1, __ATOMIC_SEQ_CST);
	while (one) {
		struct batch_status *next = one->next;
		for (struct attrl *at = one->attribs, *after; at; at = after) {
			after = at->next;
			free(at->name);
			free(at->resource);
			free(at->value);
			free(at);
		}
		free(one->name);
		free(one->text);
		free(one);
		one = next;
	}
}

static struct batch_status *out(struct batch_status *list)
{
	if (list)
		__atomic_add_fetch(&live, 1, __ATOMIC_SEQ_CST);
	return list;
}

static const char *value(const struct attrl *list, const char *name)
{
	for (; list; list = list->next)
		if (!strcmp(list->name, name))
			return list->value;
	return "";
}

/* `30` means 30.pbs01, and 39[2] means 39[2].pbs01. */
static int same(const char *asked, size_t length, const char *full)
{
	return !strncmp(asked, full, length) && (!full[length] || (full[length] == '.' && !memchr(asked, '.', length)));
}

/* The job as it is now; each look moves it on by one step, and the last step stays. */
static struct step *look(struct thing *job)
{
	if (job->asked++ && job->now->next)
		job->now = job->now->next;
	return job->now->gone ? NULL : job->now;
}

struct batch_status *pbs_statjob(int connection, const char *ids, struct attrl *wanted, const char *extend)
{
	struct batch_status *first = NULL, **end = &first;
	int ignored, single = !strchr(ids, ','), history = extend && strchr(extend, 'x') != NULL;
	(void)wanted;
	if (!enter("statjob", connection, ids) || strikes("statjob", connection, &ignored)) {
		leave(connection);
		return NULL;
	}
	if (*ids && (*ids < '0' || *ids > '9')) {
		number = UNKNOWN_QUEUE;
		say(connection, "Unknown queue");
	}
	for (struct thing *job = things; job && !number; job = job->next) {
		int meant = !*ids;
		for (const char *at = ids; job->kind == 'j' && *at && !meant; at += strcspn(at, ","), at += *at == ',')
			meant = same(at, strcspn(at, ","), job->name);
		struct step *now = job->kind == 'j' && meant ? look(job) : NULL;
		if (now && !history && !strcmp(value(now->attribs, "job_state"), "F")) {
			if (single && *ids) {
				number = ENDED;
				say(connection, "Job has finished");
			}
		} else if (now) {
			*end = status(job->name, now->attribs);
			end = &(*end)->next;
		}
	}
	if (!first && !number && single && *ids) {
		number = UNKNOWN_JOB;
		say(connection, "Unknown Job Id");
	}
	leave(connection);
	return out(first);
}

struct batch_status *pbs_selstat(int connection, struct attrl *criteria, struct attrl *wanted, const char *extend)
{
	struct batch_status *first = NULL, **end = &first;
	int ignored, history = extend && strchr(extend, 'x') != NULL;
	(void)wanted;
	char said[256] = "";
	if (criteria)
		snprintf(said, sizeof said, "%s=%s", criteria->name, criteria->value);
	if (enter("selstat", connection, said) && !strikes("selstat", connection, &ignored))
		for (struct thing *job = things; job; job = job->next) {
			struct step *now = job->kind == 'j' ? look(job) : NULL;
			if (!now || (!history && !strcmp(value(now->attribs, "job_state"), "F")))
				continue;
			const char *owner = value(now->attribs, "Job_Owner");
			size_t length = strcspn(owner, "@");
			int fits = !criteria || (!strcmp(criteria->name, "User_List") && criteria->op == 4
						 && strlen(criteria->value) == length && !strncmp(owner, criteria->value, length));
			if (fits) {
				*end = status(job->name, now->attribs);
				end = &(*end)->next;
			}
		}
	leave(connection);
	return out(first);
}

static struct batch_status *all(const char *call, int connection, char kind, const char *name)
{
	struct batch_status *first = NULL, **end = &first;
	int ignored;
	if (enter(call, connection, name) && !strikes(call, connection, &ignored))
		for (struct thing *one = things; one; one = one->next)
			if (one->kind == kind && (!name || !*name || !strcmp(name, one->name))) {
				*end = status(one->name, one->now->attribs);
				end = &(*end)->next;
			}
	leave(connection);
	return out(first);
}

struct batch_status *pbs_statserver(int connection, struct attrl *wanted, const char *extend)
{
	(void)wanted, (void)extend;
	return all("statserver", connection, 's', NULL);
}

struct batch_status *pbs_statque(int connection, const char *name, struct attrl *wanted, const char *extend)
{
	(void)wanted, (void)extend;
	return all("statque", connection, 'q', name);
}

struct batch_status *pbs_statnode(int connection, const char *name, struct attrl *wanted, const char *extend)
{
	(void)wanted, (void)extend;
	return all("statnode", connection, 'n', name);
}

/* A change of one job. An unknown id leaves no text, as measured for pbs_deljob. */
static int change(const char *call, int connection, const char *id, const char *said)
{
	int result = 0;
	if (!enter(call, connection, said)) {
		leave(connection);
		return 0; /* as measured: 0, and only the number tells */
	}
	if (!strikes(call, connection, &result)) {
		struct thing *job = things;
		while (job && (job->kind != 'j' || job->now->gone || !same(id, strlen(id), job->name)))
			job = job->next;
		if (!job)
			result = number = UNKNOWN_JOB;
		else if (!strcmp(value(job->now->attribs, "job_state"), "F"))
			result = number = ENDED;
		if (result)
			say(connection, NULL);
	}
	leave(connection);
	return result;
}

int pbs_alterjob(int connection, const char *id, struct attrl *changes, const char *extend)
{
	char said[2048];
	size_t at = (size_t)snprintf(said, sizeof said, "%s", id);
	(void)extend;
	for (; changes && at < sizeof said; changes = changes->next)
		at += (size_t)snprintf(said + at, sizeof said - at, " %s.%s=%s op %d", changes->name,
				       changes->resource ? changes->resource : "", changes->value, changes->op);
	return change("alterjob", connection, id, said);
}

int pbs_deljob(int connection, const char *id, const char *extend)
{
	(void)extend;
	return change("deljob", connection, id, id);
}

int pbs_sigjob(int connection, const char *id, const char *signal, const char *extend)
{
	char said[256];
	(void)extend;
	snprintf(said, sizeof said, "%s %s", id, signal);
	return change("sigjob", connection, id, said);
}
