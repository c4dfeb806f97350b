"""From what Slurm's commands say of a job to a `Job`.

Ids of Slurm's jobs, and the job that is meant by one.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ....base.quantities import epoch
from ..protocol import Ending, EndReason, Job, JobState, SchedulerError

JOB_ID = re.compile(r"\d{1,10}(?:[_+]\d{1,10})?", re.ASCII)

_STATES = {
    **dict.fromkeys(("PENDING", "REQUEUED", "REQUEUE_FED"), JobState.QUEUED),
    **dict.fromkeys(("REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD"), JobState.HELD),
    **dict.fromkeys(
        ("RUNNING", "CONFIGURING", "SUSPENDED", "STOPPED", "RESIZING", "SIGNALING", "POWER_UP_NODE"), JobState.RUNNING
    ),
    **dict.fromkeys(("COMPLETING", "STAGE_OUT"), JobState.EXITING),
}
_ENDS = {
    "COMPLETED": EndReason.COMPLETED,
    "FAILED": EndReason.EXITED,
    "CANCELLED": EndReason.CANCELLED,
    "TIMEOUT": EndReason.WALLTIME,
    "NODE_FAIL": EndReason.NODE,
    "PREEMPTED": EndReason.PREEMPTED,
    "OUT_OF_MEMORY": EndReason.MEMORY,
    "BOOT_FAIL": EndReason.NODE,
    "DEADLINE": EndReason.LIMIT,
    "LAUNCH_FAILED": EndReason.NOT_STARTED,
    "RECONFIG_FAIL": EndReason.NOT_STARTED,
}
_HOLDS = {"JobHeldUser", "JobHeldAdmin", "JobHoldMaxRequeue"}
_NOT_LAUNCHED = 53  # `0:53`; the reason JobLaunchFailure also stands at a script that a signal ended (22.05)


def state(word: str, reason: str = "") -> JobState:
    """Return the state for Slurm's word (`CANCELLED by 1000` too); a job that is held says so in its reason."""
    first = word.split(" ")[0].rstrip("+")
    if first in _ENDS:
        return JobState.FINISHED
    job_state = _STATES.get(first, JobState.UNKNOWN)
    return JobState.HELD if job_state is JobState.QUEUED and reason in _HOLDS else job_state


def ending(word: str, exit_code: str | None = None) -> Ending:
    """Return how a job ended. *exit_code* `3:0` is code and signal; None: not told.

    Of a shell that reports a signal as 128 + n sacct shows n, scontrol 128 + n.
    """
    why = _ENDS.get(word.split(" ")[0].rstrip("+"), EndReason.UNKNOWN)
    raw = "%s %s" % (word, exit_code) if exit_code else word
    match = re.fullmatch(r"(\d{1,3}):(\d{1,3})", exit_code or "", re.ASCII)
    if match is None:
        return Ending(why, 0 if why is EndReason.COMPLETED else None, None, raw)
    code, signal = int(match[1]), int(match[2]) or None
    if signal == _NOT_LAUNCHED:
        return Ending(EndReason.NOT_STARTED, raw=raw)
    if why is EndReason.EXITED and signal:
        return Ending(EndReason.SIGNALLED, None, signal, raw)
    return Ending(why, None if signal or why not in (EndReason.COMPLETED, EndReason.EXITED) else code, signal, raw)


def job_of(fields: Mapping[str, str], details: Mapping[str, str]) -> Job:
    """Return the job of a row of squeue or sacct (*fields*), with what scontrol adds (*details*, maybe nothing)."""
    word, reason = fields.get("state", ""), fields.get("reason", "")
    job_state = state(word, reason)
    array, index = _array(fields.get("id", ""))
    code = details.get("ExitCode") or fields.get("exit_code")
    over = job_state is JobState.FINISHED
    return Job(
        id=fields.get("id", ""),
        state=job_state,
        raw_state=word,
        substate="" if reason in ("None", "") else reason,
        ending=ending(word, code) if over else None,
        name=fields.get("name", ""),
        owner=fields.get("user", ""),
        queue=fields.get("partition", ""),
        account=_known(fields.get("account")) or "",
        nodes=_hosts(fields.get("nodes")),
        work_dir=_known(fields.get("work_dir")),
        stdout=_path(details.get("StdOut") or fields.get("stdout")),
        stderr=_path(details.get("StdErr") or details.get("StdOut") or fields.get("stderr")),  # "": stdout's (25.11)
        array_id=array,
        array_index=index,
        submitted=epoch(fields.get("submitted")),
        started=epoch(fields.get("started")),
        ended=epoch(fields.get("ended")) if over else None,  # until then it is when the limit would be reached
        comment=_known(fields.get("comment")) or ("" if reason in ("None", "") else reason),
        attributes={**details, **fields},
    )


