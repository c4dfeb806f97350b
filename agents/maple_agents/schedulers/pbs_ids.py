"""PBS job ids: which id was meant by which, and which words cannot be one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TypeVar

from .protocol import Job, JobState

_ID = re.compile(r"(?P<number>\d{1,18}(?:\[\d*\])?)(?:\.(?P<server>[A-Za-z0-9][\w.-]*))?", re.ASCII)
Found = TypeVar("Found")


def is_id(word: str) -> bool:
    """Return True where *word* can be a job id. libpbs takes any other for the name of a queue."""
    return _ID.fullmatch(word) is not None


def array_of(job_id: str) -> tuple[str, int | None] | None:
    """Return the id of the array and the index of a subjob, None for a plain job: `39[2].pbs01` is 2 of `39[].pbs01`.

    The index of the parent itself is None.
    """
    found = re.fullmatch(r"(\d+)\[(\d*)\](.*)", job_id, re.ASCII)
    if found is None:
        return None
    number, index, rest = found.groups()
    return "%s[]%s" % (number, rest), int(index) if index else None


def meant(asked: str, known: Mapping[str, Found]) -> Found | None:
    """Return what is known under *asked*, which may leave the server, or the server's domain, out."""
    if asked in known:
        return known[asked]
    return next((found for full, found in known.items() if _same(asked, full)), None)


def _same(asked: str, full: str) -> bool:
    short, long = _ID.fullmatch(asked), _ID.fullmatch(full)
    if short is None or long is None or short["number"] != long["number"]:
        return False
    here, there = (one["server"] or "" for one in (short, long))
    return not here or here == there or there.startswith(here + ".") or here.startswith(there + ".")


def answered(asked: Iterable[str], known: Mapping[str, Job]) -> dict[str, Job]:
    """Return a job for each id that was asked for; one that the server does not know has vanished."""
    return {one: meant(one, known) or Job(one, JobState.VANISHED) for one in asked}
