"""The waiting, with a scheduler and a clock of the test's own: how it ends, and how often it asks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from maple_agents.ask.schedulers import Job, JobState, SchedulerError
from maple_agents.verify.run.facts import Fact
from maple_agents.verify.run.watch import Limits, Until, Watched, watch

from tests.agents.verify.planned import fact, failed

LIMITS = Limits(queue=100, run=60, after_failure=8)


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Inbox:
    """Facts that come at a time."""

    def __init__(self, clock: Clock, timed: Sequence[tuple[float, Fact]]) -> None:
        self.clock, self.timed = clock, timed

    def look(self) -> list[Fact]:
        return [one for at, one in self.timed if self.clock.now >= at]


class Scheduler:
    """Says what the test says of the job, by the time; an exception is raised."""

    def __init__(self, clock: Clock, state: Callable[[float], JobState | Exception]) -> None:
        self.clock, self.state, self.asked = clock, state, 0

    def jobs(self, ids: Sequence[str]) -> dict[str, Job]:
        self.asked += 1
        state = self.state(self.clock.now)
        if isinstance(state, Exception):
            raise state
        return {ids[0]: Job(ids[0], state)}


def watched(
    timed: Sequence[tuple[float, Fact]], state: Callable[[float], JobState | Exception], due: int = 2
) -> tuple[Watched, Scheduler, Clock]:
    clock = Clock()
    scheduler = Scheduler(clock, state)
    inboxes = {"line-3": Inbox(clock, timed)}
    seen = watch(
        scheduler,  # type: ignore[arg-type]
        "7",
        inboxes,  # type: ignore[arg-type]
        lambda facts: sum(one.ok is not None for one in facts["line-3"]) >= due if "line-3" in facts else False,
        LIMITS,
        clock=clock,
        sleep=clock.sleep,
    )
    return seen, scheduler, clock


def running(_: float) -> JobState:
    return JobState.RUNNING


def test_it_ends_as_soon_as_all_have_reported():
    seen, scheduler, clock = watched([(3, fact(0)), (4, fact(1))], running)
    assert seen.until is Until.REPORTED and 4 <= clock.now < 5 and len(seen.facts["line-3"]) == 2


def test_it_ends_when_the_job_is_over():
    seen, _, _ = watched([(3, fact(0))], lambda now: JobState.FINISHED if now > 10 else JobState.RUNNING)
    assert seen.until is Until.OVER and len(seen.facts["line-3"]) == 1


def test_a_hang_is_cut_at_the_deadline_that_counts_from_the_start():
    seen, scheduler, clock = watched([], lambda now: JobState.QUEUED if now < 50 else JobState.RUNNING)
    assert seen.until is Until.LATE and 110 <= clock.now <= 140
    assert scheduler.asked < 25


def test_after_a_failure_the_others_have_a_few_seconds():
    seen, _, clock = watched([(3, failed(0, "rendezvous", "MeetingFailed", "x"))], running)
    assert seen.until is Until.LATE and 11 <= clock.now < 14


def test_a_job_that_does_not_start_is_given_up():
    seen, scheduler, clock = watched([], lambda _: JobState.QUEUED)
    assert seen.until is Until.QUEUED and 100 <= clock.now < 103 and scheduler.asked < 15


def test_a_scheduler_that_does_not_answer_for_a_while_is_waited_for():
    error = SchedulerError("asking", "down", "wait", transient=True)
    seen, _, _ = watched([(30, fact(0)), (31, fact(1))], lambda now: error if now < 60 else JobState.RUNNING)
    assert seen.until is Until.REPORTED


def test_a_scheduler_that_never_answers_is_an_error_where_no_rank_came():
    with pytest.raises(SchedulerError):
        watched([], lambda _: SchedulerError("asking", "down", "wait"))


def test_a_job_between_two_places_is_not_over_at_once():
    seen, _, clock = watched([], lambda now: JobState.VANISHED if now > 5 else JobState.RUNNING)
    assert seen.until is Until.OVER and clock.now > 6
