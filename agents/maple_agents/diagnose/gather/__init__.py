"""Finds what is known of a job that failed: how it ended, what was submitted, and every file that may hold evidence."""

from .jobs import by_job
from .offline import by_files

__all__ = ["by_files", "by_job"]
