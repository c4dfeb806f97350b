"""Slurm's jobs as JSON, from slurmrestd and from `squeue --json`: the forms of 22.05 and of 23.11 and later.

The later ones write a number as `{"set": true, "infinite": false, "number": 3}`, a state as a list of words, and an
exit code as an object; the earlier ones (v0.0.37, v0.0.38) a plain number, one word, and a wait status.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .protocol import Job
from .slurm_jobs import job_of

_TEXTS = {
    "name": "name",
    "user": "user_name",
    "partition": "partition",
    "account": "account",
    "nodes": "nodes",
    "work_dir": "current_working_directory",
    "reason": "state_reason",
    "stdout": "standard_output",
    "stderr": "standard_error",
}
_TIMES = {"submitted": "submit_time", "started": "start_time", "ended": "end_time"}
_SIDE_STATES = ("COMPLETING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "STAGE_OUT")


def jobs(text: bytes | str) -> list[Job]:
    """Return the jobs of an answer, the tasks of an array that still wait together as one. Raises `ValueError`."""
    told = json.loads(text)
    rows = told.get("jobs") if isinstance(told, dict) else None
    if not isinstance(rows, list):
        raise ValueError("no jobs in the answer")
    return [job_of(_fields(row), {}) for row in rows if isinstance(row, dict)]


def _fields(row: Mapping[str, Any]) -> dict[str, str]:
    """Return a row as squeue would print it."""
    fields = {name: _text(row.get(key)) for name, key in _TEXTS.items()}
    fields |= {name: "%d" % (number(row.get(key)) or 0) for name, key in _TIMES.items()}
    return {**fields, "id": _id(row), "state": _state(row.get("job_state")), "exit_code": _code(row.get("exit_code"))}


def number(value: object) -> int | None:
    """Return a number in either form, None where it is not set or without limit."""
    if isinstance(value, dict):
        value = value.get("number") if value.get("set") and not value.get("infinite") else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _id(row: Mapping[str, Any]) -> str:
    array, task, waiting = (
        number(row.get("array_job_id")),
        number(row.get("array_task_id")),
        row.get("array_task_string"),
    )
    if array and task is not None:
        return "%d_%d" % (array, task)
    own = "%d" % (number(row.get("job_id")) or 0)
    return "%s_[%s]" % (own, waiting) if array and isinstance(waiting, str) and waiting else own


def _state(value: object) -> str:
    """Return the state; of a list the word beside it where there is one, because a job that is completing goes on."""
    words = [one for one in value if isinstance(one, str)] if isinstance(value, list) else [_text(value)]
    return next((one for one in words if one in _SIDE_STATES), words[0] if words else "")


def _code(value: object) -> str:
    """Return `code:signal`."""
    if isinstance(value, dict) and "return_code" in value:
        signal = value.get("signal")
        sent = number(signal.get("id") or signal.get("signal_id")) if isinstance(signal, dict) else None
        return "%d:%d" % (number(value["return_code"]) or 0, sent or 0)
    status = number(value)
    return "" if status is None else "%d:%d" % (status >> 8 & 0xFF, status & 0x7F)
