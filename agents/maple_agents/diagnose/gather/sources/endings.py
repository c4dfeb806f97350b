"""How a job ended, in the words of `maple_submit_filter.types.job_records.STATES`."""

from __future__ import annotations

from ....ask.schedulers.protocol import Ending, EndReason, Job, JobState
from ....ask.schedulers.states import OF_REASON, OF_STATE

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
