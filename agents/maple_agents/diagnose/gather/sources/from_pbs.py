"""What PBS knows of a job. It gives no script back: that is looked for where the submit command found it."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import replace

from maple_submit_filter.request.pbs.options import read_letters

from ....ask.schedulers.pbs.jobs import variable
from ....ask.schedulers.protocol import Job, JobState
from ....base import quantities
from .job_facts import JobFacts, of_job

# Exit_status of a job that PBS itself ended (OpenPBS 23.06), in words.
_NEGATIVE = {
    -1: "its start failed before the files were there", -2: "its start failed after the files were there",
    -3: "its start failed and is to be tried again", -4: "the node's server was started anew",
    -10: "the user is not known on the node", -11: "it was put back into its queue", -20: "a node of the job was lost",
    -22: "a hook failed", -24: "it used more processors than it had", -25: "it used more processors than it had",
    -26: "it used more virtual memory than it had", -27: "it used more memory than it had",
    -28: "it used more processor time than it had", -29: "its walltime was over", -30: "the nodes could not be joined",
}  # fmt: skip


def ask(job: Job) -> JobFacts:
    """Return what PBS tells of a job."""
    attributes = job.attributes
    count = len(job.nodes)
    argv = _argv(job, attributes)
    path, arguments = _script(argv)
    return replace(
        of_job(job, "PBS", max(0, _number(attributes.get("run_count")) - 1)),
        reason=reason_of(job),
        elapsed=quantities.printed(attributes.get("resources_used.walltime")),
        limit=quantities.printed(attributes.get("Resource_List.walltime")),
        memory=_per_node(attributes.get("Resource_List.mem"), count),
        used_memory=quantities.size(attributes.get("resources_used.mem")) if count == 1 else None,  # else: of all nodes
        failed_steps=_subjobs(job),
        interactive=attributes.get("interactive", "").lower() in ("true", "1"),
        path=os.path.join(job.work_dir or "", path) if path and path != "-" else "",
        arguments=arguments,
        argv=argv,
        environment=_environment(attributes),
        missing=_not_delivered(job),
    )


def of_array(task: Job, array: Job) -> Job:
    """Return a task with what PBS tells of its array alone: the words of qsub, so the script too (23.06)."""
    if "Submit_arguments" in task.attributes or "Submit_arguments" not in array.attributes:
        return task
    words = array.attributes["Submit_arguments"]
    return replace(
        task, submit_arguments=array.submit_arguments, attributes={**task.attributes, "Submit_arguments": words}
    )


def reason_of(job: Job) -> str:
    """Return PBS's comment, where it says more than that the job ran, and what a negative exit status means."""
    parts = ["" if _RAN.fullmatch(job.comment) else job.comment, made_up(job.attributes.get("Exit_status", ""))]
    if job.state is JobState.HELD and job.attributes.get("Hold_Types", "n") != "n":
        parts.append("held (Hold_Types %s)" % job.attributes["Hold_Types"])
    return ", ".join(part for part in parts if part)


# Each job has it. Behind "and" stands how it ended: of itself, or by a reason such as "terminated by ann@login1".
_RAN = re.compile(r"Job run at (?:(?! and (?!finished$|failed$)).)*", re.DOTALL)


def made_up(status: str) -> str:
    """Return what an exit status of PBS's own means, `Exit_status -29: its walltime was over`; "" for a job's own."""
    words = _NEGATIVE.get(int(status)) if re.fullmatch(r"-\d{1,3}", status) else None
    return "Exit_status %s: %s" % (status, words) if words else ""


def _argv(job: Job, attributes: Mapping[str, str]) -> tuple[bytes, ...] | None:
    """Return qsub's words: exact from libpbs; qstat prints them with blanks between, and quotes where it must."""
    words = job.submit_arguments
    if words is None and attributes.get("Submit_arguments"):
        try:
            words = tuple(shlex.split(attributes["Submit_arguments"]))
        except ValueError:
            return None
    if words is None:
        return None
    return (b"qsub", *(word.encode("utf-8", "surrogateescape") for word in words))


def _script(argv: tuple[bytes, ...] | None) -> tuple[str, tuple[str, ...]]:
    """Return the script that the words name, and the words behind it; "" where there is none."""
    if argv is None:
        return "", ()
    letters = read_letters(argv)
    rest = [os.fsdecode(word) for word in argv[letters.end :]]
    if letters.problem or letters.executable or not rest:
        return "", ()
    return rest[0], tuple(rest[1:])


def _environment(attributes: Mapping[str, str]) -> tuple[tuple[bytes, bytes], ...]:
    """Return variables of the submit command as far as PBS carries them along."""
    out = []
    for name in ("HOME", "LOGNAME", "SHELL", "PATH", "LANG", "HOST", "WORKDIR", "QUEUE", "SYSTEM"):
        value = variable(attributes, "PBS_O_" + name)
        if value is None:
            continue
        out.append((b"PBS_O_" + name.encode(), os.fsencode(value)))
        if name in ("HOME", "LOGNAME", "SHELL"):
            out.append((name.encode(), os.fsencode(value)))
    return tuple(out)


def _not_delivered(job: Job) -> tuple[str, ...]:
    out = []
    for name, path in (("stdout", job.stdout), ("stderr", job.stderr)):
        if path is None and name[3] in job.attributes.get("Remove_Files", ""):
            out.append("%s was not kept (qsub -R)" % name)
    return tuple(out)


def _subjobs(job: Job) -> tuple[str, ...]:
    summary = job.attributes.get("array_state_count", "")
    return ("array: %s" % summary.strip(),) if summary else ()


def _per_node(text: str | None, nodes: int) -> int | None:
    whole = quantities.size(text)
    return whole // nodes if whole and nodes else None


def _number(text: str | None) -> int:
    return int(text) if text and re.fullmatch(r"\d{1,6}", text) else 0
