"""Tables that Slurm's commands print in a form of our choice, read without guessing.

The fields are separated by a mark drawn for each call, so no job name, comment or path can look like a separator. Each
record begins with the mark as well: what stands between two records (headings, line ends) belongs to none.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence

from ..commands import Said
from ..errors import SchedulerError, one_line


def mark() -> str:
    """Return a new separator: printable, without a percent sign, and known to nobody before."""
    return "<%s>" % secrets.token_hex(8)


def form(fields: Sequence[str], separator: str) -> str:
    """Return the format (`squeue -o`, `sinfo -o`) that prints *fields*, each a letter like `%i`."""
    return separator + "".join(one + separator for one in fields) + "."


def rows(text: str, names: Sequence[str], separator: str) -> list[dict[str, str]]:
    """Return the records of *text* by the names of their fields."""
    pieces = text.split(separator)
    size = len(names) + 1
    return [dict(zip(names, pieces[at : at + size - 1])) for at in range(1, len(pieces) - size + 1, size)]


def parsable(text: str, names: Sequence[str], separator: str) -> list[dict[str, str]]:
    """Return the records of `sacct -p --delimiter`: the separator follows each field, a line end each record."""
    pieces = text.split(separator)
    size = len(names)
    found = [pieces[at : at + size] for at in range(0, len(pieces) - size, size)]
    return [dict(zip(names, [one[0].removeprefix("\n"), *one[1:]])) for one in found]


# What Slurm's commands say when they refuse: in one line, and whether the job is merely not there.

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
