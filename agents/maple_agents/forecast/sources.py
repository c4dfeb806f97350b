"""The runs of one's own jobs, from who remembers them: the service (with versions), sacct, or the scheduler itself.

Also the job that a script would be. Everything here asks the world; each source that does not answer is named.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from maple_submit_filter.types.job import Job
from maple_submit_filter.types.job_records import Outcome, Record, Value, Version

from ..admission import analysis
from ..admission.files import read_files
from ..ask.memory.service import NoService, Refused
from ..ask.memory.versions import jobs as remembered_jobs
from ..ask.memory.versions import told_runs
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


def of_jobs(ids: Sequence[str]) -> list[Run]:
    """Return what the scheduler tells of these jobs of anybody's, as far as it does. Raises `SchedulerError`."""
    scheduler = choose()
    if scheduler.name == "slurm":
        return _sacct(["--allusers", "--jobs", ",".join(ids)])
    return [run for job in scheduler.jobs(ids).values() if (run := of_job(job)) is not None]


def _joined(runs: Iterable[Run], counted: Iterable[Run]) -> list[Run]:
    """Return each job once: numbers from the accounting, version and values from the service."""
    by_job = {run.job: run for run in runs}
    for run in counted:
        versioned = by_job.get(run.job)
        if versioned is not None:
            run = _of_both(run, versioned)
        by_job[run.job] = run
    return list(by_job.values())


def _of_both(run: Run, other: Run) -> Run:
    """Return *run* with what only the other knows."""
    work, its = run.asked.work, other.asked.work
    both = Work(work.values or its.values, work.nodes or its.nodes, work.gpus or its.gpus)
    asked = run.asked._replace(
        version=run.asked.version or other.asked.version,
        folder=run.asked.folder or other.asked.folder,
        limit=run.asked.limit or other.asked.limit,
        memory=run.asked.memory or other.asked.memory,
        work=both,
    )
    return run._replace(
        asked=asked,
        memory=run.memory or other.memory,
        gpu_memory=run.gpu_memory or other.gpu_memory,
        gpu_use=run.gpu_use if run.gpu_use is not None else other.gpu_use,
    )


# What the service remembers: what jobs asked for and used; versions with their values, and how the jobs of each ended.

_NEWEST, _OF_NAME = 300, 100  # of any name, which show how far runs stray from the one before them; of the job's own


def _of_service(asked: Asked) -> list[Run]:
    """Return own runs with their versions' values where those are kept, and the newest of other names."""
    versioned = {run.job: run for run in _versioned(asked)}
    kept = [*_own(_NEWEST), *_own(_OF_NAME, asked.name)]
    return _joined(versioned.values(), (run._replace(asked=run.asked._replace(user=asked.user)) for run in kept))


def _own(limit: int, name: str = "") -> Iterator[Run]:
    """Yield one's own runs, as the service has them."""
    try:
        found = told_runs(name, limit)
    except Refused:  # a service from before it kept them
        return
    for told in found:
        asked = {**told["asked"], "work": Work((), told["asked"]["work"]["nodes"], told["asked"]["work"]["gpus"])}
        yield Run(**_known(Run, {**told, "asked": Asked(**_known(Asked, asked))}))


def _known(kind: Any, told: dict[str, Any]) -> dict[str, Any]:
    """Return what is known here: a newer service may tell more."""
    return {name: told[name] for name in kind._fields if name in told}


def _versioned(asked: Asked) -> Iterable[Run]:
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
    return _sacct(["--user", asked.user, "--name", asked.name, "--starttime", "now-%ddays" % days])


def _sacct(which: Sequence[str]) -> list[Run]:
    words = ["sacct", "--parsable2", *which, "--format", ",".join(accounting.SACCT)]
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
