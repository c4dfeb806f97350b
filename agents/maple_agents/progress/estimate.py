"""How long a step takes, what evaluations and checkpoints add, and how much time is left.

A step's time is the median over the last steps, pauses left out, for a bar's own speed is smoothed over everything. The
first steps after a start are dropped: they hold compilation and caches. Pauses are those gaps that stand out among
their neighbours; each kind of them is expected again after as many steps as lay between those that were seen.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import NamedTuple

from .values import Course, Estimate, Point, Run

NEIGHBOURS = 10  # gaps on each side, which a pause is compared with
PAUSE = 1.4  # times the usual gap around; what is no pause after all only makes the mean of the median
LAST = 60  # gaps, and
LAST_SECONDS = 120.0  # of the clock, over which a step's time is taken; the more of the two
GROUP = 10.0  # seconds: then rounding does not matter
LEAST = 8  # gaps, and
LEAST_SECONDS = 15.0  # on a clock of whole seconds, by which a pace is compared with that before
_COARSE = 1.0  # seconds that such a clock may be off
APART = 1.8  # times as long is a pause of another kind
WARM = 3  # gaps after a start that tell nothing


class Gap(NamedTuple):
    """What lies between two points. *extra*: seconds of a pause in it, 0 for none."""

    step: float
    steps: float
    seconds: float
    extra: float = 0.0


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
    left = _left(course, step_seconds, kinds, now, breaks)
    return Estimate(
        step_seconds=step_seconds, pause_seconds=_each(breaks), pauses=sum(kind.times for kind in kinds),
        usual_gap=statistics.median(gap.seconds for gap in breaks) if breaks else None,
        longest_gap=max((gap.seconds for gap in breaks), default=None), left=left,
        ends_at=now + left if left is not None else None, earlier_step_seconds=paces(course)[1],
        because=because if left is not None else _why_not(course, step_seconds),
    )  # fmt: skip


def gaps(course: Course) -> list[Gap]:
    """Return the gaps between points, those of the first steps after the start left out, pauses marked."""
    points = _flips([point for point in course.points if point.clock is not None])
    raw = [
        Gap(two.step, two.step - point.step, (two.clock or 0.0) - (point.clock or 0.0))
        for point, two in zip(points, points[1:])
        if (two.clock or 0.0) >= (point.clock or 0.0) and two.step > point.step
    ]
    fresh = bool(points) and course.began is not None and points[0].step <= course.began + 3
    warm = min(WARM, len(raw) // 4) if fresh else 0
    return _with_pauses(raw[warm:], _COARSE if _is_coarse(points) else 0.0)


def _is_coarse(points: Sequence[Point]) -> bool:
    return bool(points) and all(point.clock == math.floor(point.clock or 0.0) for point in points)


def _flips(points: Sequence[Point]) -> list[Point]:
    """Return the points at which a clock of whole seconds moves on: there it is exact."""
    if not _is_coarse(points):
        return list(points)
    return [point for before, point in zip([None, *points], points) if before is None or before.clock != point.clock]


def _with_pauses(raw: Sequence[Gap], coarse: float) -> list[Gap]:
    per_step = [gap.seconds / gap.steps for gap in raw]
    out: list[Gap] = []
    for at, gap in enumerate(raw):
        around = per_step[max(0, at - NEIGHBOURS) : at] + per_step[at + 1 : at + 1 + NEIGHBOURS]
        usual = statistics.median(around) if len(around) >= 3 else None
        expected = usual * gap.steps if usual is not None else math.inf
        pause = gap.seconds > PAUSE * expected + 2 * coarse
        out.append(gap._replace(extra=gap.seconds - expected) if pause else gap)
    return out


def _step_seconds(gaps: Sequence[Gap], course: Course) -> float | None:
    """Return the pace of the last steps."""
    steady = [gap for gap in gaps if not gap.extra]
    coarse, span = _is_coarse(course.points), sum(gap.seconds for gap in steady)
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
        return statistics.median(groups) if len(groups) >= 7 else seconds / sum(gap.steps for gap in gaps)
    return statistics.median(gap.seconds / gap.steps for gap in gaps)


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
    coarse = _is_coarse(course.points)
    steady = [gap for gap in gaps(course) if not gap.extra]
    last: list[Gap] = []
    while steady and (len(last) < LEAST or (coarse and sum(gap.seconds for gap in last) < LEAST_SECONDS)):
        last.append(steady.pop())
    return (_pace(last, coarse), _pace(steady, coarse)) if len(steady) >= 12 else (None, None)


class Pauses(NamedTuple):
    """Pauses of one kind, by their length. *every*: steps from one to the next; *last*: step of the last."""

    times: int
    seconds: float
    every: float
    last: float

    def ahead(self, total: float) -> float:
        """Return the seconds of those that are to come; one at the very end counts."""
        return math.floor((total - self.last) / self.every + 0.25) * self.seconds if self.every > 0 else 0.0


def pauses(gaps: Sequence[Gap]) -> list[Pauses]:
    """Return the kinds of pauses: an evaluation and a checkpoint take different times and come at different steps."""
    seen = sorted((gap for gap in gaps if gap.extra), key=lambda gap: gap.extra)
    if not seen:
        return []
    cuts = [at for at in range(1, len(seen)) if seen[at].extra > APART * seen[at - 1].extra]
    parts = [seen[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(seen)])]
    return [_kind(part, gaps) for part in parts]


def _kind(part: Sequence[Gap], gaps: Sequence[Gap]) -> Pauses:
    steps = sorted(gap.step for gap in part)
    between = [two - earlier for earlier, two in zip(steps, steps[1:])]
    first, now = gaps[0].step - gaps[0].steps, gaps[-1].step
    every = statistics.median(between) if between else max(steps[0] - first, now - steps[0])
    return Pauses(len(part), statistics.median(gap.extra for gap in part), every, steps[-1])


def _each(gaps: Sequence[Gap]) -> float:
    """Return the seconds of pauses that came with each step."""
    steps = sum(gap.steps for gap in gaps)
    return sum(gap.extra for gap in gaps) / steps if steps else 0.0


def _left(
    course: Course, step_seconds: float | None, kinds: Sequence[Pauses], now: float, gaps: Sequence[Gap]
) -> float | None:
    if course.step is None or course.total is None or step_seconds is None:
        return None
    total = course.total.steps
    whole = (
        (total - course.step) * step_seconds + sum(pauses.ahead(total) for pauses in kinds)
        if total > course.step
        else 0.0
    )
    silent = max(0.0, now - course.last_at) if course.last_at is not None else 0.0
    longest = max((gap.seconds for gap in gaps), default=0.0)
    return max(0.0, whole - min(silent, longest))


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
