"""History played again: what would have been forecast of each job when it was submitted, and what became of it.

Prequential: jobs come in the order of their submission, and a run is known from its end on.
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from .needs import Forecast, NoForecast, forecast
from .runs import Asked, Lineages, Run

MARGIN = 600.0  # seconds that a shortened limit leaves at least
LAST = 3  # runs whose longest a limit is made of
Key = tuple[str, str]


class Played(NamedTuple):
    """A run, and what was known of its job when it was submitted."""

    run: Run
    answer: Forecast | NoForecast
    known: tuple[Run, ...]  # ended runs of the same user and name, the newest first

    @property
    def key(self) -> Key:
        """Return what groups it: its user and its name."""
        return self.run.asked.user, self.run.asked.name


def play(runs: Sequence[Run], step: Callable[[], None] = lambda: None) -> Iterator[Played]:
    """Yield each run that tells, in the order of submission. *step* is called once for each."""
    order = sorted((run for run in runs if run.shows_time), key=lambda run: (run.asked.submitted, run.job))
    lineages, ending = Lineages(), list[tuple[float, int, Run]]()
    for at, run in enumerate(order):
        while ending and ending[0][0] <= run.asked.submitted:
            lineages.ended(heapq.heappop(ending)[2])
        known = lineages.before(run.asked._replace(version="", folder=""), times=True)
        yield Played(run, forecast(run.asked, lineages), known.runs if known else ())
        heapq.heappush(ending, (run.ended, at, run))
        step()


class Score(NamedTuple):
    """*macro*: mean over groups of the mean |log2(forecast / run time)|, *micro*: over jobs. *under*: share too short.

    A forecast of the limit is not too short for a job that its limit ended, though the scheduler comes seconds late.
    *groups*: the mean of each, for a bootstrap. *twice*: share within a factor of two.
    """

    macro: float
    micro: float
    under: float
    twice: float
    jobs: int
    groups: dict[Key, float]


def score(played: Iterable[Played], by: Callable[[Played], float | None]) -> Score:
    """Return how near *by* came; what it says nothing of counts nowhere."""
    errors: dict[Key, list[float]] = defaultdict(list)
    short: dict[Key, list[float]] = defaultdict(list)
    for job in played:
        seconds = by(job)
        if seconds:
            errors[job.key].append(math.log2(seconds / job.run.seconds))
            short[job.key].append(_runs_beyond(job.run, seconds))
    every = [error for group in errors.values() for error in group]
    groups = {key: _mean([abs(error) for error in group]) for key, group in errors.items()}
    under = _mean([_mean(group) for group in short.values()])
    twice = _mean([_mean([abs(error) <= 1 for error in group]) for group in errors.values()])
    return Score(_mean(list(groups.values())), _mean([abs(error) for error in every]), under, twice, len(every), groups)


def _runs_beyond(run: Run, seconds: float) -> bool:
    """Return whether a run took longer than that, and its own limit is not what ended it there."""
    at_limit = run.is_cut and run.asked.limit is not None and seconds >= run.asked.limit
    return run.seconds > seconds and not at_limit


class Coverage(NamedTuple):
    """Share of runs that ended before `Forecast.most`: *macro* over groups, *micro* over jobs; *wide*: median."""

    macro: float
    micro: float
    wide: float
    jobs: int


def coverage(played: Iterable[Played]) -> Coverage:
    """Return how often the upper bound held, of the jobs that had one. A bound at the limit holds: none runs beyond."""
    held: dict[Key, list[float]] = defaultdict(list)
    wide = []
    for job in played:
        if isinstance(job.answer, Forecast) and job.answer.most is not None:
            limit = job.run.asked.limit
            at_limit = limit is not None and job.answer.most >= limit
            held[job.key].append(at_limit or job.run.seconds <= job.answer.most)
            wide.append(job.answer.most / job.run.seconds)
    every = [value for group in held.values() for value in group]
    return Coverage(_mean([_mean(group) for group in held.values()]), _mean(every), _median(wide), len(every))


class Shortened(NamedTuple):
    """What a rule for limits would have done: jobs whose limit it changes, node hours asked for before and after.

    *killed*: those that it ends, and that their own limit did not.
    """

    changed: int
    killed: int
    asked_before: float
    asked_after: float


def shortened(played: Iterable[Played], factor: float) -> Shortened:
    """Return what limits of *factor* times the longest of the last three runs, ten minutes more at least, would do."""
    changed = killed = 0
    before = after = 0.0
    for job in played:
        limit = _limit(job.run.asked, job.known, factor)
        if limit is None:
            continue
        nodes = job.run.asked.work.nodes or 1
        changed, killed = changed + 1, killed + (job.run.seconds > limit and not job.run.is_cut)
        before, after = before + (job.run.asked.limit or 0.0) * nodes / 3600, after + limit * nodes / 3600
    return Shortened(changed, killed, before, after)


def _limit(asked: Asked, known: Sequence[Run], factor: float) -> float | None:
    """Return the limit that the rule would set, None where it changes nothing."""
    if asked.limit is None or not known:
        return None
    longest = max(run.seconds for run in known[:LAST])
    limit = max(factor * longest, longest + MARGIN)
    return limit if limit < asked.limit else None


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan


def _median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    return ordered[len(ordered) // 2] if ordered else math.nan
