"""Which job is meant where no id is said: the caller's own that failed last, or the one that a named log is of.

Maple's memory is asked, the scheduler, and its accounting.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, Optional

from ...ask.memory.service import OF_VERIFY, STATES, failure_of, whole
from ...ask.schedulers import choose
from ...ask.schedulers.commands import Worker
from ...ask.schedulers.protocol import Job, Scheduler, SchedulerError, of_ending, state_of
from ...ask.schedulers.slurm import tables as slurm_tables
from ...ask.schedulers.slurm.jobs import ending
from ...base import quantities
from ..values import Case
from . import places
from .sources import from_memory, job_facts, submission
from .sources.from_slurm import Commands
from .sources.job_facts import JobFacts, how_it_ended

DAYS = 14  # that accounting is asked for
SECONDS = 10.0  # for each of the sources
MOST_RECORDS = 200  # submissions that are looked through
_FIELDS = ("JobID", "JobName", "State", "ExitCode", "End", "SubmitLine")
_STATES = "F,TO,OOM,NF,BF,DL"  # job state codes of sacct(1) that Maple calls by one of STATES
_INTERACTIVE = ("srun", "salloc")
MOST = 2  # numbers in a name that are tried as ids
_NUMBER = re.compile(r"\d{1,12}(?:_\d{1,9})?", re.ASCII)


class Last(NamedTuple):
    """A job that failed. *job*: of an array the whole array's id. *state*: one of `service.STATES`.

    *ended*: seconds since 1970, None not known.
    """

    job: str
    name: str
    state: str
    ended: Optional[float]


def last_failed(environ: Optional[Mapping[str, str]] = None, scheduler: Optional[Scheduler] = None) -> Optional[Last]:
    """Return the caller's batch job that failed last, as far as anybody knows; None where none is known.

    Jobs that somebody cancelled or that were preempted did not fail; those of `maple verify` are nobody's. *environ*:
    where the scheduler's commands are looked for, our own by default. *scheduler*: who is asked, the one of this
    machine by default. Raises nothing.
    """
    environ = os.environ if environ is None else environ
    lasts = [*_within(_remembered), *_scheduled(environ, scheduler)]
    return max((last for last in lasts if not OF_VERIFY.fullmatch(last.name)), key=_when, default=None)


def _when(last: Last) -> tuple[float, int]:
    """Return what puts jobs in order; of two that ended in the same second the one that was submitted last is later."""
    number = re.match(r"\d{1,18}", last.job, re.ASCII)
    return last.ended or 0.0, int(number[0]) if number else 0


def _scheduled(environ: Mapping[str, str], scheduler: Optional[Scheduler]) -> list[Last]:
    try:
        asked = choose(environ=environ) if scheduler is None else scheduler
    except SchedulerError:
        return []
    user = job_facts.name_of(os.geteuid())
    lasts = _within(lambda: _of_jobs(asked.jobs_of(user, ended=True)))
    return [*lasts, *_within(lambda: _accounted(user, Commands(environ)))] if asked.name == "slurm" else lasts


def _within(source: Callable[[], Iterable[Last]]) -> list[Last]:
    """Return what a source tells in time; one that is late, missing or wrong tells of no job."""
    try:
        return Worker("looking for the last job that failed").call(lambda: list(source()), SECONDS)
    except Exception:  # nobody asked for this very job: there is nothing to complain of
        return []


def _remembered() -> Iterator[Last]:
    from ...ask.memory.versions import records

    for record in records(limit=MOST_RECORDS):
        failure = failure_of(record.outcome) if record.job and record.outcome is not None else None
        if failure is not None:
            yield Last(failure.job, failure.name, failure.state, failure.ended or None)


def _of_jobs(jobs: Iterable[Job]) -> Iterator[Last]:
    for job in jobs:
        state = state_of(job)
        if state in STATES and not _is_interactive(job):
            yield Last(whole(job.id), job.name, state, job.ended)


def _is_interactive(job: Job) -> bool:
    """Return whether its output went to a terminal, where it was read: Slurm's BatchFlag, PBS's interactive."""
    attributes = job.attributes
    return attributes.get("BatchFlag") == "0" or attributes.get("interactive", "").lower() in ("true", "1")


def _accounted(user: str, commands: Commands) -> Iterator[Last]:
    known = commands.ask("sacct", ["--helpformat"])
    names = [name for name in _FIELDS if known is not None and name in known.out.split()]
    if "JobID" not in names or "State" not in names:
        return
    mark = slurm_tables.mark()
    window = ["-S", "now-%ddays" % DAYS, "-E", "now"]  # with -s the end is the start, where it is not said
    words = ["-X", "-n", "-p", "--delimiter=" + mark, "-u", user, *window, "-s", _STATES]
    answer = commands.ask("sacct", [*words, "--format=" + ",".join(names)])
    for row in slurm_tables.parsable(answer.out, names, mark) if answer is not None and not answer.code else ():
        state = of_ending(ending(row["State"], row.get("ExitCode")))
        if state in STATES and _command(row.get("SubmitLine", "")) not in _INTERACTIVE:
            yield Last(whole(row["JobID"]), row.get("JobName", ""), state, quantities.epoch(row.get("End")))


def _command(line: str) -> str:
    return line.partition(" ")[0].rpartition("/")[2]


def with_submitted(case: Case, logs: Sequence[str], site_id: Optional[str]) -> Case:
    """Return the case with the script of the job that *logs* are of, where the service remembers one of the caller's.

    A number in a name is believed to be the job's id only where the log lies where that job wrote: ids repeat.
    """
    facts = next((job for log in logs for job in _jobs(log)), None)
    if facts is None or facts.script is None:
        return case
    site, known_by = places.site_for(facts, site_id)
    known = how_it_ended(facts)
    ended = known if case.ended.state == "unknown" else replace(case.ended, id=known.id)
    note = "job %s by the name of its log; its script is the one that Maple saw at the submission" % facts.id
    return replace(
        case,
        ended=ended,
        scheduler=facts.scheduler or site.scheduler,
        site=site,
        site_known_by=known_by,
        asked=submission.asked(facts, site),
        name=os.path.basename(facts.path) or facts.name,
        before=facts.before,
        notes=(note, *case.notes),
    )


def _jobs(log: str) -> list[JobFacts]:
    """Return the remembered jobs that may have written *log*."""
    jobs = [from_memory.remembered(number) for number in _NUMBER.findall(os.path.basename(log))[:MOST]]
    return [job for job in jobs if job is not None and _wrote(job, os.path.realpath(log))]


def _wrote(facts: JobFacts, log: str) -> bool:
    own = [os.path.realpath(path) for path in (facts.stdout, facts.stderr) if path]
    return log in own or bool(facts.work_dir) and os.path.realpath(facts.work_dir) == os.path.dirname(log)
