"""PBS job ids: which id was meant by which, and which words cannot be one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..protocol import Job, JobState

_ID = re.compile(r"\d{1,18}(\[\d*\])?(\.[A-Za-z0-9][\w.-]*)?", re.ASCII)


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


def answered(asked: Iterable[str], known: Iterable[Job], left_open: frozenset[str] = frozenset()) -> dict[str, Job]:
    """Return a job for each id that was asked for; one that the server does not know has vanished.

    An id may leave the server out, or the server's domain. *left_open*: ids of which nothing was said if they are not
    among *known*, so that their state is unknown.
    """
    by_number: dict[str, list[Job]] = {}
    for job in known:
        by_number.setdefault(job.id.partition(".")[0], []).append(job)
    nothing = {one: JobState.UNKNOWN if one in left_open else JobState.VANISHED for one in asked}
    return {one: _meant(one, by_number.get(one.partition(".")[0], ()), state) for one, state in nothing.items()}


def _meant(asked: str, candidates: Sequence[Job], nothing: JobState) -> Job:
    """Return the job of that very id, else one whose server may be the same, else one in the state *nothing*."""
    exact = [job for job in candidates if job.id == asked]
    fitting = exact or [job for job in candidates if same_server(_server(asked), _server(job.id))]
    return fitting[0] if fitting and is_id(asked) else Job(asked, nothing)


def _server(job_id: str) -> str:
    return job_id.partition(".")[2]


def same_server(here: str, there: str) -> bool:
    """Return whether two names of a server may be one's: the first may be left out, and either's domain."""
    return not here or here == there or there.startswith(here + ".") or here.startswith(there + ".")
