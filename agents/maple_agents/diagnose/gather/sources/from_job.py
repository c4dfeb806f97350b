"""What every scheduler tells of a job in the same words."""

from __future__ import annotations

from ....ask.schedulers.protocol import Ending, EndReason, Job, state_of
from .job_facts import Told


def of_job(job: Job, by: str, restarts: int = 0) -> Told:
    """Return that of *job*. *by*: who tells it, "Slurm" or "PBS". *restarts*: how often it was started anew."""
    ending = job.ending or Ending(EndReason.UNKNOWN)
    return Told(
        by=by,
        scheduler=by.lower(),
        id=job.id,
        name=job.name,
        state=state_of(job, restarts),
        exit_code=ending.exit_code,
        signal=ending.signal,
        submitted=job.submitted,
        started=job.started,
        ended=job.ended,
        restarts=restarts,
        nodes=job.nodes,
        partition=job.queue.partition(",")[0],
        array=job.array_id or "",
        index=job.array_index,
        work_dir=job.work_dir or "",
        stdout=job.stdout,
        stderr=job.stderr,
    )
