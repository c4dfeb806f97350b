"""Asks the scheduler's commands, each within a time of its own; what they cannot say is a line, not a failure."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence

from ....ask.schedulers.commands import Output, quiet_environment, run
from ....ask.schedulers.protocol import SchedulerError

SECONDS = 15.0  # for each command; a busy controller answers late, and a user waits for all of them


class Commands:
    """The commands that PATH of *environ* has; *late* holds a line for each that gave no answer."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self.late: list[str] = []

    def ask(self, command: str, words: Sequence[str]) -> Output | None:
        """Return what the command said, None where it is not here or late; the exit code is the caller's to judge."""
        path = shutil.which(command, path=self._environ.get("PATH", os.defpath))
        if path is None:
            return None
        env = quiet_environment(self._environ, SLURM_TIME_FORMAT="%s", TZ=self._environ.get("TZ", ""))
        if not env["TZ"]:
            del env["TZ"]
        try:
            return run([path, *words], timeout=SECONDS, env=env)
        except SchedulerError as error:
            self.late.append("%s: %s" % (command, error.text))
            return None
