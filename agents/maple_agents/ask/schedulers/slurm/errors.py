"""What Slurm's commands say when they refuse: in one line, and whether the job is merely not there."""

from __future__ import annotations

import re

from ..commands import Said
from ..errors import SchedulerError, one_line

_GONE = ("Invalid job id specified", "already completing or completed", "Job has already finished")
_DOWN = ("Unable to contact", "Socket timed out", "try again", "Connection refused")


def is_gone(text: str) -> bool:
    """Return True where *text* says that there is no such job, or that it is over."""
    return any(words in text for words in _GONE)


def slurm_refusal(asked: str, said: Said) -> SchedulerError:
    """Return the exception for a command that failed, with its own words but without its name before each line."""
    text = one_line(re.sub(r"^\w+: (error: )?", "", said.err, flags=re.MULTILINE) or said.out)
    down = any(word in text for word in _DOWN)
    remedy = "is slurmctld up? try again later" if down else "correct the request"
    return SchedulerError(asked, text, remedy, said.code, transient=down)
