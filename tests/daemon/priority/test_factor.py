"""How far a waiting job is put: less work sooner, within the bound, and nobody waits for ever."""

from __future__ import annotations

import itertools
import math
import random

import pytest
from maple_daemon.priority.queue import Bounds, factor

BOUNDS = Bounds(most=1000, patience=3600.0, reference=60.0)


@pytest.mark.parametrize("size", [1, 4, 64])
def test_less_work_stands_before_more(size: int) -> None:
    """Twice the seconds, or twice the GPUs, never stand before the half."""
    points = [factor(seconds, size, 0.0, BOUNDS) for seconds in (1, 10, 60, 600, 6_000, 600_000)]
    assert points == sorted(points, reverse=True) and points[0] > points[-1]
    assert factor(120.0, size, 0.0, BOUNDS) == factor(60.0, 2 * size, 0.0, BOUNDS)


def test_the_bound_is_kept() -> None:
    """Whatever is foretold, and however long it waited."""
    for seconds, size, waited in itertools.product((None, 0.0, 1.0, 1e12), (0, 1, 100_000), (-5.0, 0.0, 1e9)):
        assert -1000 <= factor(seconds, size, waited, BOUNDS) <= 1000


def test_a_job_of_which_nothing_is_known_begins_in_the_middle() -> None:
    """As one with the reference's work."""
    assert factor(None, 8, 0.0, BOUNDS) == 0 == factor(60.0, 1, 0.0, BOUNDS)
    assert factor(30.0, 1, 0.0, BOUNDS) > 0 > factor(120.0, 1, 0.0, BOUNDS)


def test_after_the_patience_all_stand_at_the_bound() -> None:
    """The one that is thought the longest too."""
    assert {factor(seconds, 1, 3600.0, BOUNDS) for seconds in (None, 1.0, 1e9)} == {1000}


@pytest.mark.parametrize("wrong", [10.0, 0.1])
def test_a_wrong_forecast_starves_nobody(wrong: float) -> None:
    """Short jobs keep coming to one GPU, faster than it works; of one job ten times too much is foretold.

    It starts within its patience and what then stands before it: those that have waited as long.
    """
    draw = random.Random(7)
    bounds = Bounds(most=1000, patience=200.0, reference=60.0)
    waiting: list[tuple[float, float, float]] = [(0.0, 60.0 * wrong, 60.0)]  # submitted, foretold, true
    clock, began = 0.0, math.inf
    while began == math.inf and clock < 3_000:
        while len(waiting) < 40:
            waiting.append((clock, 5.0, draw.uniform(3.0, 7.0)))
        waiting.sort(key=lambda job: (-factor(job[1], 1, clock - job[0], bounds), job[0]))
        _, _, true = waiting.pop(0)
        began = clock if true == 60.0 else began
        clock += true
    assert began <= 1.5 * bounds.patience
