"""Slurm's jobs as JSON, from `squeue --json` and pyslurm: the forms of 22.05 and of 23.11 and later.

The later ones write a number as `{"set": true, "infinite": false, "number": 3}`, a state as a list of words, an exit
code as an object, and the reason RaisedSignal without the number that their own table has behind it (24.11.5, 26.05.5);
the earlier ones (v0.0.37, v0.0.38) a plain number, one word, a wait status, and the reason as in the table.

`sacct --json` is not read: that of 22.05.8 says return code 0 of a job that exited with 3, where its table says 3:0.
"""

from __future__ import annotations

import json
import posixpath
import re
import signal
from collections.abc import Iterator, Mapping
from typing import Any

from ..protocol import Job
from .jobs import job_of

_TEXTS = {
    "name": "name",
    "user": "user_name",
    "partition": "partition",
    "account": "account",
    "nodes": "nodes",
    "work_dir": "current_working_directory",
    "reason": "state_reason",
    "command": "command",
    "comment": "comment",
}
_TIMES = {"submitted": "submit_time", "started": "start_time", "ended": "end_time"}
_SIDE_STATES = ("COMPLETING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "STAGE_OUT")
_MOST_WAITING = 10_000  # tasks of an array that are told one by one
_NO_INDEX = "4294967294"  # what Slurm writes for the index of a job that is no task


def jobs(text: bytes | str) -> list[Job]:
    """Return the jobs of an answer, each task of an array on its own. Raises `ValueError` for a form not known."""
    answer = json.loads(text)
    rows = answer.get("jobs") if isinstance(answer, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError("no jobs in the answer")
    return [job_of(fields, {}) for row in rows for fields in _tasks(row)]


def _tasks(row: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """Yield the fields of a job, or of each task that still waits; where these are too many, or cut, of all as one."""
    array, waiting = number(row.get("array_job_id")), row.get("array_task_string")
    alone = number(row.get("array_task_id")) is not None or not (array and isinstance(waiting, str) and waiting)
    if alone:
        yield _fields(row, _id(row), number(row.get("array_task_id")))
        return
    indices = waiting_tasks(str(waiting))
    for index in indices:
        yield _fields(row, "%d_%d" % (array or 0, index), index)
    if not indices:
        yield _fields(row, "%d_[%s]" % (array or 0, waiting), None)


def waiting_tasks(text: str) -> list[int]:
    """Return the indices of `0-30:2,40%3`; none where the text is cut (`1,2...`), or they are too many."""
    indices: list[int] = []
    for piece in text.partition("%")[0].split(","):
        form = re.fullmatch(r"(\d{1,8})(?:-(\d{1,8})(?::(\d{1,8}))?)?", piece, re.ASCII)
        if form is None:
            return []
        first, last, step = int(form[1]), int(form[2] or form[1]), int(form[3] or 1)
        if step < 1 or (last - first) // step + len(indices) >= _MOST_WAITING:
            return []
        indices += range(first, last + 1, step)
    return indices


def _fields(row: Mapping[str, Any], job_id: str, task: int | None) -> dict[str, str]:
    """Return a row as squeue and scontrol would print it. Raises `ValueError` where it is of no form that is known."""
    fields = {name: _text(row.get(key)) for name, key in _TEXTS.items()}
    fields |= {name: "%d" % (number(row.get(key)) or 0) for name, key in _TIMES.items()}
    fields |= {"id": job_id, "state": _state(row.get("job_state")), "exit_code": _code(row.get("exit_code"))}
    fields["reason"] = _reason(fields["reason"], fields["exit_code"])
    if not number(row.get("job_id")) or not fields["state"]:
        raise ValueError("a job of an unknown form")
    if isinstance(row.get("batch_flag"), bool):
        fields["BatchFlag"] = "%d" % row["batch_flag"]  # as scontrol calls it
    return {**fields, **_outputs(row, fields["work_dir"], task)}


def number(value: object) -> int | None:
    """Return a number in either form, None where it is not set or without limit."""
    if isinstance(value, dict):
        value = value.get("number") if value.get("set") and not value.get("infinite") else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _id(row: Mapping[str, Any]) -> str:
    """Return the id as squeue prints it: of an array's task, a part of a heterogeneous job, or a plain one."""
    own = number(row.get("job_id")) or 0
    array, task = number(row.get("array_job_id")), number(row.get("array_task_id"))
    if array and task is not None:
        return "%d_%d" % (array, task)
    het, offset = number(row.get("het_job_id")), number(row.get("het_job_offset"))
    return "%d+%d" % (het, offset or 0) if het else "%d" % own


def _state(value: object) -> str:
    """Return the state; of a list the word beside it where there is one, because a job that is completing goes on."""
    words = [word for word in value if isinstance(word, str)] if isinstance(value, list) else [_text(value)]
    return next((word for word in words if word in _SIDE_STATES), words[0] if words else "")


def _code(value: object) -> str:
    """Return `code:signal`. Of a job that a signal ended there is no code, whatever else its status holds."""
    if isinstance(value, dict) and "return_code" in value:
        by = value.get("signal")
        sent = number(by.get("id") or by.get("signal_id")) if isinstance(by, dict) else None
        return "%d:%d" % (0 if sent else number(value["return_code"]) or 0, sent or 0)
    status = number(value)
    if status is None:
        return ""
    sent = status & 0x7F
    return "%d:%d" % (0 if sent else status >> 8 & 0xFF, sent)


def _reason(word: str, code: str) -> str:
    """Return the reason as the table has it: which signal it was stands behind `RaisedSignal`."""
    sent = int(code.rpartition(":")[2] or 0)
    if word != "RaisedSignal" or not sent:
        return word
    return "RaisedSignal:%d(%s)" % (sent, _signal_name(sent))


def _signal_name(sent: int) -> str:
    """Return what the C library calls a signal, as Slurm prints it."""
    try:
        return signal.strsignal(sent) or "Unknown signal %d" % sent
    except ValueError:  # no signal of this machine
        return "Unknown signal %d" % sent


def _outputs(row: Mapping[str, Any], work_dir: str, task: int | None) -> dict[str, str]:
    """Return where a batch job's output goes: as scontrol shows it, filled in by Slurm itself or by its rules.

    What was not said is in the working directory; errors go where the output goes.
    """
    if row.get("batch_flag") is False or not work_dir:
        return {"stdout": "", "stderr": ""}
    usual = "slurm-%j.out" if not number(row.get("array_job_id")) else "slurm-%A_%a.out"
    stdout = _text(row.get("stdout_expanded")) or _filled(_text(row.get("standard_output")) or usual, row, task)
    path = _text(row.get("standard_error"))
    stderr = _text(row.get("stderr_expanded")) or (_filled(path, row, task) if path else stdout)
    if task is not None:  # Slurm does not fill in the index of a task that still waits
        stdout, stderr = (path.replace(_NO_INDEX, "%d" % task) for path in (stdout, stderr))
    return {"stdout": posixpath.join(work_dir, stdout), "stderr": posixpath.join(work_dir, stderr)}


def _filled(pattern: str, row: Mapping[str, Any], task: int | None) -> str:
    """Return a path with the signs filled in that scontrol fills in (22.05): %A, %a, %j, %u and %x."""
    own = number(row.get("job_id")) or 0
    signs = {
        "%A": "%d" % (number(row.get("array_job_id")) or own),
        "%a": _NO_INDEX if task is None else "%d" % task,
        "%j": "%d" % own,
        "%u": _text(row.get("user_name")),
        "%x": _text(row.get("name")),
    }
    return re.sub("%[Aajux]", lambda sign: signs[sign[0]], pattern)
