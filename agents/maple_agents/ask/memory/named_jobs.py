"""Jobs that an id may mean as users type it: without the server of PBS, a task for its array, and the reverse."""

from __future__ import annotations

import re
from typing import Optional

from maple_submit_filter.types.job_records import Record

from ..schedulers.pbs.ids import same_server
from .versions import records

_PART = re.compile(r"(\d+)[_+]\d+", re.ASCII)  # of Slurm's arrays and heterogeneous jobs
_PBS = re.compile(r"(\d+)(\[\d*\])?((?:\.[\w.-]*)?)", re.ASCII)


def is_meant(asked: str, known: str) -> bool:
    """Return whether *asked* names the job *known*, or an array or heterogeneous job that it is a part of."""
    if asked == known:
        return True
    part, here, there = _PART.fullmatch(known), _PBS.fullmatch(asked), _PBS.fullmatch(known)
    if part is not None:
        return asked == part[1]
    if here is None or there is None or here[1] != there[1]:
        return False
    whole = here[2] in (None, "[]") and there[2] is not None
    return (whole or here[2] == there[2]) and same_server(here[3][1:], there[3][1:])


def submission(asked: str) -> Optional[Record]:
    """Return the submission that became the job that *asked* names, the newest of several; a task's is its array's.

    None where none is remembered. Raises as `asking.ask` does.
    """
    for name in _submitted_as(asked):
        bare, _, server = name.partition(".")
        found = records(job=name, limit=1) or (records(job=bare, limit=1) if server else [])
        if found and same_server(server, found[0].job.partition(".")[2]):
            return found[0]
    return None


def _submitted_as(asked: str) -> list[str]:
    """Return what the submit command may have called it: a job of its own, or the whole that it is a part of."""
    part, pbs = _PART.fullmatch(asked), _PBS.fullmatch(asked)
    if part is not None:
        return [asked, part[1]]
    whole = ["%s%s%s" % (pbs[1], sign, pbs[3]) for sign in ("[]", "")] if pbs is not None else []
    return list(dict.fromkeys((asked, *whole)))
