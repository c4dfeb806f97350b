"""A site's own history played again under other orderings and limits: what each would have changed.

The pool is one count of GPUs, nodes or processors: partitions, reservations and node shapes are not modelled.
Thus figures are compared with those of `easy` on the same pool, not with the waits that were recorded.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ..forecast.needs import Forecast
from ..forecast.replay import Played, Shortened, play, shortened
from ..forecast.runs import Run
from .queueing.jobs import Ended, Figures, Job, by, figures, load, most_at_once
from .queueing.ordering import Ordering, simulate
from .queueing.policies import easy, fifo, forecast_work, oracle_work, shuffled_work, size_only

UNITS = ("gpus", "nodes", "processors")
FACTORS = (1.2, 1.5, 2.0, 3.0)  # of limit rules
OVERDUE = 7 * 86400.0  # seconds: who waits longer stands before all others, under every ordering but fifo and easy
_FEW, _MANY = 10, 100  # submissions of a user
GROUPS = ("below %d jobs" % _FEW, "%d to %d jobs" % (_FEW, _MANY - 1), "%d jobs or more" % _MANY)


class Row(NamedTuple):
    """A policy and what it came to: over all, by size class, by how much the user submits."""

    name: str
    says: str
    all: Figures
    sizes: dict[str, Figures]
    users: dict[str, Figures]


class Rule(NamedTuple):
    """A rule that shortens limits to *factor* times the longest of the last three runs, and what it would have done."""

    factor: float
    done: Shortened


class Replay(NamedTuple):
    """*recorded*: waits as they were; *rows*: the policies, on the same pool.

    *foretold*: share of jobs that had a forecast when they came. *left_out*: jobs without a size or a run.
    """

    unit: str
    pool: int
    load: float
    jobs: int
    left_out: int
    foretold: float
    recorded: Row
    rows: tuple[Row, ...]
    rules: tuple[Rule, ...]


class NothingToReplay(ValueError):
    """There is no job with a size and a run; one line."""


def replay(
    runs: Sequence[Run], unit: str = "", pool: int | None = None, step: Callable[[str], None] = lambda done: None
) -> Replay:
    """Return what orderings and limit rules would have changed for *runs*.

    *unit*: of `UNITS`; "": the first of which half of the jobs have one. *pool*: how many there are of it; None: the
    most that ran at one time. *step* is told the name of each part that is done. Raises `NothingToReplay`, and
    `TooLarge` where a job wants more than *pool*.
    """
    unit = unit or next((each for each in UNITS if _counts(runs, each)), "nodes")
    usable = [run for run in runs if size(run, unit) and run.seconds > 0]
    if not usable:
        raise NothingToReplay("no job of the file ran on any %s" % unit)
    spans = ((run.ended - run.seconds, run.ended, size(run, unit)) for run in usable)
    pool = pool or most_at_once(spans)
    played = list(play(usable))
    step("forecasts")
    jobs = list(_jobs(usable, unit, played))
    rows = tuple(_rows(jobs, pool, step))
    rules = tuple(Rule(factor, shortened(played, factor)) for factor in FACTORS)
    foretold = sum(job.expected is not None for job in jobs) / len(jobs)
    ended = list(_as_recorded(usable, jobs))
    recorded = _row("recorded", "as it was", ended)
    return Replay(unit, pool, load(ended, pool), len(jobs), len(runs) - len(usable), foretold, recorded, rows, rules)


def _counts(runs: Sequence[Run], unit: str) -> bool:
    """Return whether half of the runs have some of the unit."""
    return 2 * sum(bool(size(run, unit)) for run in runs) >= len(runs)


def size(run: Run, unit: str) -> int:
    """Return how many of *unit* a run held; 0 where nobody knows."""
    if unit == "processors":
        return int(dict(run.asked.work.values).get("processors", 0))
    return (run.asked.work.gpus if unit == "gpus" else run.asked.work.nodes) or 0


def _jobs(runs: Sequence[Run], unit: str, played: Iterable[Played]) -> Iterable[Job]:
    """Yield the jobs; what no limit is known of may be counted on to end when the longest limit of all is over."""
    longest = max((run.asked.limit or run.seconds for run in runs), default=0.0)
    forecasts = {id(each.run): each.said.seconds for each in played if isinstance(each.said, Forecast)}
    often, seen = Counter(run.asked.user for run in runs), Counter[str]()
    for run in runs:
        limit, expected = max(run.asked.limit or longest, run.seconds), forecasts.get(id(run))
        seen[run.job] += 1
        name = run.job if seen[run.job] == 1 else "%s/%d" % (run.job, seen[run.job])  # it ran again
        group = _habit(often[run.asked.user])
        yield Job(name, run.asked.submitted, size(run, unit), run.seconds, limit, expected, group)


def _habit(submissions: int) -> str:
    """Return the group of a user who submitted so often: nobody is named."""
    return GROUPS[(submissions >= _FEW) + (submissions >= _MANY)]


def _as_recorded(runs: Sequence[Run], jobs: Sequence[Job]) -> Iterable[Ended]:
    for run, job in zip(runs, jobs):
        started = max(run.ended - run.seconds, job.submitted)
        yield Ended(job, started, started + run.seconds)


def _rows(jobs: Sequence[Job], pool: int, step: Callable[[str], None]) -> Iterable[Row]:
    policies: tuple[tuple[Ordering, float], ...] = (
        (fifo.POLICY, math.inf), (easy.POLICY, math.inf), (size_only.POLICY, OVERDUE),
        (shuffled_work.policy(jobs), OVERDUE), (forecast_work.policy(jobs), OVERDUE), (oracle_work.POLICY, OVERDUE),
    )  # fmt: skip
    for policy, overdue in policies:
        yield _row(policy.name, policy.says, simulate(jobs, pool, policy, overdue))
        step(policy.name)


def _row(name: str, says: str, ended: Sequence[Ended]) -> Row:
    sizes = {_class_name(most): value for most, value in by(ended, lambda each: _class(each.job.size)).items()}
    users = by(ended, lambda each: each.job.group)
    return Row(name, says, figures(ended), sizes, {group: users[group] for group in GROUPS if group in users})


def _class(count: int) -> int:
    """Return the power of two that a size does not exceed."""
    return 1 << (count - 1).bit_length()


def _class_name(most: int) -> str:
    return "%d" % most if most <= 2 else "%d to %d" % (most // 2 + 1, most)
