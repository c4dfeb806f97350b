"""What a scheduler's hooks tell: which job a submission became, and how a job ended. Text in, values out.

A submission is told by the name of an empty file, so that nothing has to be read and no half-written file exists:
`submitted,JOB,PID,STARTED,HOST,RANDOM`. An end is one JSON line of at most 4 KiB. What a hook says are the scheduler's
own words; `scheduler_words.py` translates them. No event carries text of a log or script.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

MOST = 4096  # bytes of an event
VERSION = 1
_JOB = r"\d{1,18}(?:[_+]\d{1,9}|\[\d{0,9}\])?(?:\.[A-Za-z0-9][A-Za-z0-9._-]{0,127})?"
JOB = re.compile(_JOB, re.ASCII)
SUBMITTED = re.compile(r"submitted,(%s),(\d{1,10}),(\d{1,20}),([A-Za-z0-9._-]{1,64}),([0-9a-f]{8,64})" % _JOB, re.ASCII)
_FIGURES = ("limit", "node_count", "gpus", "asked_memory", "used_time", "used_memory")
_HASH = re.compile(r"[0-9a-f]{64}|[0-9a-f]{32}", re.ASCII)
_RECORD = re.compile(r"[0-9a-f]{16}", re.ASCII)


class Submitted(NamedTuple):
    """Process *pid*, begun *started* clock ticks after the boot of *host*, submitted *job* as user *uid*, at *at*."""

    job: str
    pid: int
    started: int
    host: str
    uid: int
    at: float


class Ended(NamedTuple):
    """A job ended, or was put back into its queue, as the scheduler says it.

    *scheduler*: "slurm" or "pbs". *state*: Slurm's word, PBS's substate; "" where the hook is not told. *exit*: Slurm's
    "3:0", PBS's Exit_status. *comment*: the end of PBS's own, which tells who deleted the job. *array*: the id of the
    array that *job* is a task of. *owner*: the user's name where the hook knows no uid. Times are seconds since 1970,
    None where they are not told. *script_hash*, *record*: of the script as the scheduler has it, where the hook may
    read that; of the hash the first half where it only sees the path of a private copy. *batch*: "yes" for a job with a
    script, "no" for one without. *number*: Slurm's own of a task, which is not in its id. From *limit* on: what the
    job asked for and used, in the scheduler's own words.
    """

    scheduler: str
    source: str
    job: str
    uid: int
    state: str = ""
    exit: str = ""
    array: str = ""
    owner: str = ""
    nodes: str = ""
    submitted: float | None = None
    started: float | None = None
    ended: float | None = None
    name: str = ""
    workdir: str = ""
    stdout: str = ""
    stderr: str = ""
    script_hash: str = ""
    record: str = ""
    comment: str = ""
    batch: str = ""
    number: str = ""
    limit: str = ""
    node_count: str = ""
    gpus: str = ""
    asked_memory: str = ""
    used_time: str = ""
    used_memory: str = ""


class BadEvent(ValueError):
    """No event of ours; one line why, without its text."""


def submitted(name: str, uid: int, at: float) -> Submitted:
    """Return what the name of a file says that *uid* owns since *at*. Raises `BadEvent`."""
    match = SUBMITTED.fullmatch(name)
    if match is None:
        raise BadEvent("the name says no submission")
    return Submitted(match[1], int(match[2]), int(match[3]), match[4], uid, at)


def ended(line: bytes) -> Ended:
    """Return what one line says. Raises `BadEvent`."""
    if len(line) > MOST:
        raise BadEvent("longer than %d bytes" % MOST)
    try:
        fields = json.loads(line.decode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError):
        raise BadEvent("not JSON") from None
    if not isinstance(fields, dict) or fields.get("v") != VERSION or fields.get("event") != "ended":
        raise BadEvent("not an event of version %d" % VERSION)
    return _ended({name: value for name, value in fields.items() if isinstance(value, (str, int, float))})


def _ended(row: dict[str, str | int | float]) -> Ended:
    scheduler, job = _text(row, "scheduler"), _text(row, "job")
    if scheduler not in ("slurm", "pbs") or not JOB.fullmatch(job):
        raise BadEvent("no job of a scheduler that is known")
    uid, owner = _number(row, "uid"), _text(row, "owner")[:64]
    if (uid is None or not 0 <= uid < 2**32 - 1) and not owner:
        raise BadEvent("no user")
    array, hashed, record = _text(row, "array"), _text(row, "script_hash"), _text(row, "record")
    return Ended(
        scheduler, _text(row, "source")[:32], job, -1 if uid is None else int(uid), _text(row, "state")[:64],
        _text(row, "exit")[:32], array if JOB.fullmatch(array) and array != "0" else "", owner, _text(row, "nodes"),
        _time(row, "submitted"), _time(row, "started"), _time(row, "ended"), _text(row, "name"),
        _text(row, "workdir"), _text(row, "stdout"), _text(row, "stderr"),
        hashed if _HASH.fullmatch(hashed) else "", record if _RECORD.fullmatch(record) else "",
        _text(row, "comment")[-200:], _text(row, "batch")[:8], _text(row, "number")[:20],
        *(_text(row, name)[:24] for name in _FIGURES),
    )  # fmt: skip


def _text(fields: dict[str, str | int | float], name: str) -> str:
    value = fields.get(name, "")
    text = value if isinstance(value, str) else str(value)
    return "" if any(char < " " for char in text) else text


def _number(fields: dict[str, str | int | float], name: str) -> float | None:
    """Return a number, also one that a shell wrote as text."""
    value = fields.get(name)
    if isinstance(value, str):
        value = int(value) if re.fullmatch(r"\d{1,18}", value, re.ASCII) else None
    return None if value is None or isinstance(value, bool) or not abs(value) < 1e18 else value


def _time(fields: dict[str, str | int | float], name: str) -> float | None:
    at = _number(fields, name)
    return float(at) if at is not None and 0 < at < 4e9 else None
