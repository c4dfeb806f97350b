"""Ended jobs out of accounting files: `sacct --parsable2`, the logs of a PBS server, the Standard Workload Format.

Each reader takes lines and yields runs in the order of the file; it holds no more than the lines of one job. A line
that cannot be read is passed over, and told to whoever wants to count them.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import TypeVar

from ..base import quantities
from ..base.complaint import Complaint
from .runs import Asked, Run, Work

SACCT = (
    "JobID", "User", "JobName", "WorkDir", "Submit", "Start", "End", "ElapsedRaw", "TimelimitRaw", "State", "NNodes",
    "AllocTRES", "ReqMem", "MaxRSS", "TRESUsageInMax",
)  # fmt: skip
_SLURM_ENDS = {
    "COMPLETED": "completed", "TIMEOUT": "timeout", "DEADLINE": "timeout", "OUT_OF_MEMORY": "out-of-memory",
    "FAILED": "failed", "CANCELLED": "cancelled", "NODE_FAIL": "node-failed", "BOOT_FAIL": "node-failed",
    "PREEMPTED": "preempted",
}  # fmt: skip
_GPUS = re.compile(r"(?:^|,)gres/gpu=(\d+)", re.ASCII)
_GPU_MEMORY = re.compile(r"(?:^|,)gres/gpumem=(\d+[KMGT]?)", re.ASCII)  # of the task that held the most (since 21.08)
_GPU_USE = re.compile(r"(?:^|,)gres/gpuutil=(\d+)", re.ASCII)  # percent
_SWF_ENDS = {"0": "failed", "1": "completed", "5": "cancelled"}  # 2 to 4 are parts of a job that was checkpointed
_PBS_TIME = -29  # Exit_status where walltime ran out (pbs_ifl.h, JOB_EXEC_KILL_WALLTIME)
Lost = Callable[[int], None]
N = TypeVar("N", int, float)


class NoAccounting(ValueError):
    """The file is of none of the known forms; one line."""


def read(lines: Iterable[str], form: str, lost: Lost = lambda number: None) -> Iterator[Run]:
    """Yield the runs of a file of the *form* "sacct", "pbs" or "swf". *lost* is told the number of each unread line.

    Raises `NoAccounting` where the header of sacct lacks what is needed.
    """
    return _READERS[form](enumerate(lines, start=1), lost)


def of_rows(rows: Iterable[Mapping[str, str]]) -> list[Run]:
    """Return the runs of rows that have sacct's columns, each a whole job; one that says no end is none."""
    needed = {"JobID", "User", "JobName", "Submit", "End", "State", "ElapsedRaw"}
    return [run for row in rows if needed <= set(row) and (run := _of_sacct(row)) is not None]


