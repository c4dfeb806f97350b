"""From the submission to the verdict's facts: what ranks report, and what the scheduler says, without polling hard.

Signals while a verification runs: they end it in order, and never between a submission and its job's id.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from ...ask.schedulers import Job, JobState, Pace, Scheduler, SchedulerError
from ...ask.verified_runs import Interrupted
from .facts import Fact, Inbox

NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

Facts = Mapping[str, Sequence[Fact]]  # by entry
FILES = Pace(0.05, 1.3, 1.0)  # looks into a folder
QUESTIONS = Pace(1.0, 1.6, 20.0)  # to the scheduler


class Until(StrEnum):
    """Why the waiting ended."""

    REPORTED = "reported"  # everything that was expected has come, or nothing more can
    OVER = "over"  # the job is over
    LATE = "late"  # it ran, and not everything came in time
    QUEUED = "queued"  # it did not start in time


@dataclass(frozen=True)
class Limits:
    """Seconds: to wait for the start, for everything once it runs, and for the rest once a rank has failed."""

    queue: float
    run: float
    after_failure: float


@dataclass
class Watched:
    """What came of a job. Times are seconds since the submission by our clock; None: it did not come to that."""

    until: Until = Until.LATE
    facts: dict[str, list[Fact]] = field(default_factory=dict)
    job: Job | None = None
    began: float | None = None  # when it was first seen to run
    reported: float | None = None  # when the last report came
    ended: float = 0.0


def watch(
    scheduler: Scheduler,
    job_id: str,
    inboxes: Mapping[str, Inbox],
    complete: Callable[[Facts], bool],
    limits: Limits,
    tell: Callable[[Watched], None] = lambda _: None,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Watched:
    """Return what was seen when *complete* holds of the facts, the job is over, or a limit is reached.

    *tell* hears of every change. A scheduler that cannot be asked for a while is waited for: the ranks' own files go
    on telling. Raises `SchedulerError` only where it never answered and no rank ever reported.
    """
    return _Watch(scheduler, job_id, inboxes, complete, limits, tell, clock, sleep).run()


class _Watch:
    def __init__(
        self,
        scheduler: Scheduler,
        job_id: str,
        inboxes: Mapping[str, Inbox],
        complete: Callable[[Facts], bool],
        limits: Limits,
        tell: Callable[[Watched], None],
        clock: Callable[[], float],
        sleep: Callable[[float], None],
    ) -> None:
        self.scheduler, self.job_id, self.inboxes, self.complete = scheduler, job_id, inboxes, complete
        self.limits, self.tell, self.clock, self.sleep = limits, tell, clock, sleep
        self.seen = Watched()
        self.submitted = clock()
        self.failed: float | None = None
        self.error: SchedulerError | None = None
        self.missed = 0
        self.ask_at, self.pause = self.submitted + QUESTIONS.first, QUESTIONS.first

    def run(self) -> Watched:
        pause = FILES.first
        while True:
            began = self.clock()
            news = self._look()
            busy = self.clock() - began
            if self.clock() >= self.ask_at:
                news = self._ask() or news
            if news:
                pause = FILES.first
                self.tell(self.seen)
            until = self._until()
            if until is not None:
                return self._ended(until)
            self.sleep(
                max(pause, 4 * busy)
            )  # ten thousand files on a parallel file system are not looked through often
            pause = min(pause * FILES.growth, FILES.slowest)

    def _now(self) -> float:
        return self.clock() - self.submitted

    def _look(self) -> bool:
        """Read the ranks' files; return whether there is anything new."""
        by_entry = {entry: inbox.look() for entry, inbox in self.inboxes.items()}
        states = [(fact.key, fact.phase, fact.ok) for facts in by_entry.values() for fact in facts]
        before = [(fact.key, fact.phase, fact.ok) for facts in self.seen.facts.values() for fact in facts]
        if sorted(states, key=repr) == sorted(before, key=repr):
            return False
        self.seen.facts, self.seen.reported = by_entry, self._now()
        self.seen.began = self._now() if self.seen.began is None else self.seen.began
        if self.failed is None and any(ok is False for _, _, ok in states):
            self.failed = self._now()
        return True

    def _ask(self) -> bool:
        """Ask the scheduler; return whether the job's state is another."""
        before, answer = self.seen.job, None
        try:
            answer = self.scheduler.jobs([self.job_id])[self.job_id]
        except SchedulerError as error:
            self.error = error
        if answer is not None and answer.state is JobState.VANISHED and self.missed < 2:
            self.missed += 1  # between two of its places a scheduler knows a job in neither
        elif answer is not None:
            self.seen.job = answer
        job = self.seen.job
        changed = (before and before.state) != (job and job.state)
        self.pause = (
            QUESTIONS.first if changed or self.missed else min(self.pause * QUESTIONS.growth, QUESTIONS.slowest)
        )
        self.ask_at = self.clock() + self.pause
        if job is not None and job.state in (JobState.RUNNING, JobState.EXITING) and self.seen.began is None:
            self.seen.began = self._now()
        return changed

    def _until(self) -> Until | None:
        if self.complete(self.seen.facts):
            return Until.REPORTED
        if self.seen.job is not None and self.seen.job.over:
            return Until.OVER
        if self.seen.began is None:
            return Until.QUEUED if self._now() >= self.limits.queue else None
        late = self.seen.began + self.limits.run
        if self.failed is not None:
            late = min(late, self.failed + self.limits.after_failure)
        return Until.LATE if self._now() >= late else None

    def _ended(self, until: Until) -> Watched:
        if self.seen.job is None and self.error is not None and not any(self.seen.facts.values()):
            raise self.error
        self._look()  # a file may have come since
        self.seen.until, self.seen.ended = until, self._now()
        return self.seen


class Interrupts:
    """Raises `Interrupted` where a signal arrives; while *held* it waits until `held` is left."""

    def __init__(self) -> None:
        self._held = 0
        self._came: int | None = None

    @contextlib.contextmanager
    def caught(self) -> Iterator[None]:
        """Catch the signals; outside the main thread, where nobody may, nothing is done."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.getsignal(number) for number in NUMBERS}
        mine = [number for number in NUMBERS if before[number] is not signal.SIG_IGN]  # nohup stays nohup
        try:
            for number in mine:
                signal.signal(number, self._hear)
            yield
        finally:
            for number in mine:
                signal.signal(number, before[number])

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Let what must not be interrupted happen; a signal that came meanwhile is raised afterwards."""
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1
        if self._came is not None and not self._held:
            number, self._came = self._came, None
            raise Interrupted(number)

    def _hear(self, number: int, _: object) -> None:
        if self._held:
            self._came = number
            return
        raise Interrupted(number)
