"""The runs of one's own jobs, from who remembers them: the service (with versions), sacct, or the scheduler itself.

Also the job that a script would be. Everything here asks the world; each source that does not answer is named.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..ask.memory.service import NoService, Refused
from ..ask.schedulers import commands
from ..ask.schedulers.choose import choose
from ..ask.schedulers.protocol import Job as ScheduledJob
from ..ask.schedulers.protocol import SchedulerError, of_ending
from ..ask.schedulers.slurm.pyslurm_api import accounted
from ..base import quantities
from . import accounting
from .accounting import whole
from .runs import Asked, Run, Work
from .service_runs import joined, runs_of

DAYS = 90
SECONDS = 10.0  # that sacct is waited for


class Known(NamedTuple):
    """*runs* of one's own, each once; *silent*: a line for each source that did not answer."""

    runs: tuple[Run, ...]
    silent: tuple[str, ...] = ()


def known(asked: Asked, scheduler: str, days: int = DAYS) -> Known:
    """Return one's own runs of that name, of the last *days*: from the service and from the scheduler's accounting."""
    silent: list[str] = []
    try:
        runs = runs_of(asked)
    except (NoService, Refused) as error:
        runs = []
        silent.append(str(error))
    try:
        counted = list(_of_accounting(asked, scheduler, days))
    except (SchedulerError, accounting.NoAccounting) as error:
        counted = []
        silent.append(str(error))
    return Known(tuple(joined(runs, counted)), tuple(silent))


def of_jobs(ids: Sequence[str]) -> list[Run]:
    """Return what the scheduler tells of these jobs of anybody's, as far as it does. Raises `SchedulerError`."""
    scheduler = choose()
    if scheduler.name == "slurm":
        rows = accounted({"ids": [int(base) for id in ids if (base := id.split("_")[0]).isdigit()]}, SECONDS)
        if rows:
            return [run for run in accounting.of_rows(rows) if run.job in ids]
        return _sacct(["--allusers", "--jobs", ",".join(ids)])
    return [run for job in scheduler.jobs(ids).values() if (run := of_job(job)) is not None]


# What the scheduler's accounting remembers.


def _of_accounting(asked: Asked, scheduler: str, days: int) -> Iterable[Run]:
    if scheduler == "pbs":
        return [run for job in choose("pbs").jobs_of(asked.user, ended=True) if (run := of_job(job)) is not None]
    since = int(time.time() - days * 86400)
    rows = accounted({"users": [asked.user], "names": [asked.name], "start_time": since}, SECONDS)
    if rows:
        return [run for run in accounting.of_rows(rows) if run.asked.user == asked.user]
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
