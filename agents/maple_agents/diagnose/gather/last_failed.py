"""Which of the caller's own jobs failed last: Maple's memory is asked, the scheduler, and its accounting."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple, Optional

from ...ask.memory.service import OF_VERIFY, STATES, failure_of, whole
from ...ask.schedulers import choose
from ...ask.schedulers.commands import Worker
from ...ask.schedulers.protocol import Job, Scheduler, SchedulerError, of_ending, state_of
from ...ask.schedulers.slurm import tables as slurm_tables
from ...ask.schedulers.slurm.jobs import ending
from ...base import quantities
from .sources import job_facts
from .sources.commands import Commands

DAYS = 14  # that accounting is asked for
SECONDS = 10.0  # for each of the sources
MOST_RECORDS = 200  # submissions that are looked through
_FIELDS = ("JobID", "JobName", "State", "ExitCode", "End", "SubmitLine")
_STATES = "F,TO,OOM,NF,BF,DL"  # job state codes of sacct(1) that Maple calls by one of STATES
_INTERACTIVE = ("srun", "salloc")


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
