"""`--watch`: the same place of the screen, drawn again; on no terminal a line where something changed."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Sequence

import click

from ...base.complaint import Complaint
from ...progress.notices import seen
from ...progress.values import Progress
from .notify import Notice
from .page import page
from .table import listed

_OVER = ("completed", "failed", "cancelled", "timeout", "out-of-memory", "node-failed", "preempted")


def watched(read: Callable[[], Progress], every: int) -> Progress:
    """Show what *read* returns until the job is over, and return the last."""
    screen, notice = Screen(), Notice()
    while True:
        progress = read()
        notice.give(progress)
        seen(progress)
        screen.show(page(progress) if screen.is_terminal else listed([progress])[1:])
        if progress.run.state in _OVER or progress.course.ended is not None:
            return progress
        time.sleep(every)


def watched_lines(read: Callable[[], Sequence[str]], every: int) -> int:
    """Show a table until no job runs any more."""
    screen = Screen()
    while True:
        try:
            lines = read()
        except Complaint as error:
            lines = ["maple: " + error.format_message()]
        screen.show(lines)
        if len(lines) < 2:
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
