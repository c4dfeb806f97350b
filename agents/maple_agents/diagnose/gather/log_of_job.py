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
from .sources.job_facts import JobFacts, how_it_ended

MOST = 2  # numbers in a name that are tried as ids
_NUMBER = re.compile(r"\d{1,12}(?:_\d{1,9})?", re.ASCII)


def with_submitted(case: Case, logs: Sequence[str], site_id: Optional[str]) -> Case:
    """Return the case with the script of the job that *logs* are of, where the service remembers one of the caller's.

    A number in a name is believed to be the job's id only where the log lies where that job wrote: ids repeat.
    """
    facts = next((job for log in logs for job in _jobs(log)), None)
    if facts is None or facts.script is None:
        return case
    site, known_by = places.site_for(facts, site_id)
    known = how_it_ended(facts)
    ended = known if case.ended.state == "unknown" else replace(case.ended, id=known.id)
    note = "job %s by the name of its log; its script is the one that Maple saw at the submission" % facts.id
    return replace(
        case,
        ended=ended,
        scheduler=facts.scheduler or site.scheduler,
        site=site,
        site_known_by=known_by,
        asked=submission.asked(facts, site),
        name=os.path.basename(facts.path) or facts.name,
        before=facts.before,
        notes=(note, *case.notes),
    )


def _jobs(log: str) -> list[JobFacts]:
    """Return the remembered jobs that may have written *log*."""
    jobs = [from_memory.remembered(number) for number in _NUMBER.findall(os.path.basename(log))[:MOST]]
    return [job for job in jobs if job is not None and _wrote(job, os.path.realpath(log))]


def _wrote(facts: JobFacts, log: str) -> bool:
    own = [os.path.realpath(path) for path in (facts.stdout, facts.stderr) if path]
    return log in own or bool(facts.work_dir) and os.path.realpath(facts.work_dir) == os.path.dirname(log)
