"""How a job ended, in the words of `maple_submit_filter.job_records.STATES`."""

from __future__ import annotations

from ...schedulers.protocol import Ending, EndReason, Job, JobState

_OF_REASON = {
    EndReason.COMPLETED: "completed",
    EndReason.EXITED: "failed",
    EndReason.SIGNALLED: "failed",
    EndReason.CANCELLED: "cancelled",
    EndReason.WALLTIME: "timeout",
    EndReason.MEMORY: "out-of-memory",
    EndReason.LIMIT: "timeout",
    EndReason.NODE: "node-failed",
    EndReason.PREEMPTED: "preempted",
    EndReason.NOT_STARTED: "failed",
    EndReason.UNKNOWN: "unknown",
}
_OF_STATE = {
    JobState.QUEUED: "pending",
    JobState.HELD: "pending",
    JobState.RUNNING: "running",
    JobState.EXITING: "running",
    JobState.VANISHED: "unknown",
    JobState.UNKNOWN: "unknown",
}
GOING_ON = ("pending", "running", "requeued")


def state_of(job: Job, restarts: int = 0) -> str:
    """Return the state; one that waits again after it ran is requeued."""
    if job.state is JobState.FINISHED:
        return _OF_REASON[(job.ending or Ending(EndReason.UNKNOWN)).reason]
    word = _OF_STATE[job.state]
    return "requeued" if word == "pending" and restarts else word


def of_ending(ending: Ending) -> str:
    """Return the state of a job that is over."""
    return _OF_REASON[ending.reason]
