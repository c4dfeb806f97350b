"""Parts of a self-contained HTML page: tables, bars, columns by week; no script, and nothing from elsewhere."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import NamedTuple

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #5b6570; --rule: #d6dbe1; --bar: #3567a8; --base: #9aa7b5;
  --good: #3b8f5a; --bad: #b8443f; --warm: #c98a2b; --page: #fff }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ec; --soft: #9aa5b1; --rule: #38414b; --bar: #79a8e6;
  --base: #5d6975; --good: #6fc18d; --bad: #e5827d; --warm: #e0b062; --page: #15191e } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page); max-width: 62rem;
  margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem }
h2 { font-size: 1.15rem; margin-top: 2.2rem }
p { max-width: 46rem }
a { color: var(--bar) }
.soft, caption, figcaption { color: var(--soft) }
.wide { overflow-x: auto }
table { border-collapse: collapse; width: 100% }
caption { text-align: left }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem; border-bottom: 1px solid var(--rule);
  font-variant-numeric: tabular-nums }
.number { text-align: right }
.long { min-width: 9em }
figure { margin: 1.2rem 0 }
svg { width: 100%; height: auto }
dl { display: grid; grid-template-columns: max-content auto; gap: .1rem 1.5rem; color: var(--soft); font-size: 14px }
dd { margin: 0 }
text { fill: var(--ink); font-size: 13px }
.bar { fill: var(--bar) }
.base { fill: var(--base) }
.soft { fill: var(--soft) }
.good { fill: var(--good); color: var(--good) }
.bad { fill: var(--bad); color: var(--bad) }
.warm { fill: var(--warm); color: var(--warm) }
nav { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; border-bottom: 1px solid var(--rule); padding-bottom: .5rem }
nav [aria-current] { color: var(--ink); font-weight: 600; text-decoration: none }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; font-size: 14px; color: var(--soft) }
.legend i { display: inline-block; width: .8em; height: .8em; margin-right: .4em; background: currentColor }
.legend .bar { color: var(--bar) }
.legend .base { color: var(--base) }
"""
_BAR, _LEFT, _WIDTH = 26, 120, 760  # pixels
_HIGH, _NAME = 160, 8  # pixels of the columns, and of a letter below them
_ABOVE = 18  # pixels for the number above a column
_LONG = 24  # letters of a cell that may be folded
_NUMBER = re.compile(r"(?:[-+]?[0-9][0-9,.]*(?: ?[%a-z]{1,4})?|-|\?|)")


class Bar(NamedTuple):
    """One bar. *shown*: its value in words; *says*: told where one points at it; *look*: a class of the style."""

    name: str
    value: float
    shown: str
    says: str = ""
    look: str = "bar"


def document(title: str, parts: Iterable[str]) -> str:
    """Return the whole page; *parts* are HTML."""
    head = '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
    head += '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    head += "<title>%s</title>\n<style>%s</style></head><body>\n" % (escape(title), STYLE)
    return head + "\n".join(parts) + "\n</body></html>\n"


def paragraph(text: str, soft: bool = False) -> str:
    """Return a paragraph of plain text."""
    return "<p%s>%s</p>" % (' class="soft"' if soft else "", escape(text))


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of plain text; a column of numbers stands at its right edge."""
    body = [list(row) for row in rows]
    looks = [_look([row[at] for row in body if at < len(row)]) for at in range(len(head))]
    caption = "<caption>%s</caption>" % escape(caption) if caption else ""
    first = "".join('<th scope="col"%s>%s</th>' % (look, escape(cell)) for cell, look in zip(head, looks))
    cells = ("".join("<td%s>%s</td>" % (look, escape(cell)) for cell, look in zip(row, looks)) for row in body)
    return '<div class="wide"><table>%s<thead><tr>%s</tr></thead><tbody>%s</tbody></table></div>' % (
        caption, first, "".join("<tr>%s</tr>" % row for row in cells),
    )  # fmt: skip


def _look(cells: Sequence[str]) -> str:
    """Return the attribute of a column's cells, by what stands in them."""
    if cells and all(_NUMBER.fullmatch(cell) for cell in cells):
        return ' class="number"'
    return ' class="long"' if max(map(len, cells), default=0) > _LONG else ""


