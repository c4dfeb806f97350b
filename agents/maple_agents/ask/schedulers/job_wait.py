"""Waits for jobs without polling hard: one question for all of them, less and less often."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from .protocol import Job, JobState, Scheduler, SchedulerError


class Pace(NamedTuple):
    """Seconds between two questions: *first*, then *growth* times as long until *slowest*; a change begins anew."""

    first: float = 1.0
    growth: float = 1.6
    slowest: float = 30.0


_PACE = Pace()


def wait(
    scheduler: Scheduler,
    ids: Sequence[str],
    deadline: float,
    pace: Pace = _PACE,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> dict[str, Job]:
    """Return each job as it was seen last: when all are over, or at *deadline* (a time of *clock*), whatever they are.

    Raises the scheduler's last `SchedulerError` if there was never an answer.
    """
    seen: dict[str, Job] = {}
    for asked, job in changes(scheduler, ids, deadline, pace, clock=clock, sleep=sleep):
        seen[asked] = job
    return seen


def changes(
    scheduler: Scheduler,
    ids: Sequence[str],
    deadline: float,
    pace: Pace = _PACE,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[tuple[str, Job]]:
    """Yield each id with its job when first seen and whenever its state is another, until all are over or *deadline*.

    A job must be missed twice to have vanished: between two of a scheduler's places it is in neither. An error that may
    pass is waited out; any other, and one that is left at the deadline with no answer at all, is raised.
    """
    watch = _Watch(scheduler, ids)
    pause = 0.0
    while True:
        changed = watch.look()
        yield from changed
        left = deadline - clock()
        if not watch.open or left <= 0:
            break
        pause = pace.first if changed or not pause else min(pause * pace.growth, pace.slowest)
        sleep(min(pause, left))
    if watch.error is not None and not watch.seen:
        raise watch.error


class _Watch:
    """The jobs that are not over yet, and how they were seen last."""

    def __init__(self, scheduler: Scheduler, ids: Sequence[str]) -> None:
        self.scheduler = scheduler
        self.open = list(dict.fromkeys(ids))
        self.seen: dict[str, Job] = {}
        self.error: SchedulerError | None = None
        self._missed: set[str] = set()

    def look(self) -> list[tuple[str, Job]]:
        """Ask once for all that is open, and return what is another than before."""
        if not self.open:
            return []
        try:
            answer = self.scheduler.jobs(self.open)
        except SchedulerError as error:
            if not error.transient:
                raise
            self.error = error
            return []
        news = [(job_id, answer[job_id]) for job_id in self.open if self._is_news(job_id, answer[job_id])]
        self.seen.update(news)
        self.open = [job_id for job_id in self.open if job_id not in self.seen or not self.seen[job_id].over]
        return news

    def _is_news(self, asked: str, job: Job) -> bool:
        if job.state is JobState.VANISHED and asked not in self._missed:
            self._missed.add(asked)
            return False
        self._missed.discard(asked)
        before = self.seen.get(asked)
        return before is None or (before.state, before.raw_state) != (job.state, job.raw_state)
