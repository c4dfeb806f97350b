"""The diagnosis of a job that has just failed, made at its end by a small process of its owner's, and kept for him.

`python -I -m maple_agents.diagnose.at_end JOBID --exit CODE:SIGNAL`, started by the scheduler's epilogue where the
administrator has switched that on. It says nothing, ends with 0 whatever happens, and does nothing as root.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from ..base import new_file
from .values import Case, Cause, Cure, Diagnosis, Ended, Evidence, LogFile

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
        with new_file.opened(FOLDER, make=False) as folder:
            for name in _names(folder, job):
                record = _table(new_file.read(folder, name, MOST_BYTES))
                if record is not None and 0 <= now - float(record["at"]) <= WEEK:
                    return record
    except (OSError, KeyError, TypeError, ValueError):
        return None
    return None


def says(job: str, now: float) -> str:
    """Return the sentence that was found to be the cause of a job's end, "" for none."""
    record = kept(job, now)
    try:
        cause = record["told"]["cause"] if record is not None else {}
        return "" if cause.get("class", "unknown") in ("unknown", "none") else str(cause["says"]).rstrip(".")
    except (KeyError, TypeError, AttributeError):
        return ""


def keep(diagnosis: Diagnosis, at: float) -> None:
    """Keep a diagnosis, as JSON and as people read it. Raises `OSError`."""
    from .tell.json_form import as_json

    row = {"v": 1, "at": at, "told": as_json(diagnosis), "shown": _shown(diagnosis)}
    data = json.dumps(row).encode()
    if len(data) > MOST_BYTES:
        return
    with new_file.opened(FOLDER) as folder:
        new_file.leave(folder, MOST_KEPT - 1)
        new_file.write(folder, diagnosis.case.ended.id + ".json", data)


def ended(facts: Ended, job: str, status: str) -> Ended | None:
    """Return how the job ended by its exit *status*, "1:0" or one number as PBS has it; None where it did not fail.

    While an epilogue runs the scheduler calls the job running still. A signal that whoever cancels sends is a failure
    only where a limit is named.
    """
    if re.fullmatch(r"-?\d{1,4}", status, re.ASCII):
        return _of_pbs(facts, job, status)
    match = re.fullmatch(r"(\d{1,4}):(\d{1,3})", status, re.ASCII)
    if match is None:
        return None
    code, sent = int(match[1]), int(match[2])
    limit = next((state for word, state in _LIMITS.items() if word in facts.reason.lower()), "")
    if not limit and (not code and not sent or sent in _CANCELS):
        return None
    return replace(facts, id=job, state=limit or "failed", exit_code=code or None, signal=sent or None)


def _of_pbs(ended: Ended, job: str, status: str) -> Ended | None:
    """Return it of a job of PBS: limits have exit statuses of their own, and who deleted a job its comment tells."""
    from ..ask.memory.service import STATES
    from ..ask.schedulers.pbs.jobs import ending
    from ..ask.schedulers.protocol import OF_REASON
    from .gather.sources.from_pbs import made_up

    how = ending({"Exit_status": status, "comment": ended.reason})
    state = OF_REASON[how.reason]
    if state not in STATES or how.signal in _CANCELS or how.shell_signal == signal.SIGTERM:
        return None
    reason = ", ".join(part for part in (ended.reason, made_up(status)) if part)
    return replace(ended, id=job, state=state, exit_code=how.exit_code, signal=how.signal, reason=reason)


def _read(words: Sequence[str]) -> tuple[str, str, tuple[str, ...]]:
    """Return job, status and logs of `JOBID --exit STATUS [LOG…]`. Raises `ValueError`."""
    job, option, status, *logs = words
    if option != "--exit" or not _NAME.fullmatch(job):
        raise ValueError("not a job and how it ended")
    return job, status, tuple(logs)


def _diagnosed(job: str, status: str, logs: tuple[str, ...]) -> None:
    from .class_report import claimed, tell
    from .explanation import case_of, explained

    case = _failed(case_of(job, logs, None, None, (), None, None), job, status)
    if case is not None:
        diagnosis = explained(case, "off")
        tell(diagnosis.case.ended.id, claimed(diagnosis))
        keep(moved(diagnosis, _delivered(job, logs)) if case.scheduler == "pbs" else diagnosis, time.time())


def _delivered(job: str, logs: Sequence[str]) -> dict[str, str]:
    """Return where PBS takes the output to that lies in a node's spool until the job's epilogue is over."""
    from ..ask.schedulers import SchedulerError, choose

    spooled = [log for log in logs if os.path.basename(log) in ("%s.OU" % job, "%s.ER" % job)]
    try:
        known = choose().jobs([job])[job] if spooled else None
    except SchedulerError:
        return {}
    delivered = {spool: known.stdout if spool.endswith(".OU") else known.stderr for spool in spooled} if known else {}
    return {spool: path for spool, path in delivered.items() if path}


def _failed(case: Case, job: str, status: str) -> Case | None:
    how = ended(case.ended, job, status)
    return replace(case, ended=how) if how is not None else None


def _shown(diagnosis: Diagnosis) -> str:
    from .tell.page import show

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        show(diagnosis)
    return out.getvalue()


def _names(folder: int, job: str) -> list[str]:
    """Return the file of a job, and of those that its id may mean as users type it, the newest first."""
    from ..ask.memory.versions import is_meant

    if not _NAME.fullmatch(job):
        return []
    there = [entry for entry in os.listdir(folder) if entry.endswith(".json") and not entry.startswith(".")]
    meant = [file for file in there if is_meant(job, file[: -len(".json")])]
    return sorted(meant, key=lambda file: (file != job + ".json", -new_file.age(folder, file)))


def _table(data: bytes | None) -> dict[str, Any] | None:
    try:
        table = json.loads(data) if data else None
    except (ValueError, RecursionError):
        return None
    return table if isinstance(table, dict) and table.get("v") == 1 else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))


# A diagnosis of files that will lie elsewhere when somebody reads it: PBS delivers output after the job's epilogue.

_PARTS = (Cause, Cure, Evidence, LogFile)


def moved(diagnosis: Diagnosis, paths: Mapping[str, str]) -> Diagnosis:
    """Return *diagnosis* with each of *paths* under its later name, wherever people are told of it."""
    case = diagnosis.case
    case = replace(
        case, logs=_moved(case.logs, paths), missing=_moved(case.missing, paths), notes=_moved(case.notes, paths)
    )
    lines = ("causes", "cascade", "cures", "script", "excerpt")
    changes = {name: _moved(getattr(diagnosis, name), paths) for name in lines}
    return replace(diagnosis, case=case, **changes)


def _moved(value: Any, paths: Mapping[str, str]) -> Any:
    made = value
    if isinstance(value, str):
        for path, later in paths.items():
            made = made.replace(path, later)
    elif type(value) is tuple:
        made = tuple(_moved(item, paths) for item in value)
    elif isinstance(value, dict):
        made = {name: _moved(item, paths) for name, item in value.items()}
    elif isinstance(value, _PARTS):
        changes = {field.name: _moved(getattr(value, field.name), paths) for field in fields(value)}
        made = replace(value, **changes)
    return made