def bars(label: str, rows: Sequence[Bar]) -> str:
    """Return bars, one below the other; *label*: what they show."""
    most = max((row.value for row in rows), default=0.0) or 1.0
    begin = min(_WIDTH // 2, max([_LEFT, *(_NAME * len(row.name) + 10 for row in rows)]))
    parts = []
    for at, row in enumerate(rows):
        top, wide = at * _BAR, (_WIDTH - begin - 90) * row.value / most
        parts.append('<text x="0" y="%d">%s</text>' % (top + 17, escape(row.name)))
        parts.append('<rect class="%s" x="%d" y="%d" width="%.1f" height="18"><title>%s</title></rect>' % (
            row.look, begin, top + 4, wide, escape(row.says or row.shown)))  # fmt: skip
        parts.append('<text x="%.1f" y="%d">%s</text>' % (begin + wide + 6, top + 17, escape(row.shown)))
    return _drawing(label, len(rows) * _BAR + 4, parts)


def columns(label: str, looks: Mapping[str, str], rows: Mapping[str, Mapping[str, int]]) -> str:
    """Return a column for each of *rows*, its parts one above the other and their sum above it, with a legend.

    *looks*: the class of the style of each part, in the order from the bottom. *rows*: by name, how many of each part.
    """
    sums = {name: sum(row.get(part, 0) for part in looks) for name, row in rows.items()}
    most, wide = max(sums.values(), default=0) or 1, _WIDTH / max(1, len(rows))
    each = max(1, math.ceil(_NAME * max(map(len, rows), default=0) / wide))  # columns to a name, for want of room
    numbers = {name: f"{number:,}" for name, number in sums.items() if number}
    fit = _NAME * max(map(len, numbers.values()), default=0) <= wide
    shapes: list[str] = []
    for at, (name, row) in enumerate(rows.items()):
        left = (at + 0.1) * wide
        shapes += _column(
            left, wide * 0.8, name, [(part, look, row.get(part, 0)) for part, look in looks.items()], most
        )
        if at % each == 0:
            shapes.append('<text x="%.1f" y="%d">%s</text>' % (left, _ABOVE + _HIGH + 16, escape(name)))
        if name in numbers and (fit or sums[name] == most):
            top = _ABOVE + _HIGH * (1 - sums[name] / most) - 4
            shapes.append('<text x="%.1f" y="%.1f">%s</text>' % (left, top, numbers[name]))
    legend = "".join('<span><i class="%s"></i>%s</span>' % (look, escape(part)) for part, look in looks.items())
    return _drawing(label, _ABOVE + _HIGH + 20, shapes, '<div class="legend">%s</div>' % legend)


def _column(left: float, wide: float, name: str, parts: Sequence[tuple[str, str, int]], most: int) -> Iterator[str]:
    """Yield the parts of a column, each (name, look, number), from the bottom; the highest column has *most*."""
    top = float(_ABOVE + _HIGH)
    for part, look, number in parts:
        high = _HIGH * number / most
        top -= high
        if number:
            yield '<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"><title>%s</title></rect>' % (
                look, left, top, wide, high, escape(f"{name}: {part}: {number:,}"),
            )  # fmt: skip


def _drawing(label: str, high: int, shapes: Iterable[str], legend: str = "") -> str:
    return (
        '<figure><figcaption>%s</figcaption>%s<svg viewBox="0 0 %d %d" role="img" aria-label="%s">%s</svg></figure>'
    ) % (escape(label), legend, _WIDTH, high, escape(label, quote=True), "".join(shapes))
