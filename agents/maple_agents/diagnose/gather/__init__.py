"""Finds what is known of a job that failed: how it ended, what was submitted, and every file that may hold evidence."""

from __future__ import annotations

from typing import Any

from ..values import Case
from .offline import by_files


def by_job(job_id: str, **more: Any) -> Case:
    """Return the case of a job, see `jobs.by_job`: schedulers are loaded only where one is asked."""
    from . import jobs

    return jobs.by_job(job_id, **more)


__all__ = ["by_files", "by_job"]
