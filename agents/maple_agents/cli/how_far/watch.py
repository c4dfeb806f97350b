"""`--watch`: the same place of the screen, drawn again; on no terminal a line where something changed.

A command of the user's own that an alarm starts: `[notify] command = "..."` in `~/.config/maple/notify.toml`.

It is taken from the user's own folder alone: a file beside a script may be another's.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence

import click
import tomllib

from ...base.complaint import Complaint
from ...progress.answers import shown
from ...progress.values import Alarm, Progress
from .page import page
from .table import listed

FILE = "notify.toml"
MOST_BYTES = 64 * 1024
SECONDS = 30  # that it may take; it is not waited for longer


class Notice:
    """Starts the command once for each kind of alarm."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self._environ, self._command, self._given = environ, command(environ), set[str]()

    def give(self, progress: Progress) -> None:
        """Start the command for each alarm that was not there before. What it does is its own affair."""
        for alarm in progress.alarms if self._command else ():
            if alarm.kind not in self._given:
                self._given.add(alarm.kind)
                self._start(progress, alarm)

    def _start(self, progress: Progress, alarm: Alarm) -> None:
        said = {"MAPLE_JOB": progress.run.job, "MAPLE_ALARM": alarm.kind, "MAPLE_SAYS": shown(alarm.says)}
        try:
            subprocess.run(
                ["/bin/sh", "-c", self._command], env={**self._environ, **said}, timeout=SECONDS, check=False,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired):
            return


def command(environ: Mapping[str, str] = os.environ) -> str:
    """Return the user's own command, "" for none. Raises `Complaint` for a file that cannot be used."""
    path = _path(environ)
    try:
        with open(path, "rb") as file:
            facts, source = os.fstat(file.fileno()), file.read(MOST_BYTES)
    except OSError:
        return ""
    if facts.st_uid != os.geteuid() or stat.S_IMODE(facts.st_mode) & 0o022:
        raise Complaint("%s: others can write it" % path, "chmod go-w %s" % path)
    try:
        found = tomllib.loads(source.decode("utf-8")).get("notify", {})
    except ValueError as error:
        raise Complaint("%s: not TOML: %s" % (path, error), "see man maple-progress") from error
    said = found.get("command", "") if isinstance(found, dict) else None
    if not isinstance(said, str):
        raise Complaint("%s: [notify] command is no text" % path, "see man maple-progress")
    return said


def _path(environ: Mapping[str, str]) -> str:
    own = environ.get("XDG_CONFIG_HOME", "")
    if not own.startswith("/"):
        own = os.path.join(environ.get("HOME", "/nonexistent"), ".config")
    return os.path.join(own, "maple", FILE)


_OVER = ("completed", "failed", "cancelled", "timeout", "out-of-memory", "node-failed", "preempted")


def watched(read: Callable[[], Progress], every: int) -> Progress:
    """Show what *read* returns until the job is over, and return the last."""
    screen, notice = Screen(), Notice()
    while True:
        progress = read()
        notice.give(progress)
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
