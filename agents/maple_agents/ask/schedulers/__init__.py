"""Schedulers behind one Protocol: libpbs, the commands of PBS, the commands of Slurm."""

from __future__ import annotations

from .choose import choose
from .job_wait import Pace, changes, wait
from .protocol import Ending, EndReason, Job, JobState, MisuseError, Node, Queue, Scheduler, SchedulerError, Server

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
