"""2D-LAS (Tiresias, NSDI '19): the least attained GPU-time first, in queues by limits; inside a queue by submission."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from ..ordering import Preemptive

LIMITS = (3600.0, 36000.0, 360000.0)  # GPU-seconds: an hour, ten, a hundred


def policy(limits: Sequence[float] = LIMITS) -> Preemptive:
    """Return the policy whose queues end at *limits*, in seconds x size."""
    shown = " / ".join("%g h" % round(limit / 3600, 2) for limit in limits)
    return Preemptive(
        "2d-las", "least attained GPU-time first, queues to %s" % shown,
        lambda state: (bisect_right(limits, state.attained),),
    )  # fmt: skip
