"""What to ask for, from what earlier runs were seen to use: memory, time, GPUs; and what is said of a forecast.

Nothing is ever shortened. What was seen is sampled, so it is less than what was needed; of runs that were killed it is
less still.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..base.quantities import clock, elapsed
from .needs import Forecast, NoForecast
from .runs import Asked, Lineages, Run, differences

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


def line(asked: Asked, outlook: Forecast | NoForecast) -> str:
    """Return the one line: what is asked for, what it took and will take; or why nobody can say."""
    return _forecast(asked, outlook) if isinstance(outlook, Forecast) else _none(outlook)


def notes(asked: Asked, forecast: Forecast | NoForecast) -> Iterator[str]:
    """Yield what has to be known with a forecast."""
    if not isinstance(forecast, Forecast):
        return
    if forecast.cut:
        yield "note: the last run was ended by its limit, so it needs longer than that"
    if asked.work.values and not any(run.asked.work.values for run in forecast.runs):
        now = ", ".join("%s %s" % pair for pair in asked.work.values)
        yield "note: nobody kept what these runs had to do; this holds if it was as now (%s)" % now


def took(runs: Sequence[Run]) -> str:
    """Return how long runs took, from the shortest to the longest: `the last 5 runs took 0:41:10 to 0:47:03`."""
    times = sorted(run.seconds for run in runs)
    span = elapsed(times[0]) if times[0] == times[-1] else "%s to %s" % (elapsed(times[0]), elapsed(times[-1]))
    return "the last %s took %s" % ("run" if len(runs) == 1 else "%d runs" % len(runs), span)


def _forecast(asked: Asked, forecast: Forecast) -> str:
    asks = "asks %s; " % elapsed(asked.limit) if asked.limit else ""
    which = {"version": "of this version", "folder": "of %s here" % asked.name, "lineage": "of this script",
             "name": "of %s" % asked.name}  # fmt: skip
    runs, _, span = took(forecast.runs).partition(" took ")
    drawn = "; %s alone changed, and time went with it" % forecast.scaled if forecast.scaled else ""
    most = ", and nine of ten such jobs end before %s" % elapsed(forecast.most) if forecast.most else ""
    about = ": about %s%s" % (elapsed(forecast.seconds), most)
    return "%s%s %s took %s%s%s" % (asks, runs, which[forecast.basis], span, drawn, about)


def _none(no_forecast: NoForecast) -> str:
    changed, runs = no_forecast.changed, no_forecast.runs
    if not changed:
        return "no forecast: %s" % no_forecast.why
    if len(changed) == 1:
        ((name, (here, there)),) = changed.items()
        sentence = "first run with %s %s: no forecast; with %s it took %s" % (
            name,
            here,
            there,
            elapsed(runs[0].seconds),
        )
        return sentence + _with(name, no_forecast.sizes)
    each = ", ".join("%s is %s, was %s" % (name, here, there) for name, (here, there) in changed.items())
    return "no forecast: %s (%s); the last run took %s" % (no_forecast.why, each, elapsed(runs[0].seconds))


def _with(name: str, sizes: Sequence[tuple[float, float]]) -> str:
    """Return how time went with an amount, where each larger one took longer, or each took shorter."""
    times = [seconds for _, seconds in sizes]
    if len(times) < 2 or (times != sorted(times) and times != sorted(times, reverse=True)):
        return ""
    amounts = ", ".join("%g: %s" % (size, elapsed(seconds)) for size, seconds in sizes)
    return ", and time went with %s before (%s)" % (name, amounts)


def memory(asked: Asked, advice: MemoryAdvice) -> str:
    """Return what to ask for on a node."""
    gib = "%d GiB" % (advice.bytes >> 30)
    if advice.killed:
        return "memory: a run was killed at %.1f GiB; ask for %s or more" % (advice.killed / _GIB, gib)
    held = "memory: a task was seen to hold %.1f GiB" % (advice.held / _GIB)
    if asked.memory and asked.memory < advice.bytes:
        return "%s, and %.0f GiB are asked for; %s would leave a fifth to spare" % (held, asked.memory / _GIB, gib)
    return held


def time(asked: Asked, limit: float) -> str:
    """Return what a shorter limit would leave, and that it is nobody's but the user's to set."""
    option = "a limit of %s would leave half as much again as the longest of them" % clock(limit)
    return (
        "time: %s, and may start earlier; a job that is longer than before would be cut, so nothing is changed" % option
    )


def gpus(advice: GpuAdvice) -> str:
    """Return what earlier runs show of the GPUs."""
    parts = []
    if advice.idle is not None:
        parts.append("the %d GPUs were seen in use for %.0f %% at most" % (advice.asked, advice.idle))
    if advice.fewer is not None:
        count, seconds = advice.fewer
        parts.append(
            "with %d it took %s, with %d %s" % (count, elapsed(seconds), advice.asked, elapsed(advice.seconds))
        )
    return "GPUs: " + "; ".join(parts)
