"""What kind of job this is, from the script alone: no file is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from maple_submit_filter.answer import decision
from maple_submit_filter.site.facts import GENERIC_SLURM, Site
from maple_submit_filter.types.job import Job
from maple_submit_filter.types.job_records import Part, Value
from maple_submit_filter.types.launch_plan import LaunchPlan
from maple_submit_filter.types.submission import Submission

from .candidates import Candidate, settled
from .launched import of_launches
from .surroundings import of_surroundings


class Analysis(NamedTuple):
    """*values*: one for each name that is known. *parts*: those that they were read from."""

    parts: tuple[Part, ...] = ()
    values: tuple[Value, ...] = ()


class Read(NamedTuple):
    """A submission with the plan of what it would start."""

    job: Job
    plan: LaunchPlan


def analyse(submission: Submission, parts: Sequence[Part], site: Site = GENERIC_SLURM) -> Analysis:
    """Return what the script says of the job; nothing where it is to be left alone, or is no shell script.

    *parts*: the pieces of the script with their hashes; a value on a line that is in none of them is not kept.
    """
    read = played(submission, site)
    return analysed(read, parts, from_script(read, parts)) if read is not None else Analysis()


def played(submission: Submission, site: Site) -> Read | None:
    """Return the submission with its plan, None where there is no script of a shell to read."""
    here = decision.at_home(submission, site)
    if here is None or submission.script is None or len(submission.script) > decision.MOST_READ:
        return None
    job = decision.understood(submission, None)
    if job is None or not job.script.is_shell:
        return None
    return Read(job, decision.examined(job, here).plan)


def from_script(read: Read, parts: Sequence[Part]) -> list[Candidate]:
    """Return what all places of the script say."""
    return [*of_launches(read.job, read.plan, parts), *of_surroundings(read.job, parts)]


def analysed(read: Read, parts: Sequence[Part], candidates: Sequence[Candidate]) -> Analysis:
    """Return what the candidates come to. Where the script cannot be played to its end, its plan is not known."""
    sure = [one for one in candidates if one.by != "plan" or not read.plan.unread]
    values = tuple(one for one in settled(sure) if one.part)
    held = {one.part for one in values}
    return Analysis(tuple(one for one in parts if one.hash in held), values)
