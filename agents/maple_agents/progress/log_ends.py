"""Files into readings, and readings into how far the program is, with what follows and what is odd.

Of a file the beginning is read for what is told once, the end for how far it is; bounded, whatever is in them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice, takewhile

from ..base import expressions
from ..diagnose.read.units.prefixes import Labels, labels, prefix
from . import agreement, key_values, tails
from .alarms import alarms
from .course import course
from .estimate import estimate
from .formats import Formats
from .recognition import Lines, Sign
from .tails import Window
from .values import Announced, Mark, Observation, Place, Progress, Reading, Run, Total

MOST_PIECES = 40_000  # of one file that are looked at
MOST_SECONDS = 5.0  # of processor time for a file, where a user's own pattern is searched for
TOO_SLOW = "read without [progress] pattern, which takes too long to search for"
MOST_ALONE = 64 * 1024  # bytes of a file's end in which losses are looked for that stand alone
LOSSES = (b"oss", b"OSS")  # in words for it
MOST_BELOW = 4096  # bytes that are looked at for what stands indented below a line
UNKNOWN = Run()
_LABELLED = re.compile(r"\s{0,6}(?:\[|\(|\d{1,6}: |[A-Za-z][\w.-]*\d[\w.-]* \d+: |[Rr]ank)")


def progress(
    paths: Sequence[str],
    formats: Formats,
    now: float,
    run: Run = UNKNOWN,
    hints: Sequence[Total | Announced] = (),
    ranks: Sequence[int | None] = (),
) -> Progress:
    """Return how far the program is that writes to *paths*. *ranks*: of files that are one rank's. Raises nothing."""
    called = names(paths)
    readings = []
    for path, rank in zip(paths, list(ranks) or [None] * len(paths)):
        reading, formats = _bounded(path, formats, rank, called[path])
        readings.append(reading)
    return concluded(readings, now, run, hints)


def _bounded(path: str, formats: Formats, rank: int | None, name: str) -> tuple[Reading, Formats]:
    """Return what a file tells, and the formats for the next: without patterns of the user's that took too long."""
    if not formats.own:
        return read(path, formats, rank, name), formats
    try:
        with expressions.limited(MOST_SECONDS):
            return read(path, formats, rank, name), formats
    except expressions.Spent:
        rest = formats.of_ours()
        return replace(read(path, rest, rank, name), wrong=TOO_SLOW), rest


def concluded(
    readings: Sequence[Reading],
    now: float,
    run: Run = UNKNOWN,
    hints: Sequence[Total | Announced] = (),
) -> Progress:
    """Return what follows from *readings*."""
    the_course = course(readings, hints)
    left = estimate(the_course, run, now)
    notes = tuple("%s: %s" % (reading.file, reading.wrong) for reading in readings if reading.wrong)
    return Progress(
        run, tuple(readings), the_course, left, alarms(the_course, left, run, now), now, (*run.notes, *notes)
    )


def read(path: str, formats: Formats, rank: int | None = None, name: str = "") -> Reading:
    """Return what the file at *path* tells. *name*: how people call it. Raises nothing that a file could cause."""
    shown = name or path
    try:
        source = tails.opened(path)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return Reading(shown, rank=rank, wrong=why.lower())
    with source.file:
        first = tails.head(source)
        tail, windows = _end(source, first, Lines(shown, source.modified, formats), formats)
        is_long = any(isinstance(line, Observation) for line in tail)  # then the beginning tells of totals alone
        known = formats.once() if is_long else formats
        begun = _of_window(first, Lines(shown, source.modified, known), known, MOST_PIECES)
        rows: list[Sign] = [*begun, *tail]
        if not any(isinstance(line, Observation) and line.step is not None for line in rows):
            rows += _unknown(source, first, shown)
        rows = agreement.completed(rows, _Below((first, *windows)).of)
        if not any(isinstance(line, Observation) and line.loss is not None for line in rows):
            read_of = {row.place.byte for row in rows}
            alone = _losses((windows or [first])[-1], shown, source.modified)
            rows += [line for line in alone if line.place.byte not in read_of]
    return _reading(shown, rows, rank, source.modified, source.bytes)


