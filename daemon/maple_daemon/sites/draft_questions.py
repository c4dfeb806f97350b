"""Asks the running system: commands as argument vectors, each with a time limit, and small files."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from itertools import takewhile

from maple_agents.ask.schedulers.commands import quiet_environment, run
from maple_agents.ask.schedulers.errors import SchedulerError, one_line

from .draft_values import shown

SECONDS = 20.0  # for one command
LIMIT = 64 << 20  # bytes of an answer; ten thousand nodes are 16 MiB as JSON
SMALL = 1 << 20  # bytes of an answer about this host


class Asking:
    """*environ*: what commands run in, and where PATH is taken from. *seconds*: for each of them.

    *silent*: what did not answer, and why, a line each, in order.
    """

    def __init__(self, environ: Mapping[str, str], seconds: float = SECONDS) -> None:
        self.environ = environ
        self.silent: list[str] = []
        self._seconds = seconds

    def found(self, command: str) -> str:
        """Return where PATH finds *command*, "" where it does not."""
        path = shutil.which(command, path=self.environ.get("PATH", os.defpath))
        return os.path.abspath(path) if path else ""

    def said(self, *argv: str, limit: int = LIMIT, errors_too: bool = False, tell: bool = True) -> str:
        """Return what a command printed; "" where it is not there, fails, is late or says too much.

        *errors_too*: what it printed as errors as well, and whatever its exit code. *tell* False: a refusal is no news.
        """
        path = self.found(argv[0])
        if not path:
            return ""
        env = quiet_environment(self.environ, TZ="UTC0")
        try:
            answer = run([path, *argv[1:]], timeout=self._seconds, env=env, limit=limit, cwd="/")
        except SchedulerError as error:
            self._missed(argv, error.text)
            return ""
        if errors_too:
            return answer.out + answer.err
        if answer.code and tell:
            self._missed(argv, one_line(answer.err) or "exit code %d" % answer.code)
        return "" if answer.code else answer.out

    def _missed(self, argv: Sequence[str], why: str) -> None:
        plain = takewhile(lambda word: "%" not in word, argv)  # a list of columns tells nobody anything
        self.silent.append("%s: %s" % (shown(" ".join(plain)), shown(why)))


def text_of(path: str, most: int = 65536) -> str:
    """Return the begin of a small file, "" where it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(most)
    except OSError:
        return ""


def entries_of(folder: str, most: int = 1000) -> list[str]:
    """Return the names in a folder, sorted, none where it cannot be read."""
    try:
        return sorted(os.listdir(folder))[:most]
    except OSError:
        return []
