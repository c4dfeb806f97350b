"""2D-Gittins (Tiresias, NSDI '19): the queues of 2D-LAS, and inside a queue the highest Gittins index first."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from ..ordering import Preemptive
from .least_attained import LIMITS

QUANTUM = 18000.0  # GPU-seconds


class Index:
    """The Gittins index over a sample of GPU-times, in seconds x size, that earlier jobs took."""

    def __init__(self, samples: Sequence[float], quantum: float = QUANTUM) -> None:
        self._samples, self._quantum = sorted(samples), quantum
        self._sums = [0.0, *accumulate(self._samples)]

    def of(self, attained: float) -> float:
        """Return P(S - a <= quantum | S > a) / E[min(S - a, quantum) | S > a]; 0 beyond the largest sample."""
        first = bisect_right(self._samples, attained)
        last = bisect_right(self._samples, attained + self._quantum)
        longer = len(self._samples) - first
        if not longer:
            return 0.0
        soon = self._sums[last] - self._sums[first] - attained * (last - first)
        mean = (soon + self._quantum * (len(self._samples) - last)) / longer
        return (last - first) / longer / mean if mean else 0.0


def policy(samples: Sequence[float], limits: Sequence[float] = LIMITS, quantum: float = QUANTUM) -> Preemptive:
    """Return the policy that knows *samples* of GPU-times."""
    index = Index(samples, quantum)
    return Preemptive(
        "2d-gittins", "the queues of 2D-LAS, the likeliest to end soon first",
        lambda state: (bisect_right(limits, state.attained), -index.of(state.attained)),
    )  # fmt: skip