def read_file(path: str, form: str, lost: Lost = lambda number: None) -> list[Run]:
    """Return the runs of the file at *path*, as `read` does. Raises `Complaint` where it is of another form."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return list(read(file, form, lost))
    except NoAccounting as error:
        raise of_another_form(path, error) from None


def of_another_form(path: str, error: NoAccounting) -> Complaint:
    """Return what to say of a file that is of none of the known forms."""
    return Complaint("%s: %s" % (path, error), "sacct --parsable2 --format=%s" % ",".join(SACCT))


# Slurm: `sacct --parsable2 --format=…`, with a row for the job and, unless -X was given, one for each step.


def _sacct(lines: Iterator[tuple[int, str]], lost: Lost) -> Iterator[Run]:
    try:
        columns = next(lines)[1].rstrip("\n").split("|")
    except StopIteration:
        return
    needed = {"JobID", "User", "JobName", "Submit", "End", "State"} - set(columns)
    if needed or not {"ElapsedRaw", "Elapsed"} & set(columns):
        lacking = ", ".join(sorted(needed)) or "ElapsedRaw"
        raise NoAccounting(
            "no output of sacct --parsable2 with %s: its first line lacks %s" % (",".join(SACCT), lacking)
        )
    run: Run | None = None
    for number, line in lines:
        row = dict(zip(columns, line.rstrip("\n").split("|")))
        job, step = row["JobID"], "." in row["JobID"]
        if step and run is not None and job.startswith(run.job + "."):
            run = _with_step(run, row)
        elif not step:
            if run is not None:
                yield run
            run = _of_sacct(row)
            if run is None and row.get("State", "").split(" ")[0] in _SLURM_ENDS:
                lost(number)
    if run is not None:
        yield run


def _of_sacct(row: Mapping[str, str]) -> Run | None:
    submitted, ended = moment(row["Submit"]), moment(row["End"])
    state = _SLURM_ENDS.get(row["State"].split(" ")[0])
    seconds = row["ElapsedRaw"] if "ElapsedRaw" in row else quantities.printed(row.get("Elapsed"))
    if submitted is None or ended is None or state is None or seconds in (None, ""):
        return None
    gpus = _GPUS.search(row.get("AllocTRES", ""))
    work = Work((), whole(row.get("NNodes", "")), int(gpus[1]) if gpus else None)
    limit = whole(row.get("TimelimitRaw", ""))  # minutes
    memory = _memory_asked(row.get("ReqMem", ""), row.get("NNodes", ""))
    asked = Asked(
        row["User"],
        row["JobName"],
        row.get("WorkDir", ""),
        submitted,
        limit * 60.0 if limit else None,
        memory,
        "",
        work,
    )
    return _with_step(Run(row["JobID"], asked, ended, float(seconds or 0), state), row)


def _with_step(run: Run, row: Mapping[str, str]) -> Run:
    """Return the run with what a row tells that one of its steps used: the most of all steps counts."""
    usage = row.get("TRESUsageInMax", "")
    if not row.get("MaxRSS") and "gpu" not in usage:
        return run
    held, use = _GPU_MEMORY.search(usage), _GPU_USE.search(usage)
    return run._replace(
        memory=_most(run.memory, quantities.size(row.get("MaxRSS"))),
        gpu_memory=_most(run.gpu_memory, quantities.size(held[1]) if held else None),
        gpu_use=_most(run.gpu_use, float(use[1]) if use else None),
    )


def _most(first: N | None, second: N | None) -> N | None:
    return second if first is None else first if second is None else max(first, second)


def _memory_asked(text: str, nodes: str) -> int | None:
    """Return bytes on a node of `4Gn` (a node, until 20.11), `512G` (the job, since 21.08); per CPU is not told."""
    if text.endswith("n"):
        return quantities.size(text[:-1]) or None
    total, count = quantities.size(text), whole(nodes)
    return total // count or None if total and count else None


# PBS: the server's accounting logs, `date;E;id;key=value key=value …` (PBS Professional Reference Guide, RG-8).


def _pbs(lines: Iterator[tuple[int, str]], lost: Lost) -> Iterator[Run]:
    for number, line in lines:
        fields = line.rstrip("\n").split(";", 3)
        if len(fields) != 4 or fields[1] != "E":
            continue
        run = _of_pbs(fields[2], dict(pair.partition("=")[::2] for pair in fields[3].split(" ")))
        if run is None:
            lost(number)
        else:
            yield run


def _of_pbs(job: str, row: Mapping[str, str]) -> Run | None:
    seconds, ended = quantities.printed(row.get("resources_used.walltime")), whole(row.get("end", ""))
    submitted = whole(row.get("qtime", "") or row.get("ctime", ""))
    status = row.get("Exit_status", "")
    if seconds is None or not ended or not submitted or not re.fullmatch(r"-?\d+", status):
        return None
    limit, nodes = quantities.printed(row.get("Resource_List.walltime")), whole(row.get("Resource_List.nodect", ""))
    asked_memory = quantities.size(row.get("Resource_List.mem"))
    asked = Asked(
        row.get("user", ""), row.get("jobname", ""), "", submitted, limit,
        asked_memory // (nodes or 1) if asked_memory else None, "",
        Work((), nodes, whole(row.get("Resource_List.ngpus", ""))),
    )  # fmt: skip
    state = "completed" if status == "0" else "timeout" if int(status) == _PBS_TIME else "failed"
    return Run(job, asked, ended, seconds, state, quantities.size(row.get("resources_used.mem")))


# The Standard Workload Format (Feitelson's archive, version 2.2): 18 numbers a line, -1 for what is not known.


def _swf(lines: Iterator[tuple[int, str]], lost: Lost) -> Iterator[Run]:
    begin = 0.0
    for number, line in lines:
        if line.startswith(";"):
            name, _, value = line[1:].partition(":")
            begin = float(value) if name.strip() == "UnixStartTime" and value.strip().isdigit() else begin
            continue
        fields = line.split()
        if len(fields) < 14 or fields[10] not in _SWF_ENDS:
            if fields:
                lost(number)
            continue
        yield _of_swf(fields, begin)


def _of_swf(fields: list[str], begin: float) -> Run:
    """Return the run of a line. Its program (field 14) stands for the job's name; memory is KiB a processor."""
    submitted, wait, seconds = begin + float(fields[1]), max(float(fields[2]), 0.0), max(float(fields[3]), 0.0)
    processors, limit, kib = int(fields[4]), float(fields[8]), float(fields[6])
    work = Work((("processors", str(processors)),) if processors > 0 else ())
    asked = Asked(fields[11], fields[13], "", submitted, limit if limit > 0 else None, None, "", work)
    held = int(kib * 1024 * max(processors, 1)) if kib > 0 else None
    return Run(fields[0], asked, submitted + wait + seconds, seconds, _SWF_ENDS[fields[10]], held)


_READERS = {"sacct": _sacct, "pbs": _pbs, "swf": _swf}


def moment(text: str) -> float | None:
    """Return seconds since 1970 of `2026-11-24T10:00:00` (this machine's zone, as sacct prints) or of seconds."""
    if text.isdigit():
        return float(text)
    try:
        return time.mktime(datetime.fromisoformat(text).timetuple())
    except ValueError:  # Unknown, None
        return None


def whole(text: str | None) -> int | None:
    """Return a number without sign or fraction, None for anything else."""
    return int(text) if text and text.isascii() and text.isdigit() else None
