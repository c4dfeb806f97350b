"""How much memory a job will want on a node, as advice: from what its runs were seen to hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from .runs import Run

SHARE, SPARE = 0.95, 1.2
AFTER_KILL = 1.5  # times what was asked for by a run that was ended for its memory
_STEP = 1 << 30


class MemoryAdvice(NamedTuple):
    """*bytes*: whole GiB. *held*: the most that was seen, a lower bound. *killed*: where a run was ended, or None."""

    bytes: int
    held: int
    killed: int | None
    runs: tuple[Run, ...]


def advise(runs: Sequence[Run]) -> MemoryAdvice | None:
    """Return what to ask for, None where no run tells. *runs*: of one lineage, the newest first, as much to do in each.

    Never below what the last whole run held, and never at or below what a run was killed at: memory is sampled, so what
    was seen is less than what was needed.
    """
    seen = sorted(run.memory for run in runs if run.memory)
    killed = max((run.asked.memory or run.memory or 0 for run in runs if run.state == "out-of-memory"), default=0)
    if not seen and not killed:
        return None
    usual = seen[math.ceil(SHARE * len(seen)) - 1] * SPARE if seen else 0.0
    last = next((run.memory for run in runs if run.memory and run.state == "completed"), 0)
    wanted = max(usual, last, killed * AFTER_KILL)
    return MemoryAdvice(math.ceil(wanted / _STEP) * _STEP, seen[-1] if seen else 0, killed or None, tuple(runs))
