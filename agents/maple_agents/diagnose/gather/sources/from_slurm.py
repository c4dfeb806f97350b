"""What Slurm's controller knows of a job: `scontrol show job`, the stored script, which tasks of an array failed.

Each of its commands is asked within a time of its own; what they cannot say is a line, not a failure.

What a Slurm partition gives to jobs that ask for nothing: nobody typed it, so no option is made of it.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ....ask.schedulers.commands import Output, quiet_environment, run
from ....ask.schedulers.protocol import EndReason, Job, JobState, SchedulerError
from ....ask.schedulers.slurm import queue as slurm_details
from ....base import quantities
from .job_facts import JobFacts, of_job

SECONDS = 15.0  # for each command; a busy controller answers late, and a user waits for all of them
_NAME = re.compile(r"\w[\w.-]{0,200}")
_NONE = ("", "NONE", "UNLIMITED", "0")
# A field of the job, and the fields of the partition that it comes from, the stronger first.
_FROM = {
    "TimeLimit": ("DefaultTime", "MaxTime"),
    "MinMemoryNode": ("DefMemPerNode",),
    "MinMemoryCPU": ("DefMemPerCPU",),
}
_NOTHING = ("", "(null)", "N/A", "None", "Unknown")
LAUNCH_FAILED = "0:53"  # the batch script never began: mostly its output could not be opened
# States that say more than the word Maple has for them.
_TELLING = (
    "DEADLINE",
    "BOOT_FAIL",
    "NODE_FAIL",
    "LAUNCH_FAILED",
    "RECONFIG_FAIL",
    "SPECIAL_EXIT",
    "REVOKED",
    "CANCELLED",
)


class Commands:
    """The commands that PATH of *environ* has; *late* holds a line for each that gave no answer."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self.late: list[str] = []

    def ask(self, command: str, words: Sequence[str]) -> Output | None:
        """Return what the command said, None where it is not here or late; the exit code is the caller's to judge."""
        path = shutil.which(command, path=self._environ.get("PATH", os.defpath))
        if path is None:
            return None
        env = quiet_environment(self._environ, SLURM_TIME_FORMAT="%s", TZ=self._environ.get("TZ", ""))
        if not env["TZ"]:
            del env["TZ"]
        try:
            return run([path, *words], timeout=SECONDS, env=env)
        except SchedulerError as error:
            self.late.append("%s: %s" % (command, error.text))
            return None


def ask(job: Job, commands: Commands) -> JobFacts:
    """Return what the controller tells of one job or task that it has in memory."""
    answer = commands.ask("scontrol", ["show", "job", "-d", job.id])
    fields = read_shown(answer.out, job.id, job.name) if answer is not None and not answer.code else {}
    nodes = len(job.nodes) or _number(fields.get("NumNodes")) or 0
    command = fields.get("Command", "") if fields.get("BatchFlag") != "0" else ""
    base = of_job(job, "Slurm", _number(fields.get("Restarts")) or 0)
    return replace(
        base,
        reason=reason_of(job),
        elapsed=quantities.printed(fields.get("RunTime")),
        limit=quantities.printed(fields.get("TimeLimit")),
        memory=memory(fields, nodes),
        failed_steps=_derived(fields),
        qos=_filled(fields.get("QOS")),
        constraint=_filled(fields.get("Features")),
        number=fields.get("JobId", ""),
        stdout=base.stdout or _filled(fields.get("StdOut")) or None,
        stderr=base.stderr or _filled(fields.get("StdErr")) or None,
        interactive=fields.get("BatchFlag") == "0",
        script=script(job.id, commands),
        path=_filled(command.partition(" ")[0]),
        arguments=tuple(command.split(" ")[1:]) if _filled(command) else (),
        argv=submit_line(_filled(fields.get("SubmitLine"))),
        shape=shape(asked_by_partition(fields, commands)),
    )


def read_shown(text: str, job_id: str, name: str) -> dict[str, str]:
    """Return the fields of that job in what `scontrol show job` says; *name*: its own, as squeue told it."""
    own = [record for record in slurm_details.scontrol_records(text, (name,)) if job_id in (record.id, record.number)]
    return {"JobId": own[0].number, **own[0].fields} if own else {}


def reason_of(job: Job) -> str:
    """Return the scheduler's own words: its reason, and a state that says more than Maple's word for it."""
    word = job.raw_state if job.raw_state.startswith(_TELLING) else ""
    parts = (word, job.substate if job.substate not in _NOTHING else "", *_launch(_exit(job)))
    return ", ".join(dict.fromkeys(part for part in parts if part))


def _exit(job: Job) -> str:
    return job.ending.raw.rpartition(" ")[2] if job.ending is not None else ""


def _launch(exit_code: str) -> tuple[str, ...]:
    return ("exit %s" % exit_code,) if exit_code == LAUNCH_FAILED else ()


