"""The lines of a block as rows, and those that are kept of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from ..literals import Sort

DIGITS = b"0123456789"
LIGHT = DIGITS + b"abcdef -.\r"  # weigh nothing in a fingerprint: numbers, hashes, what stands around them


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


def gaps(lines: list[Kept]) -> Iterator[tuple[Kept, int]]:
    """Yield each line with how many lines between it and the one before were not kept."""
    before = 0
    for line in lines:
        yield line, line.number - before - 1
        before = line.number
