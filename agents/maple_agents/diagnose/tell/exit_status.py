"""An exit status that was copied from PBS: above 256 it is a signal, below 0 PBS's own reason."""

from __future__ import annotations

from dataclasses import replace

from ...ask.schedulers.pbs import jobs as pbs_jobs
from ...ask.schedulers.protocol import OF_REASON
from ..values import Case


def is_of_pbs(status: int | None) -> bool:
    """Return whether no process can exit so."""
    return status is not None and not 0 <= status <= 255


def with_status(case: Case, status: int, state: str | None) -> Case:
    """Return *case* ended by that status; a *state* that the user said stays."""
    told = pbs_jobs.ending({"Exit_status": str(status)})
    found = replace(case.ended, state=state or OF_REASON[told.reason], exit_code=told.exit_code, signal=told.signal)
    return replace(case, ended=found)
