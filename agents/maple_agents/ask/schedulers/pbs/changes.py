"""Changes of a PBS job, as attributes and as words of qalter; and its submission, only ever by the real qsub.

libpbs could queue a job too, but it reads no directive, sets no default and no PBS_O_ variable: another job would run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

from ..commands import run
from ..protocol import SchedulerError
from .jobs import is_id
from .library import Attribute, from_exit

_ANSWER = re.compile(r"^(\S+)$", re.MULTILINE)

_KEY = re.compile(r"[A-Za-z]\w*(\.[A-Za-z]\w*)?", re.ASCII)
_LETTERS = {
    "Account_Name": "-A",
    "Checkpoint": "-c",
    "Error_Path": "-e",
    "Execution_Time": "-a",
    "Hold_Types": "-h",
    "Job_Name": "-N",
    "Join_Path": "-j",
    "Keep_Files": "-k",
    "Mail_Points": "-m",
    "Mail_Users": "-M",
    "Output_Path": "-o",
    "Priority": "-p",
    "Rerunable": "-r",
    "Shell_Path_List": "-S",
    "User_List": "-u",
    "project": "-P",
}


def attributes(changes: Mapping[str, str]) -> list[Attribute]:
    """Return *changes* as attributes. Raises `ValueError` for a name that cannot be one, or a NUL."""
    return [Attribute(*_split(key), _plain(value)) for key, value in changes.items()]


def words(changes: Mapping[str, str]) -> list[str]:
    """Return qalter's options for *changes*. Raises `ValueError` as `attributes` does."""
    options = []
    for name, resource, value in attributes(changes):
        if name == "Resource_List" and resource:
            options += ["-l", "%s=%s" % (resource, value)]
        elif name in _LETTERS:
            options += [_LETTERS[name], value]
        else:
            options += ["-W", "%s=%s" % (name, value)]
    return options


def _split(key: str) -> tuple[str, str]:
    if not _KEY.fullmatch(key):
        raise ValueError("%r is no attribute of a PBS job" % key)
    name, _, resource = key.partition(".")
    return name, resource


def _plain(value: str) -> str:
    if "\0" in value:
        raise ValueError("a value cannot hold a NUL")
    return value


def signal_name(signal: str) -> str:
    """Return the name or number as PBS takes it: `TERM` is `SIGTERM`; `suspend` and `resume` are PBS' own.

    Raises `ValueError` for what can be neither.
    """
    if not re.fullmatch(r"[A-Za-z][\w+-]{0,30}|\d{1,2}", signal, re.ASCII):
        raise ValueError("%r is no signal" % signal)
    own = signal.isdigit() or signal.upper().startswith("SIG") or signal in ("suspend", "resume")
    return signal if own else "SIG" + signal.upper()


def submit(
    qsub: str,
    script_path: str,
    argv: Sequence[str],
    cwd: str | None,
    env: Mapping[str, str] | None,
    timeout: float,
) -> str:
    """Return the id that qsub printed. Raises `SchedulerError` with qsub's own text and exit code.

    A submission that is late may have happened all the same; the exception says so.
    """
    asked = "submitting %s" % os.path.basename(script_path)
    operand = script_path if not script_path.startswith("-") else "./" + script_path
    try:
        answer = run([qsub, *argv, operand], timeout=timeout, env=os.environ if env is None else env, cwd=cwd)
    except SchedulerError as error:
        if error.transient:
            error = SchedulerError(asked, error.text, "look with qstat whether it was submitted before trying again")
        raise error from None
    printed: list[str] = _ANSWER.findall(answer.out)
    ids = [word for word in printed if is_id(word)]
    if answer.code or not ids:
        raise from_exit(asked, answer.code, answer.err or answer.out)
    return ids[0]
