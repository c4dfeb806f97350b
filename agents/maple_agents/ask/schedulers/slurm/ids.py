"""Ids of Slurm's jobs, and the job that is meant by one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ..errors import SchedulerError
from ..protocol import Job, JobState
from .jobs import array_job

ID = re.compile(r"\d{1,10}(?:[_+]\d{1,10})?", re.ASCII)


def is_id(word: str) -> bool:
    """Return True where *word* can be a job's id. Raises `SchedulerError` for one of another cluster."""
    if re.fullmatch(r"\d+;[\w.-]+", word, re.ASCII):
        raise SchedulerError("asking for job %s" % word, "it is on another cluster", "ask there")
    return ID.fullmatch(word) is not None


def meant(asked: str, found: Sequence[Job]) -> Job:
    """Return the job of that id, or the whole of the array or heterogeneous job that has it, or a vanished one."""
    exact = [job for job in found if job.id == asked]
    if exact:
        return exact[0]
    parts = [job for job in found if re.split("[_+]", job.id)[0] == asked]
    if parts:
        return array_job(asked, parts)
    array, _, index = asked.partition("_")
    waiting = [job for job in found if index and job.id.startswith("%s_[" % array)]  # which of them, is not told
    return replace(waiting[0], id=asked, array_index=int(index)) if waiting else Job(asked, JobState.VANISHED)
