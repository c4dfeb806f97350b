"""A batch script of any cluster -> slots, and the parts of it that are bound to that cluster."""

from __future__ import annotations

import os

from maple_submit_filter.answer.decision import examined, understood
from maple_submit_filter.host.bounded_file import read_file
from maple_submit_filter.site.facts import GENERIC_PBS, GENERIC_SLURM, Site
from maple_submit_filter.types.job import Job
from maple_submit_filter.types.submission import Submission

from ...base.missing import Refused
from .kind import SCHEDULERS, readable, scheduler_of
from .launches import Body, launches
from .origin import origin
from .parts import Foreign
from .regions import regions
from .slots import slots
from .walk import found, texts

COMMANDS = {"slurm": (b"sbatch", b"--ignore-pbs"), "pbs": (b"qsub",)}
GENERIC = {"slurm": GENERIC_SLURM, "pbs": GENERIC_PBS}
HOME = b"/home/user"  # what stands in for the user's own; no value of the plan depends on where it is


def read(script: bytes, scheduler: str | None = None, path: bytes = b"") -> Foreign:
    """Return what *script* says and the parts that it has.

    *scheduler*: "slurm" or "pbs", None: by its directives and commands. *path*: where it lies, so that files beside it
    that its launch needs are read; b"": none are. Raises `Refused` with one line that says why it cannot be read: it is
    no shell script, or starts nothing.
    """
    source, notes = readable(script)
    kind = scheduler_of(source, scheduler)
    job = job_of(source, kind, path)
    site_id = origin(job, _sites())
    return at_site(job, _site(site_id, kind), site_id, notes)


def at_site(job: Job, site: Site, site_id: str, notes: tuple[str, ...] = ()) -> Foreign:
    """Return the script as its own *site* takes it. Raises `Refused` where it starts nothing that is known."""
    state = examined(job, site)
    body = Body(job.source, found(job.source), texts(job.source))
    lines = launches(state.plan, body)
    if not lines:
        raise Refused(_nothing(state.plan.unread))
    wrong = tuple(sorted({one.code for one in state.proven()}))
    said = slots(job, state.plan, lines, body.commands, site_id)
    return Foreign(
        job.source,
        job.submission.scheduler,
        site_id,
        said,
        regions(job, body, lines),
        lines,
        job,
        state.plan,
        wrong,
        notes,
    )


def again(source: bytes, foreign: Foreign) -> Foreign | None:
    """Return a changed source read as the script was; None where it starts nothing that is known."""
    path = foreign.job.submission.path if foreign.job.read is not None else b""
    try:
        return at_site(job_of(source, foreign.scheduler, path), site_of(foreign), foreign.site, foreign.notes)
    except Refused:
        return None


def site_of(foreign: Foreign) -> Site:
    """Return the cluster that the script was written for; where it is not known, any of its scheduler."""
    return _site(foreign.site, foreign.scheduler)


def _nothing(unread: tuple[tuple[int, str], ...]) -> str:
    if unread:
        return "line %d: %s, so it is not known what the script starts" % unread[0]
    return "the script starts no program that could train: there is nothing to carry"


def job_of(source: bytes, scheduler: str, path: bytes = b"") -> Job:
    """Return the script as the scheduler's command would take it. Raises `Refused` where it would not."""
    command = COMMANDS[scheduler]
    text = source if source.startswith(b"#!") else b"#!/bin/bash\n" + source
    folder = os.path.dirname(os.path.abspath(path)) if path else b"/nowhere"
    argv = (*command, path or b"job.sh")
    asked = Submission(scheduler, argv, text, "file", path or b"job.sh", folder, -1, {b"HOME": HOME}, whole=False)
    job = understood(asked, read_file if path else None)
    if job is None:
        mark = SCHEDULERS[scheduler].decode()
        raise Refused("a job of several components, or one whose %s lines cannot be read, is not carried" % mark)
    return job


def _sites() -> list[Site]:
    from ...ask import sites

    return [site for site in map(_loaded, sites.ids()) if site is not None]


def _loaded(site_id: str) -> Site | None:
    """Return the site; None where its file is wrong, which is no reason not to read a script."""
    from ...ask import sites

    try:
        return sites.load(site_id)
    except ValueError:
        return None


def _site(site_id: str, scheduler: str) -> Site:
    return (_loaded(site_id) if site_id else None) or GENERIC[scheduler]
