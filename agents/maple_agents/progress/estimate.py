"""How long a step takes, and how much time is left.

A step's time is the median over the last steps, pauses left out, for a bar's own speed is smoothed over everything; on
a clock of whole seconds it is the median slope, which needs fewer lines. The first steps after a start are dropped:
they hold compilation and caches. Where the pace became another one, only what came since counts.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from itertools import accumulate

from .gaps import COARSE, PAUSE, STREAK, Gap, Pauses, gaps, is_coarse, pauses, pausing
from .values import OVER, Course, Estimate, Run

LAST = 60  # gaps, and
LAST_SECONDS = 120.0  # of the clock, over which a step's time is taken; the more of the two
GROUP = 10.0  # seconds: then rounding does not matter
LEAST = 8  # gaps, and
LEAST_SECONDS = 15.0  # on a clock of whole seconds, by which a pace is compared with that before
MOST_SLOPES = 120  # points between which slopes are taken


def estimate(course: Course, run: Run, now: float) -> Estimate:
    """Return what follows from *course* at the moment *now*; what cannot be told is None, and *because* says why."""
    breaks = gaps(course)
    step_seconds = _step_seconds(breaks, course)
    because = ""
    if step_seconds is None:
        step_seconds = _printed(course)
        because = "the speed is the printed one" if step_seconds else ""
    if step_seconds is None:
        step_seconds = _since_start(course, run)
        because = "the speed is the average since the start" if step_seconds else ""
    kinds = pauses(breaks)
    is_over = run.state in OVER
    left, guessed = (None, 0.0) if is_over else _left(course, step_seconds, kinds, now, breaks)
    by_epochs = estimate(course.epochs, run, now) if course.epochs is not None else Estimate()
    if left is None and by_epochs.left is not None:
        left, guessed = by_epochs.left, by_epochs.guessed
        because = "counted in epochs" + (", " + by_epochs.because if by_epochs.because else "")
    return Estimate(
        step_seconds=step_seconds, pause_seconds=_each(breaks), pauses=sum(kind.times for kind in kinds),
        usual_gap=statistics.median(gap.seconds for gap in breaks) if breaks else None,
        longest_gap=max((gap.seconds for gap in breaks), default=None), left=left, guessed=guessed,
        ends_at=now + left if left is not None else None, earlier_step_seconds=paces(course)[1],
        epoch_seconds=by_epochs.step_seconds,
        because="the job is over" if is_over else because if left is not None else _why_not(course, step_seconds),
    )  # fmt: skip


def _step_seconds(gaps: Sequence[Gap], course: Course) -> float | None:
    """Return the pace of the last steps."""
    coarse = is_coarse(course.points)
    steady = _since_change([gap for gap in gaps if not gap.extra], COARSE if coarse else 0.0)
    span = sum(gap.seconds for gap in steady)
    least, seconds = (2, max(LEAST_SECONDS, min(LAST_SECONDS, span / 2))) if coarse else (LAST, LAST_SECONDS)
    last: list[Gap] = []
    for gap in reversed(steady):
        if len(last) >= least and sum(each.seconds for each in last) >= seconds:
            break
        last.append(gap)
    return _pace(last, coarse) if len(last) > 1 else None


def _pace(gaps: Sequence[Gap], coarse: bool) -> float | None:
    """Return the median seconds of a step; where the clock shows whole seconds that of groups, for there a short pause
    is not seen as one, and a single gap is mostly rounding. Of few groups the mean.
    """
    seconds = sum(gap.seconds for gap in gaps)
    if seconds <= 0:
        return None
    groups = _grouped(gaps) if coarse else []
    if coarse:
        return statistics.median(groups) if len(groups) >= 7 else _slope(gaps)
    return statistics.median(gap.seconds / gap.steps for gap in gaps)


def _slope(gaps: Sequence[Gap]) -> float:
    """Return the median slope between points that are far from each other: what a clock's rounding does to the first
    and the last of them matters less.
    """
    steps = [0.0, *accumulate(gap.steps for gap in gaps)][-MOST_SLOPES:]
    clock = [0.0, *accumulate(gap.seconds for gap in gaps)][-MOST_SLOPES:]
    far = (steps[-1] - steps[0]) / 2
    return statistics.median(
        (clock[late] - clock[early]) / (steps[late] - steps[early])
        for early in range(len(steps))
        for late in range(early + 1, len(steps))
        if steps[late] - steps[early] >= far
    )


def _since_change(gaps: Sequence[Gap], coarse: float) -> Sequence[Gap]:
    """Return the last of *gaps*, those since the pace became another one, if it did and the new one lasts; else all."""
    if len(gaps) < 2 * (STREAK + 1):
        return gaps
    usual = statistics.median(gap.seconds / gap.steps for gap in gaps[: -STREAK - 1])
    seconds = expected = slowest = 0.0
    fastest, lasts = math.inf, 0
    for count, gap in enumerate(reversed(gaps[(len(gaps) - 1) // 2 :]), 1):
        seconds, expected = seconds + gap.seconds, expected + usual * gap.steps
        fastest, slowest = min(fastest, gap.seconds / gap.steps), max(slowest, gap.seconds / gap.steps)
        slower = fastest > usual and seconds > PAUSE * expected + coarse
        faster = slowest < usual and not coarse and PAUSE * seconds < expected
        lasts = count if count > STREAK and (slower or faster) else lasts
        if fastest <= usual <= slowest:
            break
    return gaps[-lasts:] if lasts else gaps


def _grouped(gaps: Sequence[Gap]) -> list[float]:
    """Return seconds a step of groups of `GROUP` seconds at least; what is left over is left out."""
    out: list[float] = []
    seconds = steps = 0.0
    for gap in gaps:
        seconds, steps = seconds + gap.seconds, steps + gap.steps
        if seconds >= GROUP:
            out.append(seconds / steps)
            seconds = steps = 0.0
    return out


def paces(course: Course) -> tuple[float | None, float | None]:
    """Return the pace of the last part of what was seen, and of all before it; None where too little was."""
    coarse = is_coarse(course.points)
    steady = [gap for gap in gaps(course) if not gap.extra]
    last: list[Gap] = []
    while steady and (len(last) < LEAST or (coarse and sum(gap.seconds for gap in last) < LEAST_SECONDS)):
        last.append(steady.pop())
    return (_pace(last, coarse), _pace(steady, coarse)) if len(steady) >= 12 else (None, None)


def _each(gaps: Sequence[Gap]) -> float:
    """Return the seconds of pauses that came with each step."""
    steps = sum(gap.steps for gap in gaps)
    return sum(gap.extra for gap in gaps) / steps if steps else 0.0


def _left(
    course: Course, step_seconds: float | None, kinds: Sequence[Pauses], now: float, gaps: Sequence[Gap]
) -> tuple[float | None, float]:
    """Return the time that is left, and how much of it rests on one pause that nothing explains."""
    if course.step is None or course.total is None or step_seconds is None:
        return None, 0.0
    step, total = course.step, course.total.steps
    if total <= step:
        return 0.0, 0.0
    kinds = [kind for kind in kinds if not _is_start(kind, course, gaps, step_seconds)]
    whole = (total - step) * step_seconds + sum(kind.ahead(step, total) for kind in kinds)
    guessed = sum(kind.ahead(step, total) for kind in kinds if kind.times == 1 and not _is_told(kind, course, gaps))
    going = pausing(course, gaps, now)
    if going:  # it takes as long again each time, and this one is over
        first = gaps[0].step - gaps[0].steps
        again = Pauses(1, going, step - first, step).ahead(step, total)
        return whole + again, guessed + again
    silent = max(0.0, now - course.last_at) if course.last_at is not None else 0.0
    longest = max((gap.seconds for gap in gaps), default=0.0)
    return max(0.0, whole - min(silent, longest)), guessed


def _is_start(kind: Pauses, course: Course, gaps: Sequence[Gap], step_seconds: float) -> bool:
    """Return whether a pause belongs to the start: the only one, longer than all the steps before it, and told by no
    line. What came as often again would take more time than the training.
    """
    first = gaps[0].step - gaps[0].steps
    return kind.times == 1 and kind.seconds > (kind.last - first) * step_seconds and not _is_told(kind, course, gaps)


def _is_told(kind: Pauses, course: Course, gaps: Sequence[Gap]) -> bool:
    """Return whether a line tells of an evaluation or a checkpoint where a pause was."""
    near = max(gap.steps for gap in gaps)
    steps = [mark.step for mark in course.marks if mark.kind in ("evaluation", "checkpoint")]
    return any(step is not None and abs(step - kind.last) <= near for step in steps)


def _printed(course: Course) -> float | None:
    """Return the median of what the last lines print as the time of a step."""
    seconds = [point.at.step_seconds for point in course.points[-LAST:] if point.at.step_seconds]
    if not seconds and course.last is not None and course.last.step_seconds:
        seconds = [course.last.step_seconds]
    return statistics.median(seconds) if seconds else None


def _since_start(course: Course, run: Run) -> float | None:
    if run.started is None or course.last_at is None or not course.step or course.starts > 1 or run.restarts:
        return None
    steps = course.step - (course.began if course.began and course.began > 0.5 * course.step else 0.0)
    seconds = course.last_at - run.started
    return seconds / steps if steps > 0 and seconds > 0 else None


def _why_not(course: Course, step_seconds: float | None) -> str:
    if course.last is None:
        return "no line tells a step"
    if course.total is None:
        return "the total is not known"
    return "no two steps with a time" if step_seconds is None else "only the place in an epoch is known"