def _derived(fields: Mapping[str, str]) -> tuple[str, ...]:
    """Return the worst exit of any step, in Slurm's words; accounting tells of which."""
    worst = fields.get("DerivedExitCode", "")
    return ("DerivedExitCode %s" % worst,) if worst not in ("", "0:0") else ()


def script(job_id: str, commands: Commands) -> bytes | None:
    """Return the script as the controller stored it, None where it has it no more, or will not show it."""
    answer = commands.ask("scontrol", ["write", "batch_script", job_id, "-"])
    if answer is None or answer.code or not answer.out.startswith("#!"):
        return None
    return answer.out.encode("utf-8", "surrogateescape")


def submit_line(text: str) -> tuple[bytes, ...] | None:
    """Return the words of a submit command as Slurm stored it, with blanks between them; None where that is not sure.

    Quotes are not stored, so a word with a blank in it cannot be told from two; a line with a --wrap is not believed.
    """
    words = text.split()
    if not words or words[0].rsplit("/", 1)[-1] != "sbatch" or any(word.startswith("--wrap") for word in words):
        return None
    return tuple(word.encode("utf-8", "surrogateescape") for word in ("sbatch", *words[1:]))


def shape(fields: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return what the job was given, by the long names of sbatch's options."""
    shown = {
        "nodes": fields.get("NumNodes", "").partition("-")[0],
        "ntasks": fields.get("NumTasks", ""),
        "ntasks-per-node": fields.get("NtasksPerN:B:S:C", "").partition(":")[0],
        "cpus-per-task": fields.get("CPUs/Task", ""),
        "gres": _gres(fields.get("TresPerNode", "")),
        "gpus": _gres(fields.get("TresPerJob", "")).removeprefix("gpu:"),
        "gpus-per-task": _gres(fields.get("TresPerTask", "")).removeprefix("gpu:"),
        "mem": fields.get("MinMemoryNode", ""),
        "mem-per-cpu": fields.get("MinMemoryCPU", ""),
        "partition": fields.get("Partition", ""),
        "account": fields.get("Account", ""),
        "qos": fields.get("QOS", ""),
        "constraint": fields.get("Features", ""),
        "time": fields.get("TimeLimit", ""),
        "reservation": fields.get("Reservation", ""),
    }
    return tuple((name, value) for name, value in shown.items() if value not in (*_NOTHING, "0", "*", "UNLIMITED"))


def _gres(text: str) -> str:
    """Return `gpu:a100:4` of `gres:gpu:a100:4` (22.05) or `gres/gpu:a100:4` (since 23.02), gres by gres."""
    items = [re.sub(r"^gres[:/]", "", item) for item in text.split(",") if item.startswith("gres")]
    return ",".join(item.replace("=", ":") for item in items)


def memory(fields: Mapping[str, str], nodes: int) -> int | None:
    """Return the memory that the job has on a node: its share of the total, else what it asked for."""
    total = re.search(r"(?:^|,)mem=([^,]+)", fields.get("AllocTRES") or fields.get("TRES") or "")
    whole = quantities.size(total[1], "m") if total else None
    if whole and nodes:
        return whole // nodes
    return quantities.size(fields.get("MinMemoryNode"), "m") or None


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else None


def _filled(text: str | None) -> str:
    return "" if text is None or text in _NOTHING else text


def failed_first(tasks: list[Job]) -> list[Job]:
    """Return the tasks that failed, first the one that ended first; where none did, those that go on, else all."""
    failed = [job for job in tasks if job.ending is not None and job.ending.reason is not EndReason.COMPLETED]
    others = [job for job in tasks if job.state is JobState.RUNNING] or tasks
    return sorted(failed or others, key=lambda job: (job.ended or float("inf"), job.array_index or 0))


def asked_by_partition(fields: Mapping[str, str], commands: Commands) -> dict[str, str]:
    """Return the fields of a job without those that hold its partition's default.

    Who typed the very default asked for nothing else, so the job is the same without the word.
    """
    name = fields.get("Partition", "")
    answer = commands.ask("scontrol", ["show", "partition", "-o", name]) if _NAME.fullmatch(name) else None
    defaults_of = dict(re.findall(r"(\w+)=(\S+)", answer.out)) if answer is not None and not answer.code else {}
    defaults = set(_same(fields, defaults_of))
    return {name: value for name, value in fields.items() if name not in defaults}


def _same(fields: Mapping[str, str], partition: Mapping[str, str]) -> Iterator[str]:
    """Yield the names of the fields that hold a default."""
    for name, given_by in _FROM.items():
        default = next((partition[name] for name in given_by if partition.get(name, "") not in _NONE), "")
        if default and name in fields and _amount(name, fields[name]) == _amount(name, default):
            yield name


def _amount(name: str, text: str) -> float | str:
    """Return a time in seconds or a memory in bytes; the text where it is neither."""
    amount = quantities.printed(text) if name == "TimeLimit" else quantities.size(text, "m")
    return text if amount is None else amount
