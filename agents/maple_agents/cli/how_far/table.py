"""One line for each running job: bar, step, speed, time left, limit, last checkpoint, silence.

Bars and small curves of one line, for terminals that can draw them and for those that cannot.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

import click

from ...base import output
from ...progress.alarms import checkpoint, silence
from ...progress.answers import fraction, shown, thinned
from ...progress.printed import duration, speed
from ...progress.values import Progress

STEPS, PLAIN_STEPS = "▁▂▃▄▅▆▇█", "_.,-~=*#"


def draws() -> bool:
    """Return whether standard output knows blocks."""
    try:
        "▁█░".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def bar(share: float | None, width: int = 24) -> str:
    """Return a bar; of an unknown share one of dots."""
    full, empty = ("█", "░") if draws() else ("#", "-")
    if share is None:
        return "·" * width if draws() else "." * width
    done = min(width, int(share * width))
    return full * done + empty * (width - done)


def curve(values: Sequence[float], width: int = 40) -> str:
    """Return values as a line of blocks, low to high; what is not finite is an exclamation mark."""
    steps = STEPS if draws() else PLAIN_STEPS
    shown = thinned(list(values), width)
    known = [value for value in shown if math.isfinite(value)]
    if not known:
        return "!" * len(shown)
    low, high = min(known), max(known)
    size = (high - low) or 1.0
    return "".join(
        steps[min(len(steps) - 1, int((value - low) / size * len(steps)))] if math.isfinite(value) else "!"
        for value in shown
    )


def red(text: str) -> str:
    """Return a text that is bad news."""
    return click.style(text, fg="red", bold=True)


def bold(text: str) -> str:
    """Return a text that is read first."""
    return click.style(text, bold=True)


QUIET = 300  # seconds that are worth a word, though no alarm
BAR = 2  # the column of bars
_HEAD = ("job", "name", "", "step", "speed", "left", "limit in", "checkpoint", "")


def listed(progresses: Sequence[Progress]) -> list[str]:
    """Return the lines of a table, its columns as wide as they must be; on a terminal that is too narrow without bars,
    then with shorter names, and what is odd stands on a line of its own.
    """
    rows = [_HEAD, *(row(progress) for progress in progresses)]
    most = output.width() if output.is_bounded() else sys.maxsize
    if _width(rows) > most:
        rows = [(*cells[:BAR], *cells[BAR + 1 :]) for cells in rows]
    name = max(4, max(len(cells[1]) for cells in rows) - max(0, _width(rows) - most))
    rows = [
        (cells[0], cells[1] if len(cells[1]) <= name else cells[1][: name - 1] + output.cut(), *cells[2:])
        for cells in rows
    ]
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = []
    for at, cells in enumerate(rows):
        line = "  ".join(cell.ljust(width) for cell, width in zip(cells[:-1], widths))
        last = red(cells[-1]) if at and cells[-1] else cells[-1]
        fits = len(line) + 2 + len(cells[-1]) <= most
        lines += [(line + "  " + last).rstrip()] if fits else [line.rstrip(), *output.fitted("  " + last)]
    return lines


def _width(rows: Sequence[Sequence[str]]) -> int:
    """Return the columns of a table without what is odd."""
    return sum(max(map(len, column)) + 2 for column in list(zip(*rows))[:-1]) - 2


def row(progress: Progress) -> tuple[str, ...]:
    """Return the cells of one job."""
    run, estimate = progress.run, progress.estimate
    share = fraction(progress)
    left = duration(estimate.left) if estimate.left is not None else "?"
    end = duration(run.ends_at - progress.now) if run.ends_at is not None else "none"
    pace = speed(estimate.step_seconds) if estimate.step_seconds else "?"
    return run.job, shown(run.name)[:20], bar(share, 12), step(progress), pace, left, end, age(progress), odd(progress)


def step(progress: Progress) -> str:
    """Return where it is, in a few words."""
    course, last = progress.course, progress.course.last
    if last is None:
        return "no line tells it"
    if last.step is None:
        whole = course.epochs.total if course.epochs is not None else None
        epochs = "/%g" % last.epochs if last.epochs else "/%d" % whole.steps if whole is not None else ""
        return "epoch %g%s" % (last.epoch or 0, epochs)
    if course.total is not None and course.step is not None:
        return "%s/%s" % (format(int(course.step), ","), format(course.total.steps, ","))
    if last.scope == "epoch":
        within = "%d/%s" % (last.step, last.steps or "?")
        return "epoch %g: %s" % (last.epoch, within) if last.epoch is not None else "%s of an epoch" % within
    return "%s of ?" % format(last.step, ",")


def age(progress: Progress) -> str:
    """Return how old the last checkpoint is."""
    mark = checkpoint(progress.course)
    if mark is None:
        return "none told"
    return duration(progress.now - mark.at) + " old" if mark.at is not None else "step %s" % mark.step


def odd(progress: Progress) -> str:
    """Return the worst alarm, else that it is quiet, else nothing."""
    if progress.alarms:
        return shown(progress.alarms[0].says)
    quiet = silence(progress.course, progress.now)
    return "silent for %s" % duration(quiet) if quiet is not None and quiet >= QUIET else ""
