"""`--watch`: the same place of the screen, drawn again; on no terminal a line where something changed."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import click

from ...base.complaint import Complaint
from ...progress.notices import seen
from ...progress.values import OVER, Progress
from .notify import Notice
from .page import page
from .table import listed

ASKED = 60.0  # seconds between two questions to the scheduler; logs are read more often
Made = TypeVar("Made")


class Facts(Generic[Made]):
    """What the scheduler knows of jobs, asked again once a minute; where it does not answer, its last word holds."""

    def __init__(self, ask: Callable[[], Made], clock: Callable[[], float] = time.monotonic) -> None:
        self._ask, self._clock = ask, clock
        self._last: list[Made] = []
        self._due = 0.0

    def get(self) -> Made:
        """Return it. Raises `Complaint` where it never answered."""
        if not self._last or self._clock() >= self._due:
            self._due = self._clock() + ASKED
            try:
                self._last = [self._ask()]
            except Complaint:
                if not self._last:
                    raise
        return self._last[0]


def watched(read: Callable[[], Progress], every: int) -> Progress:
    """Show what *read* returns until the job is over, and return the last."""
    screen, notice = Screen(), Notice()
    while True:
        progress = read()
        notice.give(progress)
        seen(progress)
        screen.show(page(progress) if screen.is_terminal else listed([progress])[1:])
        if progress.run.state in OVER or progress.course.ended is not None:
            return progress
        time.sleep(every)


def watched_jobs(read: Callable[[], Sequence[Progress]], every: int) -> int:
    """Show a table until no job runs any more."""
    screen, notice = Screen(), Notice()
    while True:
        progresses = read()
        for progress in progresses:
            notice.give(progress)
            seen(progress)
        screen.show(listed(progresses))
        if not progresses:
            return 0
        time.sleep(every)


class Screen:
    """A place of the terminal that is drawn over."""

    def __init__(self) -> None:
        self.is_terminal = sys.stdout.isatty()
        self._rows = 0
        self._before: Sequence[str] = ()

    def show(self, lines: Sequence[str]) -> None:
        """Draw *lines* over those before; where it is no terminal, print what is new."""
        if not self.is_terminal:
            for line in lines if list(lines) != list(self._before) else ():
                click.echo(line)
            self._before = lines
            return
        size = shutil.get_terminal_size()
        shown = lines[: size.lines - 1]
        up = "\x1b[%dA" % self._rows if self._rows else ""
        sys.stdout.write(up + "".join("\x1b[2K%s\n" % line for line in shown) + "\x1b[0J")
        sys.stdout.flush()
        self._rows = sum(max(1, -(-len(click.unstyle(line)) // max(1, size.columns))) for line in shown)