def _losses(window: Window, shown: str, modified: float) -> list[Observation]:
    """Return losses that stand alone near the end of a window, where no line of a format tells one."""
    pieces = (piece for piece in tails.pieces(window, LOSSES) if piece.closed)
    first = window.byte + len(window.data) - MOST_ALONE
    return key_values.losses((piece for piece in pieces if piece.byte > first), shown, modified)


class _Below:
    """What stands indented below lines of windows that were read."""

    def __init__(self, windows: Sequence[Window]) -> None:
        self._windows = windows

    def of(self, place: Place) -> str:
        """Return the indented lines right behind the one at *place*."""
        for window in self._windows:
            at = place.byte - window.byte
            if 0 <= at < len(window.data):
                lines = window.data[at : at + MOST_BELOW].split(b"\n")[1:-1]
                own = list(takewhile(lambda line: line[:1] in (b" ", b"\t") and line.strip(), lines))
                return b"\n".join(own).decode("utf-8", "replace")
        return ""


def _unknown(source: tails.Opened, first: Window, shown: str) -> list[Observation]:
    """Return what stands in the end of a file of whose lines no format tells a step."""
    last = next(tails.blocks(source, len(first.data)), None)
    windows = tails.numbered(source, first, [last]) if last is not None else [first]
    every = (piece for window in windows for piece in tails.pieces(window, (b"",)))
    return key_values.observations(islice(every, MOST_PIECES), shown, source.modified)


def _end(source: tails.Opened, first: Window, lines: Lines, formats: Formats) -> tuple[list[Sign], list[Window]]:
    """Return what stands in the end of a file, in its order, and what was read of it."""
    windows: list[Window] = []
    count = 0
    for window in tails.blocks(source, len(first.data)):
        windows.insert(0, window)
        count += sum(1 for _ in tails.pieces(window, formats.holds))
        if count >= tails.ENOUGH:
            break
    windows = tails.numbered(source, first, windows)
    rows: list[Sign] = []
    for window in windows:
        rows += _of_window(window, lines, formats, MOST_PIECES)
    return rows, windows


def _of_window(window: Window, lines: Lines, formats: Formats, most: int) -> list[Sign]:
    rows: list[Sign] = []
    for count, piece in enumerate(tails.pieces(window, formats.holds)):
        if count >= most:
            break
        rows += lines.signs(piece)
    return rows


def _reading(file: str, lines: Sequence[Sign], rank: int | None, modified: float, size: int) -> Reading:
    seen = [line for line in lines if isinstance(line, Observation)]
    return Reading(
        file,
        tuple(_ranked(seen, rank)),
        tuple(line for line in lines if isinstance(line, Mark)),
        tuple(line for line in lines if isinstance(line, Announced)),
        modified,
        size,
        rank,
    )


def _ranked(seen: Sequence[Observation], rank: int | None) -> Iterable[Observation]:
    """Yield observations with the rank that their line names, else that of the file."""
    used = labels(observation.text for observation in seen[:400])
    for observation in seen:
        own = _rank(observation.text, used)
        known = own if own is not None and own != observation.step else rank  # `[1200] loss` is its step
        yield replace(observation, rank=known) if known is not None else observation


def _rank(text: str, used: Labels) -> int | None:
    if not _LABELLED.match(text):
        return None
    labels = prefix(text[:200], used, None)
    return labels.rank if labels.rank is not None else labels.local


def names(paths: Sequence[str]) -> dict[str, str]:
    """Return how each file is called: relative to here where it lies below, else by its whole path."""
    here = os.getcwd() + os.sep
    return {path: path[len(here) :] if path.startswith(here) else path for path in paths}
