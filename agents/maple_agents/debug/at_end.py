"""The diagnosis of a job that has just failed, made at its end by a small process of its owner's, and kept for him.

`python -I -m maple_agents.debug.at_end JOBID --exit CODE:SIGNAL`, started by the scheduler's epilogue where the
administrator has switched that on. It says nothing, ends with 0 whatever happens, and does nothing as root.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from . import own_files
from .values import Case, Diagnosis, Ended

FOLDER = "diagnoses"
MOST_BYTES = 256 << 10  # of one diagnosis
MOST_KEPT = 50
WEEK = 7 * 86400.0  # seconds that one is shown; schedulers use ids again
_NAME = re.compile(r"\d[\w.\[\]+-]{0,100}", re.ASCII)
_LIMITS = {"timelimit": "timeout", "outofmemory": "out-of-memory", "nodedown": "node-failed"}
_CANCELS = (9, 15)  # signals that scancel and qdel send, and a limit


def main(words: Sequence[str]) -> int:
    """Diagnose and keep. Returns 0."""
    with contextlib.suppress(BaseException):
        if os.getuid() != 0 and os.getuid() == os.geteuid():
            _diagnosed(*_read(words))
    return 0


def kept(job: str, now: float) -> dict[str, Any] | None:
    """Return what was found at the end of a job, as it was kept; None where nothing was, or it is old.

    Of an array, named by its own id, the task that was diagnosed last. Raises nothing.
    """
    try:
        with own_files.opened(FOLDER, make=False) as folder:
            for name in _names(folder, job):
                told = _table(own_files.read(folder, name, MOST_BYTES))
                if told is not None and 0 <= now - float(told["at"]) <= WEEK:
                    return told
    except (OSError, KeyError, TypeError, ValueError):
        return None
    return None


def says(job: str, now: float) -> str:
    """Return the sentence that was found to be the cause of a job's end, "" for none."""
    told = kept(job, now)
    try:
        cause = told["told"]["cause"] if told is not None else {}
        return "" if cause.get("class", "unknown") in ("unknown", "none") else str(cause["says"]).rstrip(".")
    except (KeyError, TypeError, AttributeError):
        return ""


def keep(diagnosis: Diagnosis, at: float) -> None:
    """Keep a diagnosis, as JSON and as people read it. Raises `OSError`."""
    from ..cli.fix_told import told

    row = {"v": 1, "at": at, "told": told(diagnosis), "shown": _shown(diagnosis)}
    data = json.dumps(row).encode()
    if len(data) > MOST_BYTES:
        return
    with own_files.opened(FOLDER) as folder:
        _leave(folder, MOST_KEPT - 1)
        own_files.write(folder, diagnosis.case.ended.id + ".json", data)


def ended(told: Ended, job: str, status: str) -> Ended | None:
    """Return how the job ended by its exit *status*, "1:0" or one number as PBS has it; None where it did not fail.

    While an epilogue runs the scheduler calls the job running still. A signal that whoever cancels sends is a failure
    only where a limit is named.
    """
    found = re.fullmatch(r"(-?\d{1,4})(?::(\d{1,3}))?", status, re.ASCII)
    if found is None:
        return None
    code, signal = int(found[1]), int(found[2] or 0)
    if found[2] is None and code >= 256:
        code, signal = 0, code - 256
    limit = next((state for word, state in _LIMITS.items() if word in told.reason.lower()), "")
    if not limit and (not code and not signal or signal in _CANCELS):
        return None
    return replace(told, id=job, state=limit or "failed", exit_code=code or None, signal=signal or None)


def _read(words: Sequence[str]) -> tuple[str, str, tuple[str, ...]]:
    """Return job, status and logs of `JOBID --exit STATUS [LOG…]`. Raises `ValueError`."""
    job, option, status, *logs = words
    if option != "--exit" or not _NAME.fullmatch(job):
        raise ValueError("not a job and how it ended")
    return job, status, tuple(logs)


def _diagnosed(job: str, status: str, logs: tuple[str, ...]) -> None:
    from .explaining import case_of, explained

    case = _failed(case_of(job, logs, None, None, (), None, None), job, status)
    if case is not None:
        keep(explained(case, "off"), time.time())


def _failed(case: Case, job: str, status: str) -> Case | None:
    how = ended(case.ended, job, status)
    return replace(case, ended=how) if how is not None else None


def _shown(diagnosis: Diagnosis) -> str:
    from ..cli.fix_shown import show

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        show(diagnosis)
    return out.getvalue()


def _names(folder: int, job: str) -> list[str]:
    """Return the file of a job, or those of an array's tasks, the newest first."""
    if not _NAME.fullmatch(job):
        return []
    there = [one for one in os.listdir(folder) if one.endswith(".json") and not one.startswith(".")]
    tasks = [one for one in there if one.startswith(job + "_")]
    tasks.sort(key=lambda one: -_age(folder, one))
    return [one for one in (job + ".json",) if one in there] + tasks


def _leave(folder: int, most: int) -> None:
    """Remove the oldest, so that no more than *most* stay, and drafts that nobody finished."""
    names = sorted(os.listdir(folder), key=lambda one: (one.startswith("."), -_age(folder, one)))
    for name in names[most:]:
        with contextlib.suppress(OSError):
            os.unlink(name, dir_fd=folder)


def _age(folder: int, name: str) -> float:
    """Return when a file was written, 0 for one that is gone."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime
    except OSError:
        return 0.0


def _table(data: bytes | None) -> dict[str, Any] | None:
    try:
        told = json.loads(data) if data else None
    except (ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) and told.get("v") == 1 else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
