"""A case by a job's id: every source is asked, and what they tell is put together.

What a user types for a job, and the id that its scheduler knows.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, Optional

from ...ask.schedulers import choose
from ...ask.schedulers.pbs import jobs as pbs_ids
from ...ask.schedulers.protocol import Job, JobState, Scheduler, SchedulerError
from ...ask.schedulers.slurm import jobs as slurm_ids
from ...ask.submission import source_of
from ...base.complaint import Complaint
from ..values import Case
from . import refusals
from .cases import case_of
from .offline import by_files, log_files
from .sources import from_accounting, from_memory, from_pbs, from_slurm, job_facts
from .sources.from_slurm import Commands
from .sources.job_facts import JobFacts, of_job, together

_ANY = re.compile(r"\d[\w.\[\]+-]{0,200}", re.ASCII)
_WAITING = re.compile(r"(\d+)_\[[^\]]*\]", re.ASCII)  # tasks that wait, as squeue prints them together
_STEP = re.compile(r"(\d+(?:[_+]\d+)?)\.(\d+|batch|extern|interactive)", re.ASCII)
_CLUSTER = re.compile(r"(.*);([\w.-]+)", re.ASCII)  # sbatch --parsable

MOST_TASKS = 8  # tasks of an array whose output is read
MOST_ASKED = 5000  # tasks that are asked for, to find those that failed
MOST_APART = 3600.0  # seconds between two submissions that are taken for one: schedulers use ids again
_REMEDY = "name its files: maple-fix --log FILE --script FILE"


def by_job(
    job_id: str,
    *,
    site_id: Optional[str] = None,
    logs: Sequence[str] = (),
    script: Optional[str] = None,
    words: Sequence[str] = (),
    environ: Optional[Mapping[str, str]] = None,
    scheduler: Optional[Scheduler] = None,
) -> Case:
    """Return what is known of the caller's own job: Maple's record, then the scheduler, then the files.

    *logs*, *script*: files that the user names besides; *words* of the submit command before that script. *environ*:
    where the scheduler's commands are looked for, our own by default. *scheduler*: who is asked, the one of this
    machine by default. Raises `Complaint` in one line for another user's job, and where nothing at all is known of it.
    A submission that the scheduler refused is named by its own id.
    """
    if refusals.is_submission(job_id):
        return refusals.by_submission(job_id, site_id)
    environ = os.environ if environ is None else environ
    reachable, why = _scheduler(scheduler, environ)
    asked, step, wrong_id = named_job(job_id, reachable)
    remembered = from_memory.remembered(asked)
    facts, others = None, []  # type: Optional[JobFacts], list[JobFacts]
    if wrong_id:
        facts = JobFacts(missing=(wrong_id,))
    elif reachable is not None:
        facts, others = _scheduled(asked, reachable, Commands(environ))
    if facts is not None and remembered is not None and _apart(facts, remembered):
        remembered = None
    if facts is not None and remembered is not None and remembered.argv is not None:
        facts = replace(facts, argv=None)  # Maple knows them word by word
    known = [source for source in (facts, remembered) if source is not None]
    if not any(source.knows for source in known):
        says = [
            why,
            *(line for source in known for line in source.missing),
            "neither Maple nor the scheduler knows this job",
        ]
        return _by_name(asked, next(filter(None, says)), logs, script, site_id, words)
    whole = together(known)
    files, wrong = log_files(logs)
    whole = replace(whole, missing=(*wrong, *whole.missing, *((why,) if why else ())))
    if step:
        whole = replace(whole, notes=(*whole.notes, "of the whole job, step %s among them" % step))
    return case_of(_named(whole, script, words), site_id, others, files)


def _by_name(
    asked: str, why: str, logs: Sequence[str], script: Optional[str], site_id: Optional[str], words: Sequence[str]
) -> Case:
    """Return the case of files here that are called after a job that nobody knows. Raises `Complaint` for none."""
    files = logs_of(asked)
    if not files and not logs:
        raise Complaint("job %s: %s" % (asked, why), _REMEDY)
    case = by_files([*logs, *files], script, site_id, words)
    note = "%s; reading files with that number in this folder" % why if files else why
    return replace(case, ended=replace(case.ended, id=asked), notes=(note, *case.notes))


def _named(facts: JobFacts, script: Optional[str], words: Sequence[str]) -> JobFacts:
    """Return *facts* with the script that the user names, and the words before it."""
    command = b"qsub" if facts.scheduler == "pbs" else b"sbatch"
    if script is not None:
        path = "" if script == "-" else os.path.abspath(script)
        facts = replace(facts, script=source_of(script), path=path, argv=None)
    if words or (script is not None and facts.argv is not None):
        named = (os.fsencode(facts.path),) if facts.path else ()
        facts = replace(facts, exact=True, argv=(command, *(os.fsencode(word) for word in words), *named))
    return facts


def _scheduler(given: Optional[Scheduler], environ: Mapping[str, str]) -> tuple[Optional[Scheduler], str]:
    """Return who is asked, or None and why nobody is."""
    if given is not None:
        return given, ""
    try:
        return choose(environ=environ), ""
    except SchedulerError as error:
        return None, "no scheduler could be asked: %s" % error.text


def _apart(facts: JobFacts, remembered: JobFacts) -> bool:
    """Return whether the record is of an earlier job that had the same id."""
    if facts.submitted is None or remembered.submitted is None:
        return False
    return abs(facts.submitted - remembered.submitted) > MOST_APART


def _scheduled(asked: str, scheduler: Scheduler, commands: Commands) -> tuple[Optional[JobFacts], list[JobFacts]]:
    """Return what the scheduler tells, and of an array the other tasks that failed; None where it knows nothing."""
    try:
        job = scheduler.jobs([asked])[asked]
    except SchedulerError as error:
        return JobFacts(missing=("%s was not asked: %s" % (scheduler.name, error.text),)), []
    if scheduler.name == "pbs":
        return _of_pbs(asked, job, scheduler)
    return _of_slurm(asked, job, scheduler, commands)


def _of_pbs(asked: str, job: Job, scheduler: Scheduler) -> tuple[Optional[JobFacts], list[JobFacts]]:
    if job.state is JobState.VANISHED and "[" not in asked:
        array = re.sub(r"^\d+", r"\g<0>[]", asked)  # 39 may be an array, which PBS knows as 39[]
        job = scheduler.jobs([array])[array]
    if job.state is JobState.VANISHED:
        says = "PBS does not know this job: its history has expired, or no queue accepted it after routing"
        return JobFacts(by="PBS", scheduler="pbs", id=asked, missing=(says,)), []
    if not job.attributes:
        return JobFacts(
            by="PBS", scheduler="pbs", id=asked, missing=("PBS was asked for this job, and said nothing",)
        ), []
    owner = job_facts.check_owner(asked, job.owner)
    whole = _array_of(job, scheduler)
    tasks = _subjobs(job, scheduler)
    facts = replace(from_pbs.ask(from_pbs.of_array(tasks[0] if tasks else job, whole)), owner=owner)
    if not tasks:
        return facts, []
    facts = replace(facts, notes=(*facts.notes, _of_array(tasks, facts.index)))
    return facts, [replace(from_pbs.ask(task), owner=owner) for task in tasks[1:MOST_TASKS]]


def _array_of(job: Job, scheduler: Scheduler) -> Job:
    """Return the array that a task is of: what was submitted is told of it alone; the job itself where it is none."""
    if job.array_id is None or job.array_index is None:
        return job
    try:
        return scheduler.jobs([job.array_id])[job.array_id]
    except SchedulerError:
        return job


def _subjobs(job: Job, scheduler: Scheduler) -> list[Job]:
    """Return the subjobs of an array that failed, the first one first."""
    if job.array_id is None or job.array_index is not None:
        return []
    indices = _indices(job.attributes.get("array_indices_submitted", ""))
    names = [job.id.replace("[]", "[%d]" % index) for index in indices[:MOST_ASKED]]
    try:
        jobs = [task for task in scheduler.jobs(names).values() if task.attributes]
    except SchedulerError:
        return []
    return from_slurm.failed_first(jobs) if jobs else []


def _indices(text: str) -> list[int]:
    """Return the indices of `1-9:2` or `1,3,5-7`."""
    out: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d{1,7})(?:-(\d{1,7})(?::(\d{1,6}))?)?", part.strip(), re.ASCII)
        if match:
            low, high, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
            out += range(low, min(high, low + 100_000) + 1, max(1, step))
    return out


def _of_slurm(
    asked: str, job: Job, scheduler: Scheduler, commands: Commands
) -> tuple[Optional[JobFacts], list[JobFacts]]:
    owner = job_facts.check_owner(asked, job.owner) if job.state is not JobState.VANISHED else None
    tasks = _tasks(asked, job, scheduler)
    chosen = tasks[0] if tasks else job
    accounted = from_accounting.ask(chosen.id, commands)
    if accounted is not None and accounted.owner is not None:
        job_facts.check_owner(asked, str(accounted.owner))
    if job.state is JobState.VANISHED and accounted is None:
        says = (
            "Slurm does not know this job: its controller has forgotten it, accounting has no record or does not answer"
        )
        return JobFacts(by="Slurm", scheduler="slurm", missing=(says, *commands.late)), []
    known = [] if chosen.state is JobState.VANISHED else [from_slurm.ask(chosen, commands)]
    if accounted is not None and accounted.failed_steps:
        known = [replace(source, failed_steps=()) for source in known]  # accounting names the steps
    facts = together([*known, *([accounted] if accounted is not None else [])])
    facts = replace(facts, owner=owner if owner is not None else facts.owner)
    if facts.script is None:
        facts = replace(facts, script=from_accounting.script(chosen.id, commands))
    facts = replace(facts, missing=(*facts.missing, *commands.late))
    if "+" in chosen.id:
        facts = _with_first(facts, tasks, scheduler)
    if not tasks:
        return facts, []
    facts = replace(facts, notes=(*facts.notes, _of_array(tasks, chosen.array_index)))
    others = [replace(of_job(task, "Slurm"), owner=owner) for task in tasks[1:MOST_TASKS]]
    return facts, others


def _with_first(facts: JobFacts, parts: Sequence[Job], scheduler: Scheduler) -> JobFacts:
    """Return a part of a heterogeneous job with the output of the first part: that one alone runs the script."""
    first = facts.id.partition("+")[0] + "+0"
    try:
        known = next((job for job in parts if job.id == first), None) or scheduler.jobs([first])[first]
    except SchedulerError:
        return facts
    return replace(facts, stdout=known.stdout, stderr=known.stderr) if known.stdout else facts


def _tasks(asked: str, job: Job, scheduler: Scheduler) -> list[Job]:
    """Return the tasks of an array, or the parts of a heterogeneous job, that failed; the first one first."""
    names = job.attributes.get("tasks", "").split()[:MOST_ASKED]
    if job.id != asked or not names:
        return []
    try:
        tasks = scheduler.jobs(names)
    except SchedulerError:
        return []
    return from_slurm.failed_first([tasks[name] for name in names if tasks[name].state is not JobState.VANISHED])


def _of_array(tasks: Sequence[Job], index: Optional[int]) -> str:
    """Return how many tasks failed, and which one is looked at."""
    which = "task %d" % index if index is not None else "the first part"
    of = "task%s of the array" if index is not None else "part%s of the heterogeneous job"
    failed = [job for job in tasks if job.ending is not None and job.ending.exit_code != 0]
    if not failed:
        return "no %s failed; this is %s" % (of % "", which)
    if len(failed) == 1:
        return "one %s failed: %s" % (of % "", which)
    return "%d %s failed; this is %s, the first of them" % (len(failed), of % "s", which)


# The last source: files in the current folder that are called after the job.

MOST_LOOKED_AT = 20_000  # names
MOST = 16  # files
_RANK = re.compile(r"(?:rank|proc|task|worker|node|gpu|step|epoch)[._-]?\d+", re.IGNORECASE | re.ASCII)


def logs_of(job_id: str) -> list[str]:
    """Return the caller's own files here whose names hold the job's number: `slurm-4711.out`, `train.e4711`.

    The newest first. A task of an array needs its index too: `4711_3`, and `.o39.3` for `39[3]` of PBS. A number behind
    another is the index of that one's task (`slurm-4_3.out` is not of job 3), and behind `rank` a rank.
    """
    match = re.match(r"(\d+)(?:[_+](\d+)|\[(\d+)\])?", job_id, re.ASCII)
    if match is None:
        return []
    index = match[2] or match[3]
    number = r"(?<!\d)(?<!\d[_.+-])%s%s(?!\d)" % (match[1], r"[_.-]%s" % index if index else "")
    wanted = re.compile(r".*\.[oe]%s|.*%s.*\.(?:out|err|log|txt|OU|ER)" % (number, number), re.DOTALL)
    return [path for _, path in sorted(_own(wanted), reverse=True)[:MOST]]


def _own(wanted: re.Pattern[str]) -> list[tuple[float, str]]:
    out: list[tuple[float, str]] = []
    try:
        with os.scandir(".") as entries:
            for count, entry in enumerate(entries):
                if count >= MOST_LOOKED_AT:
                    break
                if wanted.fullmatch(_RANK.sub("", entry.name)):
                    facts = entry.stat()
                    if stat.S_ISREG(facts.st_mode) and facts.st_uid == os.geteuid():
                        out.append((facts.st_mtime, entry.name))
    except OSError:
        return out
    return out


class Named(NamedTuple):
    """A job by its id. *step*: the one that was named, "" for none. *wrong*: why the scheduler cannot know it."""

    job: str
    step: str = ""
    wrong: str = ""


def named_job(text: str, scheduler: Optional[Scheduler]) -> Named:
    """Return which job is meant. Raises `Complaint` for what is no id at all, and for a job of another cluster."""
    asked = text.strip()
    match = _CLUSTER.fullmatch(asked)
    job = _WAITING.sub(r"\1", match[1] if match else asked)
    if not _ANY.fullmatch(job):
        raise Complaint("%s: is no job id" % asked[:200], "it looks like 4711, 4711_3, 4711+1, or 123.server")
    if match:
        _of_this(match[2], asked, scheduler)
    if scheduler is not None and scheduler.name == "pbs":
        return Named(job, wrong="" if pbs_ids.is_id(job) else "PBS has no such ids: they look like 123.server, 123[4]")
    step = _STEP.fullmatch(job)
    if step:
        return Named(step[1], step[2])
    wrong = scheduler is not None and not slurm_ids.JOB_ID.fullmatch(job)
    return Named(job, wrong="Slurm has no such ids: they look like 4711, 4711_3, 4711+1" if wrong else "")


def _of_this(cluster: str, asked: str, scheduler: Optional[Scheduler]) -> None:
    """Raises `Complaint` where a job is of another cluster than the one whose scheduler is asked."""
    if scheduler is None:
        return
    try:
        here = scheduler.server().name
    except SchedulerError as error:
        raise Complaint("job %s: cluster not known: %s" % (asked, error.text), "name the job without it") from None
    if here != cluster:
        raise Complaint("job %s is of cluster %s, and this is %s" % (asked, cluster, here), "ask there")
