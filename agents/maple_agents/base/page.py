"""Parts of a self-contained HTML page: tables, bars, columns by week; no script, and nothing from elsewhere."""

from __future__ import annotations

import math
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
.soft, caption { color: var(--soft) }
.wide { overflow-x: auto }
table { border-collapse: collapse; width: 100% }
caption { text-align: left }
th, td { text-align: right; padding: .3rem .6rem; border-bottom: 1px solid var(--rule);
  font-variant-numeric: tabular-nums }
th:first-child, td:first-child { text-align: left }
.words td, .words th { text-align: left; vertical-align: top }
.words td:nth-child(2), .words td:nth-child(3) { min-width: 9em }
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


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]], words: bool = False) -> str:
    """Return a table of plain text; *words*: its cells are words, not numbers."""
    caption = "<caption>%s</caption>" % escape(caption) if caption else ""
    first = "".join('<th scope="col">%s</th>' % escape(cell) for cell in head)
    body = "".join("<tr>%s</tr>" % "".join("<td>%s</td>" % escape(cell) for cell in row) for row in rows)
    return '<div class="wide"><table%s>%s<thead><tr>%s</tr></thead><tbody>%s</tbody></table></div>' % (
        ' class="words"' if words else "", caption, first, body,
    )  # fmt: skip


def bars(label: str, rows: Sequence[Bar]) -> str:
    """Return bars, one below the other; *label*: what they show, for who cannot see them."""
    most = max((row.value for row in rows), default=0.0) or 1.0
    parts = []
    for at, row in enumerate(rows):
        top, wide = at * _BAR, (_WIDTH - _LEFT - 90) * row.value / most
        parts.append('<text x="0" y="%d">%s</text>' % (top + 17, escape(row.name)))
        parts.append('<rect class="%s" x="%d" y="%d" width="%.1f" height="18"><title>%s</title></rect>' % (
            row.look, _LEFT, top + 4, wide, escape(row.says or row.shown)))  # fmt: skip
        parts.append('<text x="%.1f" y="%d">%s</text>' % (_LEFT + wide + 6, top + 17, escape(row.shown)))
    return _drawing(label, len(rows) * _BAR + 4, parts)


def columns(label: str, looks: Mapping[str, str], rows: Mapping[str, Mapping[str, int]]) -> str:
    """Return a column for each of *rows*, its parts one above the other, with a legend.

    *looks*: the class of the style of each part, in the order from the bottom. *rows*: by name, how many of each part.
    """
    most = max((sum(row.get(part, 0) for part in looks) for row in rows.values()), default=0) or 1
    wide = _WIDTH / max(1, len(rows))
    each = max(1, math.ceil(_NAME * max(map(len, rows), default=0) / wide))  # columns to a name, for want of room
    shapes: list[str] = []
    for at, (name, row) in enumerate(rows.items()):
        left = (at + 0.1) * wide
        shapes += _column(
            left, wide * 0.8, name, [(part, look, row.get(part, 0) / most) for part, look in looks.items()]
        )
        if at % each == 0:
            shapes.append('<text x="%.1f" y="%d">%s</text>' % (left, _HIGH + 16, escape(name)))
    legend = "".join('<span><i class="%s"></i>%s</span>' % (look, escape(part)) for part, look in looks.items())
    return '<div class="legend">%s</div>' % legend + _drawing(label, _HIGH + 20, shapes)


def _column(left: float, wide: float, name: str, parts: Sequence[tuple[str, str, float]]) -> Iterator[str]:
    """Yield the parts of a column, each (name, look, share of the highest column), from the bottom."""
    top = float(_HIGH)
    for part, look, share in parts:
        top -= _HIGH * share
        if share:
            yield '<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"><title>%s</title></rect>' % (
                look, left, top, wide, _HIGH * share, escape("%s: %s" % (name, part)),
            )  # fmt: skip


def _drawing(label: str, high: int, shapes: Iterable[str]) -> str:
    return '<svg viewBox="0 0 %d %d" role="img" aria-label="%s">%s</svg>' % (
        _WIDTH, high, escape(label, quote=True), "".join(shapes),
    )  # fmt: skip
