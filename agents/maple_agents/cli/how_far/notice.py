"""A command of the user's own that an alarm starts: `[notify] command = "..."` in `~/.config/maple/notify.toml`.

It is taken from the user's own folder alone: a file beside a script may be another's.
"""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Mapping

import tomllib

from ...base.complaint import Complaint
from ...progress.answers import shown
from ...progress.values import Alarm, Progress

FILE = "notify.toml"
MOST_BYTES = 64 * 1024
SECONDS = 30  # that it may take; it is not waited for longer


class Notice:
    """Starts the command once for each kind of alarm."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self._environ, self._command, self._given = environ, command(environ), set[str]()

    def give(self, told: Progress) -> None:
        """Start the command for each alarm that was not there before. What it does is its own affair."""
        for alarm in told.alarms if self._command else ():
            if alarm.kind not in self._given:
                self._given.add(alarm.kind)
                self._start(told, alarm)

    def _start(self, told: Progress, alarm: Alarm) -> None:
        said = {"MAPLE_JOB": told.run.job, "MAPLE_ALARM": alarm.kind, "MAPLE_SAYS": shown(alarm.says)}
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
