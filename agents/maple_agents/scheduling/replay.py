"""A site's own history played again under other orderings and limits: what each would have changed, as JSON and a page.

The pool is one count of GPUs, nodes or processors: partitions, reservations and node shapes are not modelled.
Thus figures are compared with those of `easy` on the same pool, not with the waits that were recorded.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from typing import TypedDict

from ..base.page import Bar, bars, document, paragraph, table
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


class Policy(Figures):
    """An ordering and what it came to: over all, by size class, by how much the user submits. Times in hours."""

    policy: str
    says: str
    sizes: dict[str, Figures]
    users: dict[str, Figures]


class Limit(TypedDict):
    """A rule that shortens limits to *factor* times the longest of three runs. *asked_before*, *_after*: node hours."""

    factor: float
    changed: int
    killed: int
    asked_before: float
    asked_after: float


class Replay(TypedDict):
    """`maple admin replay`. *recorded*: waits as they were; *policies*: on the same pool.

    *foretold*: share of jobs that had a forecast when they came. *left_out*: jobs without a size or a run.
    """

    unit: str
    pool: int
    load: float
    jobs: int
    left_out: int
    foretold: float
    recorded: Policy
    policies: list[Policy]
    limits: list[Limit]


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
    policies = list(_policies(jobs, pool, step))
    limits = [_limit(factor, shortened(played, factor)) for factor in FACTORS]
    foretold = sum(job.expected is not None for job in jobs) / len(jobs)
    ended = list(_as_recorded(usable, jobs))
    return Replay(
        unit=unit, pool=pool, load=load(ended, pool), jobs=len(jobs), left_out=len(runs) - len(usable),
        foretold=foretold, recorded=_policy("recorded", "as it was", ended), policies=policies, limits=limits,
    )  # fmt: skip


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
    forecasts = {id(each.run): each.answer.seconds for each in played if isinstance(each.answer, Forecast)}
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


def _policies(jobs: Sequence[Job], pool: int, step: Callable[[str], None]) -> Iterable[Policy]:
    policies: tuple[tuple[Ordering, float], ...] = (
        (fifo.POLICY, math.inf), (easy.POLICY, math.inf), (size_only.POLICY, OVERDUE),
        (shuffled_work.policy(jobs), OVERDUE), (forecast_work.policy(jobs), OVERDUE), (oracle_work.POLICY, OVERDUE),
    )  # fmt: skip
    for policy, overdue in policies:
        yield _policy(policy.name, policy.says, simulate(jobs, pool, policy, overdue))
        step(policy.name)


def _policy(name: str, says: str, ended: Sequence[Ended]) -> Policy:
    sizes = {_class_name(most): value for most, value in by(ended, lambda each: _class(each.job.size)).items()}
    users = by(ended, lambda each: each.job.group)
    by_habit = {group: users[group] for group in GROUPS if group in users}
    return {"policy": name, "says": says, **figures(ended), "sizes": sizes, "users": by_habit}


def _limit(factor: float, done: Shortened) -> Limit:
    asked_before, asked_after = done.asked_before, done.asked_after
    return Limit(
        factor=factor, changed=done.changed, killed=done.killed, asked_before=asked_before, asked_after=asked_after
    )


def _class(count: int) -> int:
    """Return the power of two that a size does not exceed."""
    return 1 << (count - 1).bit_length()


def _class_name(most: int) -> str:
    return "%d" % most if most <= 2 else "%d to %d" % (most // 2 + 1, most)


_ORDERINGS = "Hours, but for the slowdown: time to the end over run time, at least ten minutes of it; the mean."
_COLUMNS: tuple[tuple[str, Callable[[Figures], str]], ...] = (
    ("mean wait", lambda figures: _hours(figures["wait"])),
    ("one in 100 waits", lambda figures: _hours(figures["late"])),
    ("longest wait", lambda figures: _hours(figures["worst"])),
    ("to the end", lambda figures: _hours(figures["completion"])),
    ("slowdown", lambda figures: "%.2f" % figures["slowdown"]),
)
BUSY = 0.6  # of the pool: below it orderings hardly differ


def page(replay: Replay, source: str) -> str:
    """Return the HTML of the page; *source*: what the jobs were read from, as it is shown."""
    return document("Maple: a history played again", _lines(replay, source))


def _lines(replay: Replay, source: str) -> Iterator[str]:
    yield "<h1>A history played again</h1>"
    yield paragraph(summary(replay, source))
    yield "<h2>Orderings: mean wait</h2>"
    yield _bars(replay["policies"])
    yield "<dl>%s</dl>" % "".join(
        "<dt>%s</dt><dd>%s</dd>" % (escape(row["policy"]), escape(row["says"])) for row in replay["policies"]
    )
    rows = [_figures(row) for row in (replay["recorded"], *replay["policies"])]
    yield table(_ORDERINGS, ["", *(name for name, _ in _COLUMNS)], rows)
    yield paragraph(LIMITS_OF_IT, soft=True)
    yield "<h2>Mean wait by size</h2>"
    yield _groups("Hours; jobs by %s." % replay["unit"], replay["policies"], lambda row: row["sizes"])
    yield "<h2>Mean wait by how much a user submits</h2>"
    yield _groups("Hours; nobody is named.", replay["policies"], lambda row: row["users"])
    yield "<h2>Shorter limits</h2>"
    yield paragraph("Of rules that set a limit to so many times the longest of a job's last three runs.")
    yield table("", ["factor", "jobs with a shorter limit", "of these killed", "hours asked for before", "after"], [
        ["%g" % limit["factor"], "%d" % limit["changed"], "%d" % limit["killed"], "%.0f" % limit["asked_before"],
         "%.0f" % limit["asked_after"]] for limit in replay["limits"]])  # fmt: skip


LIMITS_OF_IT = (
    "The pool is one count: partitions, reservations, priorities and node shapes are not modelled. Compare orderings "
    "with easy (first come, first served, with backfill), not with what was recorded. control orders by run times "
    "without information and oracle by the true ones: what forecasts bring lies between the two. All but fifo and easy "
    "let a job that has waited a week stand first."
)


def summary(replay: Replay, source: str) -> str:
    """Return what was played again, in a sentence."""
    left = ", %d left out for want of a size or a run" % replay["left_out"] if replay["left_out"] else ""
    idle = " Little waits on a pool that is loaded so little: --pool names a smaller one."
    return "%d jobs of %s on %d %s, which they load to %.0f %%; %.0f %% of them had a forecast when they came%s.%s" % (
        replay["jobs"], source, replay["pool"], replay["unit"], 100 * replay["load"], 100 * replay["foretold"], left,
        idle if replay["load"] < BUSY else "",
    )  # fmt: skip


def _hours(hours: float) -> str:
    return "%.2f" % hours


def _figures(row: Policy) -> list[str]:
    return [row["policy"], *(show(row) for _, show in _COLUMNS)]


def _groups(caption: str, rows: Sequence[Policy], of: Callable[[Policy], dict[str, Figures]]) -> str:
    names = list(of(rows[0]))
    counts = ["jobs", *("%d" % of(rows[0])[name]["jobs"] for name in names)]
    waits = [[row["policy"], *(_hours(of(row)[name]["wait"]) for name in names)] for row in rows]
    return table(caption, ["", *names], [counts, *waits])


def _bars(rows: Sequence[Policy]) -> str:
    """Return the mean waits as bars; easy, which others are compared with, in another colour."""
    shown = {row["policy"]: "%s h" % _hours(row["wait"]) for row in rows}
    looks = {row["policy"]: "base" if row["policy"] == "easy" else "bar" for row in rows}
    return bars(
        "Mean wait by ordering",
        [Bar(row["policy"], row["wait"], shown[row["policy"]], row["says"], looks[row["policy"]]) for row in rows],
    )
