"""What a user types for a job, and the id that its scheduler knows."""

from __future__ import annotations

import re
from typing import NamedTuple, Optional

from ...ask.schedulers.pbs import ids as pbs_ids
from ...ask.schedulers.protocol import Scheduler, SchedulerError
from ...ask.schedulers.slurm import jobs as slurm_ids
from ...base.complaint import Complaint

_ANY = re.compile(r"\d[\w.\[\]+-]{0,200}", re.ASCII)
_WAITING = re.compile(r"(\d+)_\[[^\]]*\]", re.ASCII)  # tasks that wait, as squeue prints them together
_STEP = re.compile(r"(\d+(?:[_+]\d+)?)\.(\d+|batch|extern|interactive)", re.ASCII)
_CLUSTER = re.compile(r"(.*);([\w.-]+)", re.ASCII)  # sbatch --parsable


class Named(NamedTuple):
    """A job by its id. *step*: the one that was named, "" for none. *wrong*: why the scheduler cannot know it."""

    job: str
    step: str = ""
    wrong: str = ""


def named(text: str, scheduler: Optional[Scheduler]) -> Named:
    """Return which job is meant. Raises `Complaint` for what is no id at all, and for a job of another cluster."""
    asked = text.strip()
    found = _CLUSTER.fullmatch(asked)
    job = _WAITING.sub(r"\1", found[1] if found else asked)
    if not _ANY.fullmatch(job):
        raise Complaint("%s: is no job id" % asked[:200], "it looks like 4711, 4711_3, 4711+1, or 123.server")
    if found:
        _of_this(found[2], asked, scheduler)
    if scheduler is not None and scheduler.name == "pbs":
        return Named(job, wrong="" if pbs_ids.is_id(job) else "PBS has no such ids: they look like 123.server, 123[4]")
    step = _STEP.fullmatch(job)
    if step:
        return Named(step[1], step[2])
    wrong = scheduler is not None and not slurm_ids.JOB_ID.fullmatch(job)
    return Named(job, wrong="Slurm has no such ids: they look like 4711, 4711_3, 4711+1" if wrong else "")


def _of_this(cluster: str, asked: str, scheduler: Optional[Scheduler]) -> None:
    """Raises `Complaint` where a job is of another cluster than the one whose scheduler is asked."""
    if scheduler is None:
        return
    try:
        here = scheduler.server().name
    except SchedulerError as error:
        raise Complaint("job %s: cluster not known: %s" % (asked, error.text), "name the job without it") from None
    if here != cluster:
        raise Complaint("job %s is of cluster %s, and this is %s" % (asked, cluster, here), "ask there")
