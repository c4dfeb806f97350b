"""Submission to PBS: only ever by the real qsub.

libpbs could queue a job too, but it reads no directive, sets no default and no PBS_O_ variable: another job would run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

from ..commands import run
from ..errors import SchedulerError
from .errors import from_exit
from .ids import is_id

_ANSWER = re.compile(r"^(\S+)$", re.MULTILINE)


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
        said = run([qsub, *argv, operand], timeout=timeout, env=os.environ if env is None else env, cwd=cwd)
    except SchedulerError as error:
        if error.transient:
            error = SchedulerError(asked, error.text, "look with qstat whether it was submitted before trying again")
        raise error from None
    printed: list[str] = _ANSWER.findall(said.out)
    ids = [word for word in printed if is_id(word)]
    if said.code or not ids:
        raise from_exit(asked, said.code, said.err or said.out)
    return ids[0]
