"""A replay as one self-contained page: tables and bars, no script and nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html import escape

from ..base.page import Bar, bars, document, paragraph, table
from .queueing.jobs import Figures
from .replay import Replay, Row

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
    yield _bars(replay.rows)
    yield "<dl>%s</dl>" % "".join(
        "<dt>%s</dt><dd>%s</dd>" % (escape(row.name), escape(row.says)) for row in replay.rows
    )
    rows = [_figures(row) for row in (replay.recorded, *replay.rows)]
    yield table(_ORDERINGS, ["", *(name for name, _ in _COLUMNS)], rows)
    yield paragraph(LIMITS_OF_IT, soft=True)
    yield "<h2>Mean wait by size</h2>"
    yield _groups("Hours; jobs by %s." % replay.unit, replay.rows, lambda row: row.sizes)
    yield "<h2>Mean wait by how much a user submits</h2>"
    yield _groups("Hours; nobody is named.", replay.rows, lambda row: row.users)
    yield "<h2>Shorter limits</h2>"
    yield paragraph("Of rules that set a limit to so many times the longest of a job's last three runs.")
    yield table("", ["factor", "jobs with a shorter limit", "of these killed", "hours asked for before", "after"], [
        ["%g" % rule.factor, "%d" % rule.done.changed, "%d" % rule.done.killed, "%.0f" % rule.done.asked_before,
         "%.0f" % rule.done.asked_after] for rule in replay.rules])  # fmt: skip


LIMITS_OF_IT = (
    "The pool is one count: partitions, reservations, priorities and node shapes are not modelled. Compare orderings "
    "with easy (first come, first served, with backfill), not with what was recorded. control orders by run times "
    "without information and oracle by the true ones: what forecasts bring lies between the two. All but fifo and easy "
    "let a job that has waited a week stand first."
)


def summary(replay: Replay, source: str) -> str:
    """Return what was played again, in a sentence."""
    left = ", %d left out for want of a size or a run" % replay.left_out if replay.left_out else ""
    idle = " Little waits on a pool that is loaded so little: --pool names a smaller one." if replay.load < BUSY else ""
    return "%d jobs of %s on %d %s, which they load to %.0f %%; %.0f %% of them had a forecast when they came%s.%s" % (
        replay.jobs, source, replay.pool, replay.unit, 100 * replay.load, 100 * replay.foretold, left, idle,
    )  # fmt: skip


def _hours(hours: float) -> str:
    return "%.2f" % hours


def _figures(row: Row) -> list[str]:
    return [row.name, *(show(row.all) for _, show in _COLUMNS)]


def _groups(caption: str, rows: Sequence[Row], of: Callable[[Row], dict[str, Figures]]) -> str:
    names = list(of(rows[0]))
    counts = ["jobs", *("%d" % of(rows[0])[name]["jobs"] for name in names)]
    waits = [[row.name, *(_hours(of(row)[name]["wait"]) for name in names)] for row in rows]
    return table(caption, ["", *names], [counts, *waits])


def _bars(rows: Sequence[Row]) -> str:
    """Return the mean waits as bars; easy, which others are compared with, in another colour."""
    shown = {row.name: "%s h" % _hours(row.all["wait"]) for row in rows}
    looks = {row.name: "base" if row.name == "easy" else "bar" for row in rows}
    return bars(
        "Mean wait by ordering",
        [Bar(row.name, row.all["wait"], shown[row.name], row.says, looks[row.name]) for row in rows],
    )
