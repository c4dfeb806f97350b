"""Asking the scheduler, where no hook tells: one question for all jobs that are not known to have ended, seldom."""

from __future__ import annotations

import pwd
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from maple_agents.ask.schedulers import SchedulerError, choose
from maple_agents.ask.schedulers.protocol import Job, JobState
from maple_submit_filter.types.job_records import Outcome, Record

from ..base.log import log
from . import scheduler_words as outcomes

FORGOTTEN = 600.0  # seconds after which a job that the scheduler does not know is none that comes yet


class Asked(Protocol):
    """As much of a `Scheduler` as is needed here."""

    @property
    def name(self) -> str:
        """Return `pbs` or `slurm`."""

    def jobs(self, ids: Sequence[str]) -> dict[str, Job]:
        """Return a job for each id, in one question."""


class Polling:
    """*seconds* between two questions. *scheduler* makes the adapter when it is first needed."""

    def __init__(self, seconds: float, scheduler: Callable[[], Asked] = choose) -> None:
        self.seconds = seconds
        self._choose, self._scheduler = scheduler, None  # type: Callable[[], Asked], Asked | None
        self._said = ""

    def ask(self, records: Sequence[Record]) -> list[Outcome]:
        """Return what became of the jobs of these records; raises nothing, what cannot be asked is said."""
        if not records:
            return []
        try:
            if self._scheduler is None:
                self._scheduler = self._choose()
            jobs = self._scheduler.jobs(list(dict.fromkeys(one.job for one in records)))
        except (SchedulerError, OSError, ValueError) as error:
            self._say(str(error))
            return []
        self._say("")
        found = (told(one, jobs.get(one.job), self._scheduler.name, time.time()) for one in records)
        return [one for one in found if one is not None]

    def _say(self, why: str) -> None:
        if why and why != self._said:
            log().warning("the scheduler was not asked", why=why)
        self._said = why


def told(record: Record, job: Job | None, scheduler: str, now: float) -> Outcome | None:
    """Return the outcome where it says more than was known; None for a job of somebody else's that has the same id."""
    if job is None or not _is_of(job, record.uid):
        return None
    if job.state is JobState.VANISHED:
        if now - record.at < FORGOTTEN:
            return None
        return Outcome(record.job, "unknown", record.uid, "%s, asked" % scheduler)
    made = outcomes.of_job(job, record.uid, "%s, asked" % scheduler)
    if made is None or (record.outcome is not None and record.outcome.state == made.state):
        return None
    return made._replace(job=record.job)


def _is_of(job: Job, uid: int) -> bool:
    """Schedulers use ids again. A job that vanished has no owner any more."""
    if not job.owner:
        return True
    try:
        return pwd.getpwnam(job.owner).pw_uid == uid
    except KeyError:
        return job.owner == str(uid)
