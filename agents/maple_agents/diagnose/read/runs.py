"""Several runs in one file: a log that is appended to, a job that was requeued. Attempts within one job are one run."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import islice

from .progress import is_progress
from .templates import Screened, template
from .units.voices import Line

FIRST = 10  # lines by whose like a new run begins
_OVER = Screened(
    r"\*\*\* JOB \S+ ON \S+ CANCELLED AT |CANCELLED AT \S+ DUE TO (?:PREEMPTION|JOB REQUEUE|NODE FAILURE)"
    r"|=>> PBS: job killed|PBS: Job (?:has been )?(?:requeued|rerun)"
)
_JOB = re.compile(r"\bjob(?:[ _-]?(?:id|number))?[\s:=#]{1,3}(\d{3,})\b|\bStepId=(\d+)|\b(\d{3,})\.[\w-]*pbs\b", re.I)


def starts(lines: Sequence[Line]) -> list[int]:
    """Return the numbers of the lines with which the second and every later run begins.

    Such a line is like one of the first of the file, numbers aside; and before it a scheduler said that the job is
    over, or it names another job and something went wrong since the first was named.
    """
    banners = _banners(lines)
    named = any(job for _, job in banners.values())
    found: list[int] = []
    over = wrong = False
    for line in lines:
        if line.sort is not None:
            wrong, over = True, over or _OVER.search(line.text) is not None
        elif over or wrong and named:
            like, job = template(line.words.strip()), _job(line.words)
            first, before = banners.get(like, (line.number, ""))
            if first < line.number and (over or job and before and job != before):
                found.append(line.number)
                banners[like], over, wrong = (first, job), False, False
    return found


def _banners(lines: Sequence[Line]) -> dict[str, tuple[int, str]]:
    """Return templates of the first lines, with the number of each and the job that it names."""
    said = (line for line in lines if line.sort is None and line.words[:1].strip() and not is_progress(line.words))
    found: dict[str, tuple[int, str]] = {}
    for line in islice(said, FIRST):
        found.setdefault(template(line.words.strip()), (line.number, _job(line.words)))
    return found


def run_of(begun: Sequence[int], number: int) -> int:
    """Return which run line *number* is of, 0 for the first."""
    return bisect_right(begun, number)


def _job(said: str) -> str:
    found = _JOB.search(said)
    return next(filter(None, found.groups()), "") if found else ""
