"""What an alarm starts besides a line: a command of the user's own, and a mail, both as the user.

`[notify] command = "..."` and `mail = "me@example.org"` in `~/.config/maple/notify.toml`. That is taken from the user's
own folder alone: a file beside a script may be another's. The mail goes to this host's sendmail; no service sends any.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import time
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import tomllib

from ...base.complaint import Complaint
from ...progress.answers import shown
from ...progress.notices import fresh, handed, waiting
from ...progress.values import Alarm, Progress

FILE = "notify.toml"
MOST_BYTES = 64 * 1024
SECONDS = 30  # that it may take; it is not waited for longer
ADDRESS = re.compile(r"[A-Za-z0-9._%+-]{1,64}(?:@[A-Za-z0-9.-]{1,190})?", re.ASCII)
SENDMAIL = "/usr/sbin:/usr/lib:/usr/bin"


class Wish(NamedTuple):
    """What is started: a command for sh, an address; "" for none."""

    command: str = ""
    mail: str = ""


class Notice:
    """Starts it once for each kind of alarm of a job, also where another process looked before."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self._environ, self._wish, self._given = environ, wish(environ), set[tuple[str, str]]()

    def give(self, progress: Progress) -> None:
        """Start it for each alarm that was not there before. What it does is its own affair."""
        known = fresh(progress) if progress.run.job else progress.alarms
        for alarm in self._new(progress, known):
            self._start(progress, alarm)

    def _new(self, progress: Progress, alarms: Iterable[Alarm]) -> list[Alarm]:
        new = [alarm for alarm in alarms if (progress.run.job, alarm.kind) not in self._given]
        self._given.update((progress.run.job, alarm.kind) for alarm in new)
        return new

    def _start(self, progress: Progress, alarm: Alarm) -> None:
        says = shown(alarm.says)
        variables = {"MAPLE_JOB": progress.run.job, "MAPLE_ALARM": alarm.kind, "MAPLE_SAYS": says}
        if self._wish.command:
            self._run(["/bin/sh", "-c", self._wish.command], variables, b"")
        if self._wish.mail:
            program = shutil.which("sendmail", path=SENDMAIL)
            self._run([program or "sendmail", "-i", "--", self._wish.mail], {}, letter(self._wish.mail, progress, says))

    def _run(self, words: list[str], more: Mapping[str, str], given: bytes) -> None:
        try:
            subprocess.run(words, env={**self._environ, **more}, timeout=SECONDS, check=False, input=given,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        except (OSError, subprocess.TimeoutExpired):
            return


def looked(progresses: Iterable[Progress], notice: Notice) -> None:
    """Take notice of jobs: what is new is started, and what was not said yet is handed to the service."""
    for progress in progresses:
        notice.give(progress)
    handed(waiting(time.time()))


def letter(address: str, progress: Progress, says: str) -> bytes:
    """Return a mail about an alarm; no line of a log gets into its head."""
    job = re.sub(r"[^\w.\[\]-]", "", progress.run.job, flags=re.ASCII) or "a log"
    name = " (%s)" % shown(progress.run.name) if progress.run.name else ""
    head = "To: %s\nSubject: maple: job %s\nMIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n" % (
        address,
        job,
    )
    return (head + "\njob %s%s: %s\n\nmaple progress %s\n" % (job, name, says, job)).encode("utf-8", "replace")


def wish(environ: Mapping[str, str] = os.environ) -> Wish:
    """Return what the user wants started. Raises `Complaint` for a file that cannot be used."""
    path = _path(environ)
    try:
        with open(path, "rb") as file:
            facts, source = os.fstat(file.fileno()), file.read(MOST_BYTES)
    except OSError:
        return Wish()
    if facts.st_uid != os.geteuid() or stat.S_IMODE(facts.st_mode) & 0o022:
        raise Complaint("%s: others can write it" % path, "chmod go-w %s" % path)
    try:
        table = tomllib.loads(source.decode("utf-8")).get("notify", {})
    except ValueError as error:
        raise Complaint("%s: not TOML: %s" % (path, error), "see man maple-progress") from error
    return _checked(table, path)


def _checked(wanted: object, path: str) -> Wish:
    table = wanted if isinstance(wanted, dict) else {"": wanted}
    for name, value in table.items():
        if name not in Wish._fields:
            raise Complaint("%s: [notify] has no %s" % (path, name or "such value"), "there are command and mail")
        if not isinstance(value, str):
            raise Complaint("%s: [notify] %s is no text" % (path, name), "see man maple-progress")
    made = Wish(**table)
    if made.mail and not ADDRESS.fullmatch(made.mail):
        raise Complaint("%s: [notify] mail is no address" % path, "me@example.org, or a user of this host")
    return made


def _path(environ: Mapping[str, str]) -> str:
    own = environ.get("XDG_CONFIG_HOME", "")
    if not own.startswith("/"):
        own = os.path.join(environ.get("HOME", "/nonexistent"), ".config")
    return os.path.join(own, "maple", FILE)
