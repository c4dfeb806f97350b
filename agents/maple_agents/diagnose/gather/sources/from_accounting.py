"""What Slurm's accounting knows of a job: how each step ended, the memory it used, the submit line, the script."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

from maple_submit_filter.request.slurm import options as sbatch_words

from ....ask.schedulers.protocol import JobState, of_ending
from ....ask.schedulers.slurm import tables as slurm_tables
from ....ask.schedulers.slurm.jobs import ending, expand, state
from ....base import quantities
from .from_slurm import LAUNCH_FAILED, Commands, submit_line
from .job_facts import JobFacts

FIELDS = (
    "JobID", "JobIDRaw", "JobName", "User", "UID", "State", "ExitCode", "Reason", "Submit", "Start", "End",
    "ElapsedRaw", "TimelimitRaw", "ReqMem", "MaxRSS", "NNodes", "AllocCPUS", "NodeList", "Partition", "QOS",
    "Constraints", "WorkDir", "SubmitLine", "StdOut", "StdErr", "Comment", "AdminComment", "SystemComment",
    "Restarts",
)  # fmt: skip
_STEP = re.compile(r"[^.]+\.(.+)", re.DOTALL)
_NO_FAILURE = ("COMPLETED", "RUNNING", "PENDING")
_NOTHING = ("", "(null)", "None", "Unknown", "N/A", "None assigned")


def ask(job_id: str, commands: Commands) -> JobFacts | None:
    """Return what accounting tells of one job or task; None where there is no accounting, or it knows no such job."""
    rows = _rows(job_id, commands)
    own = next((row for row in rows if "." not in row["JobID"] and _is(row["JobID"], job_id)), None)
    if own is None:
        return None
    steps = [row for row in rows if row["JobID"].startswith(own["JobID"] + ".")]
    made = ending(own["State"], own.get("ExitCode"))
    over = state(own["State"]) is JobState.FINISHED
    nodes = _hosts(own.get("NodeList", ""))
    submitted = submit_line(_field(own, "SubmitLine"))
    return JobFacts(
        by="Slurm's accounting",
        scheduler="slurm",
        id=own["JobID"],
        owner=int(own["UID"]) if own.get("UID", "").isdigit() else None,
        name=own.get("JobName", ""),
        state=of_ending(made) if over else {"RUNNING": "running"}.get(own["State"].split(" ")[0], "pending"),
        exit_code=made.exit_code if over else None,
        signal=made.signal if over else None,
        reason=", ".join(dict.fromkeys(filter(None, (_telling(own), _field(own, "Reason"), *_comments(own))))),
        submitted=quantities.epoch(own.get("Submit")),
        started=quantities.epoch(own.get("Start")),
        ended=quantities.epoch(own.get("End")),
        elapsed=float(own["ElapsedRaw"]) if own.get("ElapsedRaw", "").isdigit() else None,
        limit=_minutes(own.get("TimelimitRaw", "")),
        memory=memory(own.get("ReqMem", ""), own.get("NNodes", ""), own.get("AllocCPUS", "")),
        used_memory=max((quantities.size(row.get("MaxRSS")) or 0 for row in steps), default=0) or None,
        restarts=int(own["Restarts"]) if own.get("Restarts", "").isdigit() else 0,
        nodes=nodes,
        failed_steps=tuple(_failed(row) for row in steps if not row["State"].startswith(_NO_FAILURE)),
        partition=own.get("Partition", "").partition(",")[0],
        qos=_field(own, "QOS"),
        constraint=_field(own, "Constraints"),
        number=own.get("JobIDRaw", ""),
        array=own["JobID"].partition("_")[0] if "_" in own["JobID"] else "",
        index=_index(own["JobID"]),
        work_dir=_field(own, "WorkDir"),
        stdout=_field(own, "StdOut") or None,
        stderr=_field(own, "StdErr") or None,
        path=_path(submitted, _field(own, "WorkDir")),
        argv=submitted,
        shape=_shape(own),
    )


def _path(argv: tuple[bytes, ...] | None, work_dir: str) -> str:
    """Return where the script lay that the words name: sbatch looks in the job's folder first."""
    read = sbatch_words.read(argv) if argv else None
    if argv is None or read is None or read.came != "file" or not work_dir:
        return ""
    return os.path.normpath(os.path.join(work_dir, os.fsdecode(argv[read.word])))


