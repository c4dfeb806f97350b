"""What Maple calls the state of a job, of all schedulers: the words of `job_records.STATES`."""

from __future__ import annotations

from .protocol import EndReason, JobState

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
