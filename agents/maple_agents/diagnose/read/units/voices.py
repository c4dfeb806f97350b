"""What lines are put together from and into: a line, the unit of an event, the voice of a process.

The lines of a block as rows, and those that are kept of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from ...values import Severity
from ..literals import Sort
from .prefixes import Prefix
from .tracebacks import Traceback

DIGITS = b"0123456789"
LIGHT = DIGITS + b"abcdef -.\r"  # weigh nothing in a fingerprint: numbers, hashes, what stands around them

AT_MOST = 400  # lines of a unit
ASIDE = ("Exception in thread ", "Error in atexit._run_exitfuncs")  # how a program ends doesn't know of it


@dataclass(slots=True)
class Line:
    """A line with what its prefix tells. *words*: from where they begin."""

    number: int
    text: str
    words: str
    prefix: Prefix
    sort: Sort | None
    key: int = 0


@dataclass
class Unit:
    """Lines of one event. *telling*: which of them tells it."""

    lines: list[Line]
    severity: Severity
    telling: int = 0
    traceback: Traceback | None = None
    chained: int = 0
    rank: int | None = None
    node: str = ""
    at: tuple[float, bool] | None = None
    loose: int = 0
    frames: list[tuple[str, int]] = field(default_factory=list)
    aside: bool = False  # of a thread beside the main one: a program goes on, and ends well, without it

    @property
    def line(self) -> Line:
        return self.lines[self.telling]


@dataclass
class Voice:
    """One process's lines, as far as they can be told from others'."""

    open: list[Unit] = field(default_factory=list)
    current: Unit | None = None
    last: Unit | None = None  # the last traceback that ended
    chains: bool = False
    connector: Line | None = None
    seen: int = 0
    before: Line | None = None
    box: list[Line] | None = None
    ruler: str = ""
    fields: dict[str, str] = field(default_factory=dict)

    @property
    def ignored(self) -> bool:
        """Whether what comes next was raised where Python goes on: in a finalizer."""
        return self.before is not None and self.before.words.startswith("Exception ignored in")


class Kept(NamedTuple):
    """A line to look at. *sort*: why, None for a neighbour; *key*: equal for lines that differ by numbers alone;
    *drawn*: how often a bar on it moved on.
    """

    number: int
    raw: bytes
    sort: Sort | None
    key: int
    drawn: int = 0


@dataclass
class More:
    """Lines that say what a kept one says, and were only counted."""

    count: int = 0
    last: int = 0
    ranks: set[int] = field(default_factory=set)


@dataclass
class Rows:
    """The lines of a block as rows; the first of them is line *first* of the file."""

    data: bytes
    first: int
    lines: list[bytes]

    def __len__(self) -> int:
        return len(self.lines)


def rows(data: bytes, first: int) -> Rows:
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return Rows(data, first, lines)


def fingerprint(line: bytes) -> int:
    """Return a number that is equal for lines that differ by numbers alone."""
    return hash(line.translate(None, LIGHT))


def heavy_parts(here: Rows) -> list[bytes]:
    """Return what of each row weighs in its fingerprint: the hash of that is the fingerprint."""
    return here.data.translate(None, LIGHT).split(b"\n")[: len(here)]


def gaps(lines: list[Kept]) -> Iterator[tuple[Kept, int]]:
    """Yield each line with how many lines between it and the one before were not kept."""
    before = 0
    for line in lines:
        yield line, line.number - before - 1
        before = line.number
