"""The job that a script would be if it were submitted now: what it asks for, and how much it has to do."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable

from maple_submit_filter.types.job import Job
from maple_submit_filter.types.job_records import Value
from maple_submit_filter.types.launch_plan import LaunchPlan

from ..admission import analysis
from ..admission.files import read_files
from ..ask.submission import Answer
from ..base import quantities
from ..diagnose.gather.sources.job_facts import name_of
from .runs import SCALING, Asked, Work

_ABOUT = ("program", "model", "data", "framework", "parallelism", "job_kind", "optimizer", "precision")


def asked_of(answer: Answer, now: float) -> Asked:
    """Return the job that a script would be if it were submitted now."""
    submission, user = answer.submission, name_of(os.getuid())
    read = analysis.played(submission, answer.site)
    if read is None:
        return Asked(user, os.path.basename(answer.name), os.getcwd(), now)
    job, script = read.job, submission.script or b""
    values = read_files(submission, (analysis.whole_script(script),), answer.site).values
    name = (job.settings.value("job-name") or os.path.basename(os.fsencode(answer.name))).decode("utf-8", "replace")
    plan = answer.decision.plan
    nodes = max((step.nodes for step in plan.steps if step.nodes), default=None) if plan else None
    work = Work(scaling(values), nodes, _gpus(plan, nodes))
    digest = hashlib.sha256(script).hexdigest()
    path = os.path.abspath(answer.name) if os.path.isfile(answer.name) else ""
    return Asked(user, name, os.getcwd(), now, _limit(job), _memory(job), digest, work, about(name, values), path)


def about(name: str, values: Iterable[Value]) -> str:
    """Return what is known of a job in words: its name, and the names of what it trains."""
    known = {value.name: value.value for value in values}
    return " ".join([name, *(known[word] for word in _ABOUT if word in known)])


def scaling(values: Iterable[Value]) -> tuple[tuple[str, str], ...]:
    """Return the values that decide how much there is to do, by name."""
    return tuple(sorted((value.name, value.value) for value in values if value.name in SCALING))


def _gpus(plan: LaunchPlan | None, nodes: int | None) -> int | None:
    """Return all GPUs of the job, as the accounting counts them; None where that is not known."""
    given = plan.allocation if plan is not None else None
    if given is None or given.gpus is not None or given.gpus_per_node is None or nodes is None:
        return given.gpus if given is not None else None
    return given.gpus_per_node * nodes or None


def _limit(job: Job) -> float | None:
    text = job.settings.value("time" if job.submission.scheduler == "slurm" else "walltime")
    return quantities.asked(text.decode("utf-8", "replace"), job.submission.scheduler) if text else None


def _memory(job: Job) -> int | None:
    text = job.settings.value("mem")
    unit = "m" if job.submission.scheduler == "slurm" else ""  # where none is written
    return quantities.size(text.decode("utf-8", "replace"), unit) if text else None
