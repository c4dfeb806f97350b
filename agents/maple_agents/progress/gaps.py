"""What lies between the lines of a course: the usual gaps, and pauses for evaluations and checkpoints.

Pauses are those gaps that stand out among their neighbours, but for several in a row: then the pace is another. Each
kind of them is expected again after as many steps as lay between those that were seen; one that goes on right now
counts as one.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from .values import Course, Point

NEIGHBOURS = 10  # gaps on each side, which a pause is compared with
PAUSE = 1.4  # times the usual gap around; what is no pause after all only makes the mean of the median
COARSE = 1.0  # seconds that such a clock may be off
APART = 1.8  # times as long is a pause of another kind
WARM = 3  # gaps after a start that tell nothing
STREAK = 2  # pauses one after the other


class Gap(NamedTuple):
    """What lies between two points. *extra*: seconds of a pause in it, 0 for none."""

    step: float
    steps: float
    seconds: float
    extra: float = 0.0


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
    return _with_pauses(raw[warm:], COARSE if is_coarse(points) else 0.0)


def is_coarse(points: Sequence[Point]) -> bool:
    """Return whether the clock shows whole seconds."""
    return bool(points) and all(point.clock == math.floor(point.clock or 0.0) for point in points)


def _flips(points: Sequence[Point]) -> list[Point]:
    """Return the points at which a clock of whole seconds moves on: there it is exact."""
    if not is_coarse(points):
        return list(points)
    return [point for before, point in zip([None, *points], points) if before is None or before.clock != point.clock]


def _with_pauses(raw: Sequence[Gap], coarse: float) -> list[Gap]:
    per_step = [gap.seconds / gap.steps for gap in raw]
    out: list[Gap] = []
    for at, gap in enumerate(raw):
        around = per_step[max(0, at - NEIGHBOURS) : at] + per_step[at + 1 : at + 1 + NEIGHBOURS]
        usual = statistics.median(around) if len(around) >= 3 else None
        expected = usual * gap.steps if usual is not None else math.inf
        pause = gap.seconds > PAUSE * expected + coarse
        out.append(gap._replace(extra=gap.seconds - expected) if pause else gap)
    return _without_streaks(out)


def _without_streaks(gaps: Sequence[Gap]) -> list[Gap]:
    """Return gaps of which more than `STREAK` in a row are no pauses: from there on each step takes longer."""
    out: list[Gap] = []
    for paused, run in groupby(gaps, key=lambda gap: gap.extra > 0):
        streak = list(run)
        out += [gap._replace(extra=0.0) for gap in streak] if paused and len(streak) > STREAK else streak
    return out


class Pauses(NamedTuple):
    """Pauses of one kind, by their length. *every*: steps from one to the next; *last*: step of the last."""

    times: int
    seconds: float
    every: float
    last: float

    def ahead(self, step: float, total: float) -> float:
        """Return the seconds of those that are to come behind *step*; one at the very end counts."""
        if self.every <= 0:
            return 0.0
        over = math.floor((step - self.last) / self.every)
        return max(0, math.floor((total - self.last) / self.every + 0.25) - over) * self.seconds


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
    every = _usual(between) if between else max(steps[0] - first, now - steps[0])
    return Pauses(len(part), statistics.median(gap.extra for gap in part), every, steps[-1])


def _usual(between: Sequence[float]) -> float:
    """Return the steps from one pause to the next: the mean, for lines come at rounder steps than pauses; if one of
    them was overlooked, the median.
    """
    median = statistics.median(between)
    return statistics.mean(between) if max(between) < 1.5 * median else median


def pausing(course: Course, gaps: Sequence[Gap], now: float) -> float:
    """Return the seconds of a pause that goes on now, 0 for none; one that an earlier one was as long as is none."""
    steady = [gap for gap in gaps if not gap.extra]
    if course.last_at is None or len(steady) < 3:
        return 0.0
    usual = statistics.median(gap.seconds for gap in steady)
    extra = now - course.last_at - usual
    coarse = COARSE if is_coarse(course.points) else 0.0
    longest = max((gap.extra for gap in gaps), default=0.0)
    return extra if extra > max((PAUSE - 1) * usual + coarse, longest) else 0.0