def script(job_id: str, commands: Commands) -> bytes | None:
    """Return the script that accounting stored (`AccountingStoreFlags=job_script`), None where it has none.

    It is printed under a heading of two lines: what it is, and a rule of dashes (sacct(1), --batch-script).
    """
    answer = commands.ask("sacct", ["-B", "-j", job_id])
    match = (
        re.search(r"\A[^\n]*\n-+\n(#!.*)\Z", answer.out, re.DOTALL) if answer is not None and not answer.code else None
    )
    return match[1].encode("utf-8", "surrogateescape") if match else None


def _rows(job_id: str, commands: Commands) -> list[Mapping[str, str]]:
    known = commands.ask("sacct", ["--helpformat"])
    if known is None or known.code:
        return []
    names = [name for name in FIELDS if name in known.out.split()]
    mark = slurm_tables.mark()
    answer = commands.ask("sacct", ["-n", "-p", "--delimiter=" + mark, "-j", job_id, "--format=" + ",".join(names)])
    if answer is None or answer.code or "JobID" not in names or "State" not in names:
        return []
    return list(slurm_tables.parsable(answer.out, names, mark))


def _is(known_id: str, asked: str) -> bool:
    """A heterogeneous job is known by the id of its first component too."""
    return known_id == asked or known_id == asked + "+0"


def _telling(row: Mapping[str, str]) -> str:
    word = row["State"]
    if row.get("ExitCode") == LAUNCH_FAILED:
        return "exit %s" % LAUNCH_FAILED
    return word if word.split(" ")[0] in ("DEADLINE", "BOOT_FAIL", "NODE_FAIL", "CANCELLED", "PREEMPTED") else ""


def _comments(row: Mapping[str, str]) -> Sequence[str]:
    return [_field(row, name) for name in ("AdminComment", "SystemComment")]


def _failed(row: Mapping[str, str]) -> str:
    """Return a step that failed in Slurm's words: `0: OUT_OF_MEMORY 0:125 on n3`."""
    match = _STEP.fullmatch(row["JobID"])
    words = "%s: %s %s" % (match[1] if match else row["JobID"], row["State"], row.get("ExitCode", ""))
    where = row.get("NodeList", "")
    return words.strip() + (" on %s" % where if where and where not in _NOTHING else "")


def memory(text: str, nodes: str, cpus: str) -> int | None:
    """Return what was asked for on a node. ReqMem is the whole job's since 21.08; `n` and `c` behind it are of before.

    `4Gn` is of each node, `2Gc` of each processor.
    """
    each = text[-1:] if text[-1:] in ("n", "c") else ""
    amount = quantities.size(text.removesuffix(each), "m")
    count = int(nodes) if nodes.isdigit() else 0
    if not amount or not (count or each == "n"):
        return None
    if each == "n":
        return amount
    return amount * int(cpus) // count if each == "c" and cpus.isdigit() else None if each else amount // count


def _shape(row: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return what is told of the request: it is all that is left where the submit line is not stored."""
    shown = {"nodes": row.get("NNodes", ""), "partition": row.get("Partition", ""), "qos": _field(row, "QOS"),
            "constraint": _field(row, "Constraints")}  # fmt: skip
    return tuple((name, value) for name, value in shown.items() if value and value != "0")


def _hosts(text: str) -> tuple[str, ...]:
    try:
        return expand(text) if text not in _NOTHING else ()
    except ValueError:
        return ()


def _minutes(text: str) -> float | None:
    return int(text) * 60.0 if text.isdigit() else None


def _index(job_id: str) -> int | None:
    index = job_id.partition("_")[2]
    return int(index) if index.isdigit() else None


def _field(row: Mapping[str, str], name: str) -> str:
    value = row.get(name, "")
    return "" if value in _NOTHING else value
