"""The whole way: files into readings, a course, an estimate, alarms."""

from __future__ import annotations

from collections.abc import Sequence

from .alarms import alarms
from .course import course
from .estimate import estimate
from .formats import Formats
from .log_ends import names, read
from .values import Progress, Reading, Run, Said, Total

UNKNOWN = Run()


def progress(
    paths: Sequence[str],
    formats: Formats,
    now: float,
    run: Run = UNKNOWN,
    hints: Sequence[Total | Said] = (),
    ranks: Sequence[int | None] = (),
) -> Progress:
    """Return how far the program is that writes to *paths*. *ranks*: of files that are one rank's. Raises nothing."""
    called = names(paths)
    of = list(ranks) or [None] * len(paths)
    return concluded([read(path, formats, rank, called[path]) for path, rank in zip(paths, of)], now, run, hints)


def concluded(
    readings: Sequence[Reading],
    now: float,
    run: Run = UNKNOWN,
    hints: Sequence[Total | Said] = (),
) -> Progress:
    """Return what follows from *readings*."""
    found = course(readings, hints)
    told = estimate(found, run, now)
    notes = tuple("%s: %s" % (reading.file, reading.wrong) for reading in readings if reading.wrong)
    return Progress(run, tuple(readings), found, told, alarms(found, told, run, now), now, (*run.notes, *notes))
