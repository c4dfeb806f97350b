"""Waiting for jobs: one question for all, less and less often, never past the deadline. The clock is the test's own."""

from __future__ import annotations

import pytest
from maple_agents.ask.schedulers import Job, JobState, Pace, SchedulerError, changes, wait

QUEUED, RUNNING, FINISHED, VANISHED = JobState.QUEUED, JobState.RUNNING, JobState.FINISHED, JobState.VANISHED
BUSY = SchedulerError("asking", "no answer", "try again later", transient=True)
REFUSED = SchedulerError("asking", "Unauthorized Request", "ask the administrator", 15007)


class Told:
    """A scheduler that says what it was told to, and a clock that only sleeping moves."""

    def __init__(self, *answers) -> None:
        self.answers = list(answers)
        self.asked: list[list[str]] = []
        self.now = 0.0
        self.slept: list[float] = []

    def jobs(self, ids):
        self.asked.append(list(ids))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return {one: Job(one, answer[one] if isinstance(answer, dict) else answer) for one in ids}

    def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds, 3))
        self.now += seconds

    def wait(self, ids, deadline: float, pace: Pace | None = None) -> dict[str, Job]:
        more = [pace] if pace else []
        return wait(self, ids, deadline, *more, clock=lambda: self.now, sleep=self.sleep)


def test_waiting_ends_when_all_jobs_are_over_and_asks_only_for_those_left():
    told = Told({"1": RUNNING, "2": QUEUED}, {"1": FINISHED, "2": RUNNING}, {"2": FINISHED})
    found = told.wait(["1", "2", "1"], 1000)
    assert {one: job.state for one, job in found.items()} == {"1": FINISHED, "2": FINISHED}
    assert told.asked == [["1", "2"], ["1", "2"], ["2"]]


def test_questions_become_rarer_and_a_change_begins_anew():
    told = Told(*[QUEUED] * 5, RUNNING, RUNNING, FINISHED)
    told.wait(["1"], 10000, Pace(1, 2, 5))
    assert told.slept == [1, 2, 4, 5, 5, 1, 2]


def test_the_last_look_is_at_the_deadline_and_what_was_seen_is_returned():
    told = Told(RUNNING)
    assert told.wait(["1"], 10, Pace(4, 1, 4))["1"].state is RUNNING
    assert told.slept == [4, 4, 2] and told.now == 10


def test_a_deadline_in_the_past_still_looks_once():
    told = Told(RUNNING)
    assert told.wait(["1"], -5)["1"].state is RUNNING
    assert told.slept == []


def test_a_job_must_be_missed_twice_to_have_vanished():
    told = Told(QUEUED, VANISHED, RUNNING, VANISHED, VANISHED)
    assert told.wait(["1"], 1000)["1"].state is VANISHED
    assert len(told.asked) == 5


def test_a_scheduler_that_is_busy_is_asked_again():
    assert Told(BUSY, BUSY, RUNNING, BUSY, FINISHED).wait(["1"], 1000)["1"].state is FINISHED


def test_no_answer_until_the_deadline_is_the_schedulers_own_error():
    with pytest.raises(SchedulerError, match="try again later"):
        Told(BUSY).wait(["1"], 5)


def test_a_refusal_ends_the_waiting_at_once():
    told = Told(RUNNING, REFUSED)
    with pytest.raises(SchedulerError, match="Unauthorized"):
        told.wait(["1"], 1000)
    assert len(told.asked) == 2


def test_nothing_to_wait_for_asks_nobody():
    told = Told(RUNNING)
    assert told.wait([], 1000) == {} and told.asked == []


def test_every_change_is_told_once():
    told = Told(QUEUED, QUEUED, RUNNING, RUNNING, FINISHED)
    seen = changes(told, ["1"], 1000, clock=lambda: told.now, sleep=told.sleep)
    assert [job.state for _, job in seen] == [QUEUED, RUNNING, FINISHED]
