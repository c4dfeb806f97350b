"""The script behind a log that was named without its job: what the service was told of at the submission."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Optional

from ..values import Case
from . import places
from .sources import from_memory, submission
from .sources.job_facts import Told, how_it_ended

MOST = 2  # numbers in a name that are tried as ids
_NUMBER = re.compile(r"\d{1,12}(?:_\d{1,9})?", re.ASCII)


def with_submitted(case: Case, logs: Sequence[str], site_id: Optional[str]) -> Case:
    """Return the case with the script of the job that *logs* are of, where the service remembers one of the caller's.

    A number in a name is believed to be the job's id only where the log lies where that job wrote: ids repeat.
    """
    told = next((job for log in logs for job in _jobs(log)), None)
    if told is None or told.script is None:
        return case
    site, known_by = places.site_for(told, site_id)
    known = how_it_ended(told)
    ended = known if case.ended.state == "unknown" else replace(case.ended, id=known.id)
    note = "job %s by the name of its log; its script is the one that Maple saw at the submission" % told.id
    return replace(
        case,
        ended=ended,
        scheduler=told.scheduler or site.scheduler,
        site=site,
        site_known_by=known_by,
        asked=submission.asked(told, site),
        name=os.path.basename(told.path) or told.name,
        before=told.before,
        notes=(note, *case.notes),
    )


def _jobs(log: str) -> list[Told]:
    """Return the remembered jobs that may have written *log*."""
    found = [from_memory.remembered(number) for number in _NUMBER.findall(os.path.basename(log))[:MOST]]
    return [one for one in found if one is not None and _wrote(one, os.path.realpath(log))]


def _wrote(told: Told, log: str) -> bool:
    own = [os.path.realpath(one) for one in (told.stdout, told.stderr) if one]
    return log in own or bool(told.work_dir) and os.path.realpath(told.work_dir) == os.path.dirname(log)
