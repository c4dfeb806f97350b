"""The runs of one's own jobs, from who remembers them: the service (with versions), sacct, or the scheduler itself.

Also the job that a script would be. Everything here asks the world; each source that does not answer is named.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from maple_submit_filter.types.job import Job
from maple_submit_filter.types.job_records import Outcome, Record, Value, Version

from ..admission import analysis
from ..admission.files import read_files
from ..ask.memory.service import NoService, Refused
from ..ask.memory.versions import jobs as remembered_jobs
from ..ask.schedulers import commands
from ..ask.schedulers.choose import choose
from ..ask.schedulers.protocol import Job as ScheduledJob
from ..ask.schedulers.protocol import SchedulerError, of_ending
from ..ask.submission import Answer
from ..base import quantities
from ..diagnose.gather.sources.job_facts import name_of
from . import accounting
from .accounting import whole
from .runs import SCALING, Asked, Run, Work

DAYS = 90
SECONDS = 10.0  # that sacct is waited for


class Known(NamedTuple):
    """*runs* of one's own, each once; *silent*: a line for each source that did not answer."""

    runs: tuple[Run, ...]
    silent: tuple[str, ...] = ()


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
    work = Work(_scaling(values), nodes)
    digest = hashlib.sha256(script).hexdigest()
    return Asked(user, name, os.getcwd(), now, _limit(job), _memory(job), digest, work)


def known(asked: Asked, scheduler: str, days: int = DAYS) -> Known:
    """Return one's own runs of that name, of the last *days*: from the service and from the scheduler's accounting."""
    silent: list[str] = []
    try:
        runs = list(_of_service(asked))
    except (NoService, Refused) as error:
        runs = []
        silent.append(str(error))
    try:
        counted = list(_of_accounting(asked, scheduler, days))
    except (SchedulerError, accounting.NoAccounting) as error:
        counted = []
        silent.append(str(error))
    return Known(tuple(_joined(runs, counted)), tuple(silent))


def _joined(runs: Iterable[Run], counted: Iterable[Run]) -> list[Run]:
    """Return each job once: numbers from the accounting, version and values from the service."""
    by_job = {run.job: run for run in runs}
    for run in counted:
        versioned = by_job.get(run.job)
        if versioned is not None:
            work = versioned.asked.work._replace(nodes=run.asked.work.nodes or versioned.asked.work.nodes)
            run = run._replace(asked=run.asked._replace(version=versioned.asked.version, work=work))
        by_job[run.job] = run
    return list(by_job.values())


# What the service remembers: versions with their values, and how the jobs of each ended.


def _of_service(asked: Asked) -> Iterable[Run]:
    for lineage in remembered_jobs(asked.name, ""):
        for version in lineage.versions:
            for record in lineage.records.get(version.id, ()):
                run = _of_record(version, record, asked.user)
                if run is not None:
                    yield run


def _of_record(version: Version, record: Record, user: str) -> Run | None:
    outcome: Outcome | None = record.outcome
    if outcome is None or not outcome.started or not outcome.ended:
        return None
    submitted = outcome.submitted or record.at
    asked = Asked(user, outcome.name or version.name, outcome.workdir or version.cwd, submitted, None, None,
                  version.script_hash, Work(_scaling(version.values)))  # fmt: skip
    return Run(outcome.job, asked, outcome.ended, outcome.ended - outcome.started, outcome.state)


# What the scheduler's accounting remembers.


def _of_accounting(asked: Asked, scheduler: str, days: int) -> Iterable[Run]:
    if scheduler == "pbs":
        return [run for job in choose("pbs").jobs_of(asked.user, ended=True) if (run := of_job(job)) is not None]
    words = ["sacct", "--parsable2", "--user", asked.user, "--name", asked.name, "--starttime", "now-%ddays" % days,
             "--format", ",".join(accounting.SACCT)]  # fmt: skip
    answer = commands.run(words, timeout=SECONDS, env=commands.quiet_environment(os.environ))
    if answer.code:
        first = (answer.err or answer.out).strip().partition("\n")[0]
        raise SchedulerError("sacct", first or "exit code %d" % answer.code, "its accounting may be switched off")
    return list(accounting.read(answer.out.splitlines(), "sacct"))


def of_job(job: ScheduledJob) -> Run | None:
    """Return the run of a job that its scheduler still knows, None where it has not ended, or never started."""
    if job.ending is None or not job.started or not job.ended:
        return None
    used, wanted = job.attributes.get("resources_used.walltime"), job.attributes.get("Resource_List.walltime")
    seconds = quantities.printed(used) or job.ended - job.started
    work = Work((), whole(job.attributes.get("Resource_List.nodect")), whole(job.attributes.get("Resource_List.ngpus")))
    asked = Asked(job.owner, job.name, job.work_dir or "", job.submitted or job.started, quantities.printed(wanted),
                  quantities.size(job.attributes.get("Resource_List.mem")), "", work)  # fmt: skip
    held = quantities.size(job.attributes.get("resources_used.mem"))
    return Run(job.id, asked, job.ended, seconds, of_ending(job.ending), held)


def _scaling(values: Sequence[Value]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((value.name, value.value) for value in values if value.name in SCALING))


def _limit(job: Job) -> float | None:
    text = job.settings.value("time" if job.submission.scheduler == "slurm" else "walltime")
    return quantities.asked(text.decode("utf-8", "replace"), job.submission.scheduler) if text else None


def _memory(job: Job) -> int | None:
    text = job.settings.value("mem")
    unit = "m" if job.submission.scheduler == "slurm" else ""  # where none is written
    return quantities.size(text.decode("utf-8", "replace"), unit) if text else None
