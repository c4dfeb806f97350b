"""What is said to people of a forecast, or of why there is none, and of what to ask for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..base.quantities import clock, elapsed
from .advice import GpuAdvice, MemoryAdvice
from .needs import Forecast, NoForecast
from .runs import Asked, Run

_GIB = 1 << 30


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
