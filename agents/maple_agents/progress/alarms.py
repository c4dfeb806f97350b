"""What a user wants to hear of: silence, an end after the limit, a loss that is lost, a rank behind, a speed halved."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator

from .estimate import paces
from .printed import duration, speed
from .values import Alarm, Course, Estimate, Mark, Observation, Run

LONGEST = 2.2  # times the longest gap seen: then it is silent
LEAST_GAPS = 5  # that must be known before silence means anything
FLOOR = 30.0  # seconds of silence that are never worth a word
FIRST_PAUSE = 600.0  # seconds that a first evaluation or checkpoint may take, where none was seen before
UNKNOWN_GAP = 900.0  # seconds of silence where no usual gap is known
BEHIND = 10  # lines that a rank may be late
EXPLODED = 5.0  # times what the loss was
SLOWER = 1.9
_GOING = ("running", "unknown", "requeued")


def alarms(course: Course, estimate: Estimate, run: Run, now: float) -> tuple[Alarm, ...]:
    """Return what is odd, the worst first."""
    going = run.state in _GOING and course.ended is None and not is_done(course)
    out: list[Alarm] = []
    if going:
        out += [*_limit(course, estimate, run, now), *_silent(course, estimate, now)]
    out += _loss(course)
    if going:
        out += [*_behind(course), *_slower(course)]
    return tuple(out)


def is_done(course: Course) -> bool:
    """Return whether the last step is there."""
    return course.total is not None and course.step is not None and course.step >= course.total.steps


def silence(course: Course, now: float) -> float | None:
    """Return the seconds since anything went on, None not known."""
    return max(0.0, now - course.alive_at) if course.alive_at is not None else None


def patience(course: Course, estimate: Estimate) -> float:
    """Return the seconds of silence from which on something is wrong."""
    if estimate.longest_gap is None or len(course.points) <= LEAST_GAPS:
        return max(UNKNOWN_GAP, 10 * (estimate.step_seconds or 0.0))
    wait = max(LONGEST * estimate.longest_gap, FLOOR)
    return max(wait, FIRST_PAUSE) if not estimate.pauses and _may_pause(course) else wait


def _may_pause(course: Course) -> bool:
    """Return whether a first evaluation or checkpoint is likely now: one was told, an epoch is over, a round step."""
    last = course.last
    if last is None or last.step is None:
        return True
    if course.busy is not None or _newest(course, "evaluation", "checkpoint"):
        return True
    if last.scope == "epoch" and last.steps == last.step:
        return True
    if last.epoch is not None and last.epoch > 0 and last.epoch == int(last.epoch):
        return True
    apart = statistics.median(two.step - point.step for point, two in zip(course.points, course.points[1:]))
    return last.step >= 100 and last.step % 100 == 0 and last.step % (10 * apart) == 0


def _newest(course: Course, *kinds: str) -> Mark | None:
    """Return the newest mark of these kinds behind the last step."""
    last = course.last
    behind = [mark for mark in course.marks if mark.kind in kinds and last is not None
              and mark.place.file == last.place.file and mark.place.byte > last.place.byte]  # fmt: skip
    return behind[-1] if behind else None


def _silent(course: Course, estimate: Estimate, now: float) -> Iterator[Alarm]:
    quiet = silence(course, now)
    if quiet is None or course.last is None or quiet < patience(course, estimate):
        return
    usual = "; its steps come every %s" % duration(estimate.usual_gap) if estimate.usual_gap else ""
    pause = (
        ", the longest pause was %s" % duration(estimate.longest_gap)
        if estimate.longest_gap and estimate.pauses
        else ""
    )
    yield Alarm("silent", "silent for %s%s%s" % (duration(quiet), usual, pause), course.last)


def checkpoint(course: Course) -> Mark | None:
    """Return the last checkpoint that was told of."""
    saved = [mark for mark in course.marks if mark.kind == "checkpoint"]
    timed = [mark for mark in saved if mark.at is not None]
    return max(timed, key=lambda mark: mark.at or 0.0) if timed else saved[-1] if saved else None


def _limit(course: Course, estimate: Estimate, run: Run, now: float) -> Iterator[Alarm]:
    end = run.ends_at
    if end is None or estimate.left is None or estimate.ends_at is None or estimate.ends_at - estimate.guessed <= end:
        return  # that one hiccup comes again and again is no reason to be woken
    says = "will be killed %s before its end" % duration(estimate.ends_at - end)
    age = age_at_limit(course, estimate, end)
    if age is not None:
        says += "; the last checkpoint will be about %s old then" % duration(age)
    elif not any(mark.kind == "checkpoint" for mark in course.marks):
        says += "; no checkpoint was told of"
    yield Alarm("limit", says, course.last)


def age_at_limit(course: Course, estimate: Estimate, end: float) -> float | None:
    """Return how old the last checkpoint will be at the limit, as far as the ones before tell."""
    times = sorted(mark.at for mark in course.marks if mark.kind == "checkpoint" and mark.at is not None)
    if not times or end < times[-1]:
        return None
    between = [two - earlier for earlier, two in zip(times, times[1:]) if two - earlier > 1]
    if not between:
        return end - times[-1]
    return (end - times[-1]) % statistics.median(between)


def _loss(course: Course) -> Iterator[Alarm]:
    losses = course.losses
    bad = next((loss for loss in reversed(losses[-5:]) if not math.isfinite(loss[1])), None)
    if bad is not None:
        first = next(loss for loss in losses if not math.isfinite(loss[1]))
        since = " since step %g" % first[0] if math.isfinite(first[0]) else ""
        yield Alarm("loss-not-finite", "the loss is %s%s" % (bad[1], since), first[2])
        return
    values = [loss[1] for loss in losses]
    if len(values) < 13:
        return
    now = statistics.median(values[-3:])
    usual = min(statistics.median(values[at : at + 10]) for at in range(len(values) - 12))
    if min(values) > 0 and now > EXPLODED * usual and now > statistics.median(values[:3]):
        yield Alarm("loss-explodes", "the loss is %.4g, and was %.4g" % (now, usual), losses[-1][2])


def _behind(course: Course) -> Iterator[Alarm]:
    if len(course.ranks) < 2:
        return
    steps = [row[1] for row in course.ranks]
    first = statistics.median_high(steps)
    apart = [two.step - point.step for point, two in zip(course.points, course.points[1:])]
    line = max(1.0, statistics.median(apart) if apart else 1.0)
    for rank, step, at in course.ranks:
        if first - step >= BEHIND * line:
            yield Alarm("rank-behind", "rank %d is at step %g, the others are at %g" % (rank, step, first), at)


def _slower(course: Course) -> Iterator[Alarm]:
    now, before = paces(course)
    if before and now and now >= SLOWER * before:
        yield Alarm("slower", "%s now, %s before" % (speed(now), speed(before)), course.last)


def shown_at(line: Observation | Mark) -> str:
    """Return where a line stands, as people and editors write it: `slurm-4711.out:812`."""
    return (
        "%s:%d" % (line.place.file, line.place.line)
        if line.place.line
        else "%s@%d" % (line.place.file, line.place.byte)
    )
