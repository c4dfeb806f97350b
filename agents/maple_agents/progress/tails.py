"""The beginning and the end of a file, in pieces as a terminal would draw them; never the whole of a long one.

A piece ends at a line feed, a carriage return or a backspace: a bar that is drawn again and again is many pieces of one
line. Only pieces that hold a looked-for word are given out, so that what a program prints beside costs little.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple

HEAD = 256 * 1024  # bytes; where totals and arguments are told
BLOCK = 256 * 1024  # the end is read backwards in blocks of this size
TAIL = 6 * 1024 * 1024  # at most
ENOUGH = 4000  # pieces that told something: then no earlier block is read
COUNTED = 64 * 1024 * 1024  # bytes before the end whose line feeds are counted; a longer file has no line numbers
MOST_PLACES = 8000  # of one word in a block, the last ones
PIECE = 16 * 1024  # bytes of a piece; what is longer is no line of progress
_END = re.compile(rb"[\n\r\x08]")


class Piece(NamedTuple):
    """*line*: counted from 1, 0 not known. *byte*: where it begins. *closed*: something stands behind it."""

    raw: bytes
    line: int
    byte: int
    closed: bool


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a file that was read, and where it stands. *line*: of its first byte, 0 not known."""

    data: bytes
    byte: int
    line: int
    last: bool


class Opened(NamedTuple):
    """A regular file, open for reading."""

    file: BinaryIO
    bytes: int
    modified: float


def opened(path: str) -> Opened:
    """Open *path*, a regular file; pipes and devices are not waited for. Raises `OSError`."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    facts = os.fstat(descriptor)
    if not stat.S_ISREG(facts.st_mode):
        os.close(descriptor)
        raise OSError("is no regular file")
    return Opened(os.fdopen(descriptor, "rb", buffering=0), facts.st_size, facts.st_mtime)


def head(source: Opened) -> Window:
    """Return the beginning of a file; all of a short one."""
    data = _read(source.file, 0, HEAD)
    return Window(data, 0, 1, len(data) >= source.bytes)


def blocks(source: Opened, first: int) -> Iterator[Window]:
    """Yield the end of a file behind byte *first*, the last block first; each begins at the beginning of a line or bar.

    Line numbers are 0; `numbered` puts them in.
    """
    end, least = source.bytes, max(first, source.bytes - TAIL)
    while end > least:
        begin = max(least, end - BLOCK)
        data = _read(source.file, begin, end - begin)
        if begin > first:
            cut = _END.search(data)
            skipped = cut.end() if cut and cut.end() < len(data) else 0
            data, begin = data[skipped:], begin + skipped
        yield Window(data, begin, 0, end == source.bytes)
        end = begin


def numbered(source: Opened, first: Window, windows: list[Window]) -> list[Window]:
    """Return *windows*, in order and behind *first*, with their line numbers where the file is short."""
    if not windows:
        return []
    begin = windows[0].byte
    if begin > COUNTED:
        return windows
    line = 1 + first.data.count(b"\n") + _line_feeds(source.file, len(first.data), begin)
    counted = []
    for window in windows:
        counted.append(Window(window.data, window.byte, line, window.last))
        line += window.data.count(b"\n")
    return counted


def pieces(window: Window, holds: Sequence[bytes]) -> Iterator[Piece]:
    """Yield the pieces of a window in which one of *holds* stands; "" stands in every one."""
    data, at, counted, line = window.data, 0, 0, window.line
    for place in _places(data, holds):
        if place < at:
            continue
        begin = _begin(data, max(at, place - PIECE), place)
        cut = _END.search(data, place, begin + PIECE)
        end = cut.start() if cut else min(len(data), begin + PIECE)
        if line:
            line += data.count(b"\n", counted, begin)
            counted = begin
        if begin < end < begin + PIECE:
            yield Piece(data[begin:end], line, window.byte + begin, cut is not None or end < len(data))
        at = end + 1


def _places(data: bytes, holds: Sequence[bytes]) -> list[int]:
    """Return where any of *holds* stands; one search for each is much faster than one for all."""
    if b"" in holds:
        return [0, *(match.end() for match in _END.finditer(data))]
    places: set[int] = set()
    for word in holds:
        at, count = data.rfind(word), 0
        while at >= 0 and count < MOST_PLACES:
            places.add(at)
            at, count = data.rfind(word, 0, at), count + 1
    return sorted(places)


def _begin(data: bytes, least: int, at: int) -> int:
    """Return where the piece begins in which *at* stands."""
    return max(least, 1 + max(data.rfind(sign, least, at) for sign in (b"\n", b"\r", b"\x08")))


def _read(file: BinaryIO, begin: int, count: int) -> bytes:
    file.seek(begin)
    parts = []
    while count > 0:
        part = file.read(min(count, 1 << 20))
        if not part:
            break
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def _line_feeds(file: BinaryIO, begin: int, end: int) -> int:
    """Return how many line feeds stand between two places of a file."""
    file.seek(begin)
    buffer, feeds, left = bytearray(1 << 20), 0, end - begin
    view = memoryview(buffer)
    while left > 0:
        count = file.readinto(view[: min(left, len(buffer))])  # type: ignore[attr-defined]
        if not count:
            break
        feeds += buffer.count(b"\n", 0, count)
        left -= count
    return feeds
