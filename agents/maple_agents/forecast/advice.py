"""What to ask for, from what earlier runs were seen to use: memory, time, GPUs. Said, and nothing is ever shortened.

What was seen is sampled, so it is less than what was needed; of runs that were killed it is less still.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from .lineages import Lineages, differences
from .needs import Forecast
from .runs import Asked, Run

HELD, SPARE = 0.95, 1.2  # of runs that held no more memory, and what is left to spare above it
AFTER_KILL = 1.5  # times what was asked for by a run that was ended for its memory
LONGER = 1.5  # times the longest run that a limit leaves, where one is asked for
MUCH = 3.0  # times that: what is asked for is worth a word only from there on
IDLE = 5.0  # percent: GPUs that were never seen busier
ONLY_TIME = frozenset(("epochs", "steps"))  # what changes how long a job runs, and not what it holds
_GIB = 1 << 30
_MINUTES = 600


class MemoryAdvice(NamedTuple):
    """*bytes*: whole GiB. *held*: the most that was seen, a lower bound. *killed*: where a run was ended, or None."""

    bytes: int
    held: int
    killed: int | None
    runs: tuple[Run, ...]


class GpuAdvice(NamedTuple):
    """*asked*: GPUs of the newest run. *idle*: percent that they were in use at most, where that is next to nothing.

    *fewer*: on how many GPUs another run had as much to do, and its seconds; *seconds*: on these.
    """

    asked: int
    seconds: float
    idle: float | None = None
    fewer: tuple[int, float] | None = None


def memory_advice(asked: Asked, lineages: Lineages) -> MemoryAdvice | None:
    """Return what to ask for, None where no run tells that held as much.

    Never below what the last whole run held, and never at or below what a run was killed at.
    """
    runs = _alike(asked, lineages, ONLY_TIME)
    seen = sorted(run.memory for run in runs if run.memory)
    killed = max((run.asked.memory or run.memory or 0 for run in runs if run.state == "out-of-memory"), default=0)
    if not seen and not killed:
        return None
    usual = seen[math.ceil(HELD * len(seen)) - 1] * SPARE if seen else 0.0
    last = next((run.memory for run in runs if run.memory and run.state == "completed"), 0)
    wanted = max(usual, last, killed * AFTER_KILL)
    return MemoryAdvice(math.ceil(wanted / _GIB) * _GIB, seen[-1] if seen else 0, killed or None, runs)


def time_advice(asked: Asked, forecast: Forecast) -> float | None:
    """Return a limit in seconds that leaves half as much again as the longest run, None where nothing is to be said.

    That is where three runs at least are known, none was cut, and what is asked for is far beyond it.
    """
    if (
        asked.limit is None
        or len(forecast.runs) < 3
        or any(run.is_cut for run in forecast.runs)
        or forecast.most is None
    ):
        return None
    limit = math.ceil(LONGER * max(forecast.most, *(run.seconds for run in forecast.runs)) / _MINUTES) * _MINUTES
    return float(limit) if limit * MUCH <= asked.limit else None


def gpu_advice(asked: Asked, lineages: Lineages) -> GpuAdvice | None:
    """Return what earlier runs show of the GPUs, None where they show nothing worth a word."""
    runs = [run for run in _alike(asked, lineages, {"GPUs", "nodes"}) if run.shows_time and run.asked.work.gpus]
    newest = next((run for run in runs if asked.work.gpus in (None, run.asked.work.gpus)), None)
    if newest is None:
        return None
    count = newest.asked.work.gpus or 0
    same = [run for run in runs if run.asked.work.gpus == count]
    busy = [run.gpu_use for run in same if run.gpu_use is not None]
    less = [run for run in runs if (run.asked.work.gpus or 0) * 2 <= count and run.seconds <= newest.seconds * SPARE]
    fewer = min(less, key=lambda run: run.asked.work.gpus or 0, default=None)
    advice = GpuAdvice(
        count, newest.seconds, max(busy) if busy and max(busy) <= IDLE else None,
        (fewer.asked.work.gpus or 0, fewer.seconds) if fewer else None,
    )  # fmt: skip
    return advice if advice.idle is not None or advice.fewer else None


def _alike(asked: Asked, lineages: Lineages, but: "frozenset[str] | set[str]") -> tuple[Run, ...]:
    """Return the runs of the job's lineage that differ from it in nothing but what is named."""
    lineage = lineages.before(asked)
    runs = lineage.runs if lineage else ()
    return tuple(run for run in runs if set(differences(asked.work, run.asked.work)) <= but)
