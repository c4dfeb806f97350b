"""A document as passages: pieces of some hundred words, each with the headings above it and its first line.

Every way of reading is linear in the text, whatever stands in it, and what comes out may be shown on any terminal.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from ...base.secrets.masking import masked_lines
from ..read.clean_lines import cleaned

WORDS = 110  # of a passage, at least, where its section has so many; MiniLM reads 200
LETTERS = 1200  # of a passage, at most
HEADING = 160  # characters of all headings above a passage
MOST = 5000  # passages of one document


class Piece(NamedTuple):
    """A passage of a document: the line that it begins at (0: unknown), its headings joined, its words."""

    line: int
    heading: str
    text: str


class Row(NamedTuple):
    """A line of text. *level*: of a heading, 1 is the highest; 0: plain text."""

    line: int
    text: str
    level: int = 0


_FENCE = re.compile(r"\s{0,3}(```|~~~)")
_HASHES = re.compile(r"(#{1,6})\s+(\S.*?)\s*#*\Z")
_UNDERLINE = re.compile(r"([=\-~^\"'`#*+.:_])\1{2,}\s*\Z")
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]{0,15})\b")
_SILENT = ("script", "style", "template", "svg", "head", "nav")
_BLOCKS = frozenset(
    ("p", "div", "li", "ul", "ol", "tr", "td", "th", "table", "br", "hr", "section", "article", "pre", "blockquote")
    + ("dd", "dt", "dl", "main", "header", "footer", "body")
)


def pieces(text: str, kind: str) -> list[Piece]:
    """Return the passages of a *text* of that *kind*: "markdown", "rest", "html" or "text".

    Secrets are masked, and what a terminal would obey is gone.
    """
    rows = READERS[kind](masked_lines(text))
    return list(_pieces(_plain(rows)))[:MOST]


def _plain(rows: Iterable[Row]) -> Iterator[Row]:
    for row in rows:
        if not row.text:
            yield row
            continue
        for start in range(0, max(1, min(len(row.text), 40 * LETTERS)), LETTERS):
            text = cleaned(row.text[start : start + LETTERS].encode("utf-8", "replace"))
            yield row._replace(text=" ".join(text.split()))


def _pieces(rows: Iterable[Row]) -> Iterator[Piece]:
    above: list[tuple[int, str]] = []
    held: list[Row] = []
    letters = words = 0
    for row in rows:
        full = letters + len(row.text) > LETTERS or not row.text and words >= WORDS
        if held and (row.level or full):
            yield from _joined(held, above)
            held, letters, words = [], 0, 0
        if row.level:
            above = [*(heading for heading in above if heading[0] < row.level), (row.level, row.text)]
        elif row.text:
            held.append(row)
            letters, words = letters + len(row.text) + 1, words + row.text.count(" ") + 1
    yield from _joined(held, above)


def _joined(held: list[Row], above: list[tuple[int, str]]) -> Iterator[Piece]:
    if held:
        heading = " › ".join(text for _, text in above if text)
        yield Piece(held[0].line, heading[-HEADING:], " ".join(row.text for row in held))


def _markdown(text: str) -> Iterator[Row]:
    fenced = False
    for row in _underlined(text, ("=", "-")):
        if _FENCE.match(row.text):
            fenced = not fenced
            continue
        match = _HASHES.match(row.text) if not fenced else None
        yield row._replace(text=match[2], level=len(match[1])) if match else row


def _underlined(text: str, signs: Iterable[str] = ()) -> Iterator[Row]:
    """Yield the lines; one that has a line of signs below it, as long as itself, is a heading.

    Its level is that of the sign: in setext (Markdown) the order of *signs*, in reST the order in which they come.
    """
    lines = text.splitlines()
    order = list(signs)
    skipped = False
    for number, line in enumerate(lines, 1):
        if skipped:
            skipped = False
            continue
        below = _UNDERLINE.match(lines[number]) if number < len(lines) else None
        title = line.strip()
        if below and title and not _UNDERLINE.match(line) and len(lines[number].rstrip()) >= min(len(title), 60) - 1:
            sign = below[1]
            order += [sign] if sign not in order else []
            skipped = True
            yield Row(number, title, order.index(sign) + 1)
        elif _UNDERLINE.match(line):
            yield Row(number, "")
        else:
            yield Row(number, line)


def _html(text: str) -> Iterator[Row]:
    """Yield the words between tags; what is never closed is text, or nothing."""
    line, at, level = 1, 0, 0
    held: list[str] = []
    while at < len(text):
        start = text.find("<", at)
        start = len(text) if start < 0 else start
        held.append(text[at:start])
        begun, line = line, line + text.count("\n", at, start)
        end, closing, name = _tag(text, start)
        heading = re.fullmatch(r"h[1-6]", name) is not None
        if name in _BLOCKS or heading:
            words = " ".join(html.unescape("".join(held)).split())
            yield Row(begun + _blank(text, at, start), words, level)
            if not level:
                yield Row(line, "")
            held = []
            level = int(name[1]) if heading and not closing else 0
        if name in _SILENT and not closing:
            end = _silence(text, name, end)
        line += text.count("\n", start, end)
        at = end
    yield Row(line, " ".join(html.unescape("".join(held)).split()), level)


def _blank(text: str, at: int, end: int) -> int:
    """Return how many lines end before the first word of a piece."""
    return text.count("\n", at, at + len(text[at:end]) - len(text[at:end].lstrip()))


def _silence(text: str, name: str, at: int) -> int:
    """Return where a script or the like ends, whatever stands in it."""
    match = re.compile("</" + name, re.IGNORECASE).search(text, at)
    return match.start() if match is not None else len(text)


def _tag(text: str, start: int) -> tuple[int, bool, str]:
    """Return where what begins at a `<` ends, whether it closes, and its name; "" for a comment and for plain text."""
    if text.startswith("<!--", start):
        end = text.find("-->", start)
        return (end + 3 if end >= 0 else len(text)), False, ""
    match = _TAG.match(text, start)
    if match is None:
        end = text.find(">", start) if text.startswith(("<!", "<?"), start) else -1
        return (end + 1 if end >= 0 else start + 1), False, ""
    end = text.find(">", match.end())
    return (end + 1 if end >= 0 else len(text)), bool(match[1]), match[2].lower()


READERS: dict[str, Callable[[str], Iterator[Row]]] = {
    "markdown": _markdown,
    "rest": _underlined,
    "text": _underlined,
    "html": _html,
}
