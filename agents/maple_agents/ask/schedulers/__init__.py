"""Schedulers behind one Protocol: libpbs, the commands of PBS, the commands of Slurm."""

from __future__ import annotations

from .choose import choose
from .errors import MisuseError, SchedulerError
from .job_wait import Pace, changes, wait
from .protocol import Ending, EndReason, Job, JobState, Node, Queue, Scheduler, Server

__all__ = [
    "EndReason",
    "Ending",
    "Job",
    "JobState",
    "MisuseError",
    "Node",
    "Pace",
    "Queue",
    "Scheduler",
    "SchedulerError",
    "Server",
    "changes",
    "choose",
    "wait",
]
