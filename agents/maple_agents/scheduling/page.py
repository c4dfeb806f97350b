"""A replay as one self-contained page: tables and bars, no script and nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html import escape

from .queueing.jobs import Figures
from .replay import Replay, Row

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #5b6570; --rule: #d6dbe1; --bar: #3567a8; --base: #9aa7b5;
  --page: #fff }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ec; --soft: #9aa5b1; --rule: #38414b; --bar: #79a8e6;
  --base: #5d6975; --page: #15191e } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page); max-width: 62rem;
  margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem }
h2 { font-size: 1.15rem; margin-top: 2.2rem }
p { max-width: 46rem }
.soft, caption { color: var(--soft) }
.wide { overflow-x: auto }
table { border-collapse: collapse; width: 100% }
caption { text-align: left }
th, td { text-align: right; padding: .3rem .6rem; border-bottom: 1px solid var(--rule);
  font-variant-numeric: tabular-nums }
th:first-child, td:first-child { text-align: left }
svg { width: 100%; height: auto }
dl { display: grid; grid-template-columns: max-content auto; gap: .1rem 1.5rem; color: var(--soft); font-size: 14px }
dd { margin: 0 }
text { fill: var(--ink); font-size: 13px }
.bar { fill: var(--bar) }
.base { fill: var(--base) }
"""
_ORDERINGS = "Hours, but for the slowdown: time to the end over run time, at least ten minutes of it; the mean."
_COLUMNS: tuple[tuple[str, Callable[[Figures], str]], ...] = (
    ("mean wait", lambda figures: _hours(figures["wait"])),
    ("one in 100 waits", lambda figures: _hours(figures["late"])),
    ("longest wait", lambda figures: _hours(figures["worst"])),
    ("to the end", lambda figures: _hours(figures["completion"])),
    ("slowdown", lambda figures: "%.2f" % figures["slowdown"]),
)
BUSY = 0.6  # of the pool: below it orderings hardly differ
_BAR, _LEFT, _WIDTH = 26, 120, 760  # pixels


def page(replay: Replay, source: str) -> str:
    """Return the HTML of the page; *source*: what the jobs were read from, as it is shown."""
    return "\n".join(_lines(replay, source)) + "\n"


def _lines(replay: Replay, source: str) -> Iterator[str]:
    yield '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield "<title>Maple: a history played again</title>\n<style>%s</style></head><body>" % _STYLE
    yield "<h1>A history played again</h1>"
    yield "<p>%s</p>" % escape(summary(replay, source))
    yield "<h2>Orderings: mean wait</h2>"
    yield _bars(replay.rows)
    yield "<dl>%s</dl>" % "".join(
        "<dt>%s</dt><dd>%s</dd>" % (escape(row.name), escape(row.says)) for row in replay.rows
    )
    rows = [_figures(row) for row in (replay.recorded, *replay.rows)]
    yield _table(_ORDERINGS, ["", *(name for name, _ in _COLUMNS)], rows)
    yield '<p class="soft">%s</p>' % escape(LIMITS_OF_IT)
    yield "<h2>Mean wait by size</h2>"
    yield _groups("Hours; jobs by %s." % replay.unit, replay.rows, lambda row: row.sizes)
    yield "<h2>Mean wait by how much a user submits</h2>"
    yield _groups("Hours; nobody is named.", replay.rows, lambda row: row.users)
    yield "<h2>Shorter limits</h2>"
    yield "<p>Of rules that set a limit to so many times the longest of a job's last three runs.</p>"
    yield _table("", ["factor", "jobs with a shorter limit", "of these killed", "hours asked for before", "after"], [
        ["%g" % rule.factor, "%d" % rule.done.changed, "%d" % rule.done.killed, "%.0f" % rule.done.asked_before,
         "%.0f" % rule.done.asked_after] for rule in replay.rules])  # fmt: skip
    yield "</body></html>"


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


def _table(caption: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    caption = "<caption>%s</caption>" % escape(caption) if caption else ""
    first = "".join('<th scope="col">%s</th>' % escape(cell) for cell in head)
    body = "".join("<tr>%s</tr>" % "".join("<td>%s</td>" % escape(cell) for cell in row) for row in rows)
    return '<div class="wide"><table>%s<thead><tr>%s</tr></thead><tbody>%s</tbody></table></div>' % (
        caption,
        first,
        body,
    )


def _groups(caption: str, rows: Sequence[Row], of: Callable[[Row], dict[str, Figures]]) -> str:
    names = list(of(rows[0]))
    counts = ["jobs", *("%d" % of(rows[0])[name]["jobs"] for name in names)]
    waits = [[row.name, *(_hours(of(row)[name]["wait"]) for name in names)] for row in rows]
    return _table(caption, ["", *names], [counts, *waits])


def _bars(rows: Sequence[Row]) -> str:
    """Return the mean waits as bars; easy, which others are compared with, in another colour."""
    most = max((row.all["wait"] for row in rows), default=0.0) or 1.0
    parts = []
    for at, row in enumerate(rows):
        top, wide = at * _BAR, (_WIDTH - _LEFT - 90) * row.all["wait"] / most
        parts.append('<text x="0" y="%d">%s</text>' % (top + 17, escape(row.name)))
        parts.append('<rect class="%s" x="%d" y="%d" width="%.1f" height="18"><title>%s</title></rect>' % (
            "base" if row.name == "easy" else "bar", _LEFT, top + 4, wide, escape(row.says)))  # fmt: skip
        parts.append('<text x="%.1f" y="%d">%s h</text>' % (_LEFT + wide + 6, top + 17, _hours(row.all["wait"])))
    return '<svg viewBox="0 0 %d %d" role="img" aria-label="Mean wait by ordering">%s</svg>' % (
        _WIDTH, len(rows) * _BAR + 4, "".join(parts),
    )  # fmt: skip