def array_job(job_id: str, tasks: Sequence[Job]) -> Job:
    """Return the whole of an array or of a heterogeneous job under the one id that sbatch printed.

    It is as far as the task that is furthest from its end, and it ended as the first of its tasks that failed.
    """
    tasks = sorted(tasks, key=_place)
    order = (JobState.RUNNING, JobState.EXITING, JobState.QUEUED, JobState.HELD, JobState.UNKNOWN, JobState.FINISHED)
    first = min(tasks, key=lambda task: order.index(task.state))
    failed = [task for task in tasks if task.ending and task.ending.reason is not EndReason.COMPLETED]
    over = first.state is JobState.FINISHED
    job = failed[0] if over and failed else first
    return Job(
        id=job_id,
        state=first.state,
        raw_state=job.raw_state,
        substate=job.substate,
        ending=job.ending if over else None,
        name=first.name,
        owner=first.owner,
        queue=first.queue,
        account=first.account,
        nodes=tuple(dict.fromkeys(node for task in tasks for node in task.nodes)),
        work_dir=first.work_dir,
        array_id=first.array_id,
        submitted=min((task.submitted for task in tasks if task.submitted is not None), default=None),
        started=min((task.started for task in tasks if task.started is not None), default=None),
        ended=max((task.ended for task in tasks if task.ended is not None), default=None) if over else None,
        comment=job.comment,
        attributes={"tasks": " ".join(task.id for task in tasks)},
    )


def _place(task: Job) -> tuple[int, str]:
    """Return what puts tasks in their order: the index of an array, the number behind the plus of the others."""
    own = re.search(r"[_+](\d{1,9})$", task.id, re.ASCII)
    return (int(own[1]) if own else 0, task.id)


def _array(job_id: str) -> tuple[str | None, int | None]:
    """Return array id and index of `5_2`; of `5_[2-3]`, tasks that still wait together, the index is None."""
    array, underscore, index = job_id.partition("_")
    return (array, int(index) if index.isdigit() else None) if underscore else (None, None)


def _hosts(text: str | None) -> tuple[str, ...]:
    listed = _known(text)
    try:
        return expand(listed) if listed and listed != "None assigned" else ()
    except ValueError:
        return (listed,) if listed else ()


def _path(text: str | None) -> str | None:
    """Return a path; that of a task which still waits has no index in it yet, but the number Slurm has for none."""
    path = _known(text)
    return None if path is None or "4294967294" in path else path


def _known(text: str | None) -> str | None:
    return None if text in (None, "", "(null)", "N/A", "Unknown") else text


# Slurm's short form of many hosts: `gpu[01-03,7],login1` is gpu01, gpu02, gpu03, gpu7 and login1.

_AT_MOST = 100_000  # hosts; a longer list is a mistake, not a cluster
_PART = re.compile(r"((?:[^,\[\]]|\[[^\]]*\])+)(?:,|$)")
_RANGE = re.compile(r"(\d{1,9})-(\d{1,9})", re.ASCII)


def expand(text: str) -> tuple[str, ...]:
    """Return the hosts that *text* names, in its order. Raises `ValueError` where it is no host list, or a huge one."""
    hosts: list[str] = []
    at = 0
    while at < len(text):
        part = _PART.match(text, at)
        if part is None:
            raise ValueError("%r is no list of hosts" % text[:80])
        at = part.end()
        hosts += _one(part[1])
        if len(hosts) > _AT_MOST:
            raise ValueError("%r names more than %d hosts" % (text[:80], _AT_MOST))
    return tuple(hosts)


def _one(part: str) -> list[str]:
    """Return the hosts of one name, which may have several brackets."""
    pieces = re.split(r"\[([^\]]*)\]", part)
    choices = [[piece] if index % 2 == 0 else _numbers(piece) for index, piece in enumerate(pieces)]
    size = 1
    for choice in choices:
        size *= len(choice)
    if size > _AT_MOST:
        raise ValueError("%r names more than %d hosts" % (part[:80], _AT_MOST))
    return ["".join(words) for words in itertools.product(*choices)]


def _numbers(text: str) -> list[str]:
    """Return the numbers of `01-03,7`, as wide as they are written."""
    numbers: list[str] = []
    for piece in text.split(","):
        ends = _RANGE.fullmatch(piece)
        if ends is None and not piece.isdigit():
            raise ValueError("%r is no range of hosts" % piece[:80])
        first, last = (int(ends[1]), int(ends[2])) if ends else (int(piece), int(piece))
        if last - first >= _AT_MOST:
            raise ValueError("%r names more than %d hosts" % (piece, _AT_MOST))
        width = len(ends[1] if ends else piece)
        numbers += ["%0*d" % (width, number) for number in range(first, last + 1)]
    return numbers


def is_id(word: str) -> bool:
    """Return True where *word* can be a job's id. Raises `SchedulerError` for one of another cluster."""
    if re.fullmatch(r"\d+;[\w.-]+", word, re.ASCII):
        raise SchedulerError("asking for job %s" % word, "it is on another cluster", "ask there")
    return JOB_ID.fullmatch(word) is not None


def job_meant(asked: str, jobs: Sequence[Job]) -> Job:
    """Return the job of that id, or the whole of the array or heterogeneous job that has it, or a vanished one."""
    exact = [job for job in jobs if job.id == asked]
    if exact:
        return exact[0]
    parts = [job for job in jobs if re.split("[_+]", job.id)[0] == asked]
    if parts:
        return array_job(asked, parts)
    array, _, index = asked.partition("_")
    waiting = [job for job in jobs if index and job.id.startswith("%s_[" % array)]  # which of them, is not told
    return replace(waiting[0], id=asked, array_index=int(index)) if waiting else Job(asked, JobState.VANISHED)
