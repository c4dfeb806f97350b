"""How far a waiting job is put forward or back: the less work is foretold the sooner, and who has waited comes up."""

from __future__ import annotations

import math
from typing import NamedTuple

DOUBLINGS = 8.0  # of the reference work, up or down, at which the bound is reached
STEPS = 32  # from one bound to the other: a job's factor changes seldom, and many jobs have the same


class Bounds(NamedTuple):
    """*most*: how far, either way, in points of the scheduler's priority. *patience*: seconds of waiting after which a
    job stands at *most*, whatever was foretold of it. *reference*: work, in seconds on one GPU or node, that is put
    neither forward nor back.
    """

    most: int = 1000
    patience: float = 86_400.0
    reference: float = 3_600.0


class Waiting(NamedTuple):
    """A job that waits. *size*: its GPUs, or its nodes where those are more. *limit*: seconds, None for none.

    *submitted*: seconds since 1970.
    """

    job: str
    uid: int
    name: str
    folder: str
    submitted: float
    limit: float | None
    size: int


def factor(seconds: float | None, size: int, waited: float, bounds: Bounds) -> int:
    """Return the points of a job that is foretold to run *seconds* (None: nothing is) and has *waited* so long.

    Between -most and most. A job of which nothing is known begins at 0; each begins to rise at once, and after the
    patience all that waited so long are equal again: a wrong forecast costs a bounded time.
    """
    begins = 0.0
    if seconds is not None:
        doublings = math.log2(max(1.0, seconds) * max(1, size) / bounds.reference)
        begins = -max(-1.0, min(1.0, doublings / DOUBLINGS))
    rises = 2.0 * max(0.0, waited) / bounds.patience
    return round(min(1.0, begins + rises) * STEPS / 2) * 2 * bounds.most // STEPS
