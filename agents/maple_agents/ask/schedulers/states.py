"""What Maple calls the state of a job, of all schedulers: the words of `job_records.STATES`."""

from __future__ import annotations

from .protocol import Ending, EndReason, Job, JobState

OF_REASON = {
    EndReason.COMPLETED: "completed",
    EndReason.EXITED: "failed",
    EndReason.SIGNALLED: "failed",
    EndReason.CANCELLED: "cancelled",
    EndReason.WALLTIME: "timeout",
    EndReason.MEMORY: "out-of-memory",
    EndReason.LIMIT: "timeout",  # processor time, or Slurm's --deadline
    EndReason.NODE: "node-failed",
    EndReason.PREEMPTED: "preempted",
    EndReason.NOT_STARTED: "failed",
    EndReason.UNKNOWN: "unknown",
}
OF_STATE = {  # of a job that is not over
    JobState.QUEUED: "pending",
    JobState.HELD: "pending",
    JobState.RUNNING: "running",
    JobState.EXITING: "running",
}
GOING_ON = frozenset(("pending", "running", "requeued"))


# How a job ended, in the words of `maple_submit_filter.types.job_records.STATES`.

_OF_STATE = {**OF_STATE, JobState.VANISHED: "unknown", JobState.UNKNOWN: "unknown"}


def state_of(job: Job, restarts: int = 0) -> str:
    """Return the state; one that waits again after it ran is requeued."""
    if job.state is JobState.FINISHED:
        return of_ending(job.ending or Ending(EndReason.UNKNOWN))
    word = _OF_STATE[job.state]
    return "requeued" if word == "pending" and restarts else word


def of_ending(ending: Ending) -> str:
    """Return the state of a job that is over."""
    return OF_REASON[ending.reason]
