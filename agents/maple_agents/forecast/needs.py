"""How long a job will run, or no answer: as its last run that had as much to do, within the bounds of its lineage."""

from __future__ import annotations

import math
from typing import NamedTuple

from .runs import Asked, Basis, Lineage, Lineages, Run, differences, same_work

SHARE = 0.9  # of runs that end before `Forecast.most`
MOST_SHOWN = 5
FEWEST_SIZES = 3  # different amounts of work that show how time goes with one
CLOSE = 0.1  # relative: as near as a straight line must come to each of them
REACH = 2.0  # times the smallest and the largest amount seen


class Forecast(NamedTuple):
    """*seconds*: that it will run; *most*: that nine of ten such runs stay below, None where too little is known.

    *least*: the same downwards. *runs*: what it rests on, the newest first. *scaled*: the value by which those were
    drawn out, "" where all had as much to do. *cut*: the last of them was ended by its limit: it would have run on.
    """

    seconds: float
    least: float | None
    most: float | None
    runs: tuple[Run, ...]
    basis: Basis
    scaled: str = ""
    cut: bool = False


class NoForecast(NamedTuple):
    """Why there is none. *changed*: by name what differs from the newest run, (here, there). *runs*: looked at.

    *sizes*: where one amount alone changed, each that was seen with the seconds of its newest whole run, by size.
    """

    why: str
    changed: dict[str, tuple[str, str]] = {}
    runs: tuple[Run, ...] = ()
    sizes: tuple[tuple[float, float], ...] = ()


def forecast(asked: Asked, lineages: Lineages) -> Forecast | NoForecast:
    """Return how long the job will run, from what ended before it was submitted."""
    lineage = lineages.before(asked, times=True)
    if lineage is None:
        return NoForecast("no run of %s is known that completed, or reached its limit" % (asked.name or "it"))
    alike = tuple(run for run in lineage.runs if same_work(asked.work, run.asked.work))
    if alike:
        return _of(asked, lineages, alike, alike[0].seconds, lineage.basis)
    return _scaled(asked, lineages, lineage)


def _of(
    asked: Asked, lineages: Lineages, runs: tuple[Run, ...], seconds: float, basis: Basis, scaled: str = ""
) -> Forecast:
    bounds = lineages.bounds(asked, SHARE)
    least, most = (None, None) if bounds is None else (seconds * math.exp(bounds[0]), seconds * math.exp(bounds[1]))
    if asked.limit is not None:  # nothing runs beyond it
        seconds, most = min(seconds, asked.limit), most if most is None else min(most, asked.limit)
        least = least if least is None else min(least, asked.limit)
    return Forecast(seconds, least, most, runs[:MOST_SHOWN], basis, scaled, runs[0].is_cut)


def _scaled(asked: Asked, lineages: Lineages, lineage: Lineage) -> Forecast | NoForecast:
    """Draw the runs out to another amount of work where they show how time goes with it; else say what changed."""
    changed = differences(asked.work, lineage.runs[0].asked.work)
    refused = NoForecast("it differs from all earlier runs", changed, lineage.runs[:MOST_SHOWN])
    if len(changed) != 1:
        return refused
    name, (here, _) = next(iter(changed.items()))
    amount = _number(here)
    points = _points(asked, lineage, name) if amount else {}
    refused = refused._replace(sizes=tuple((size, points[size].seconds) for size in sorted(points)))
    if amount is None or len(points) < FEWEST_SIZES or not min(points) / REACH <= amount <= max(points) * REACH:
        return refused
    line = straight({size: run.seconds for size, run in points.items()})
    if line is None or line[0] + line[1] * amount <= 0:
        return refused
    runs = tuple(sorted(points.values(), key=lambda run: -run.ended))
    return _of(asked, lineages, runs, line[0] + line[1] * amount, lineage.basis, name)


def _points(asked: Asked, lineage: Lineage, name: str) -> dict[float, Run]:
    """Return the newest whole run for each amount of *name*, of those that differ from the job in nothing else."""
    points: dict[float, Run] = {}
    for run in lineage.runs:
        value = _number(dict(run.asked.work.values).get(name, ""))
        if value and not run.is_cut and set(differences(asked.work, run.asked.work)) == {name}:
            points.setdefault(value, run)
    return points


def straight(points: dict[float, float]) -> tuple[float, float] | None:
    """Return intercept and slope of the line through (amount, seconds), None where one lies too far off it."""
    xs, ys = list(points), list(points.values())
    middle, height = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((x - middle) ** 2 for x in xs)
    if not spread:
        return None
    slope = sum((x - middle) * (y - height) for x, y in zip(xs, ys)) / spread
    start = height - slope * middle
    return (start, slope) if all(abs(start + slope * x - y) <= CLOSE * y for x, y in points.items()) else None


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and value > 0 else None
