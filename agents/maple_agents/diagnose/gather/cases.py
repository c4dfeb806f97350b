"""From what is known of a job to the `Case` that is diagnosed.

An exit status that was copied from PBS: above 256 it is a signal, below 0 PBS's own reason.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Optional

from maple_submit_filter.host.bounded_file import read_file
from maple_submit_filter.site.facts import Site
from maple_submit_filter.types.job import Read
from maple_submit_filter.types.submission import Submission

from ...ask.schedulers.commands import Worker
from ...ask.schedulers.pbs import jobs as pbs_jobs
from ...ask.schedulers.protocol import OF_REASON, SchedulerError
from ...base.secrets.masking import masked
from ..values import Case, LogFile
from . import outputs, places
from .evidence_files import Gathered
from .launch_files import Facts, launched, redirected
from .name_patterns import Window, regular
from .script_outputs import Played, play
from .sources import submission
from .sources.from_memory import MASKED
from .sources.from_slurm import LAUNCH_FAILED
from .sources.job_facts import JobFacts, how_it_ended

SECONDS = 20.0  # for looking through folders: a file server may not answer at all


def case_of(
    facts: JobFacts, site_id: Optional[str], others: Sequence[JobFacts] = (), logs: Sequence[LogFile] = ()
) -> Case:
    """Return the case of a job. *others*: tasks of the same array whose output is looked at too. *logs*: files that
    are read first.
    """
    owner = facts.owner if os.geteuid() == 0 and facts.owner not in (None, 0) else None
    facts = _limits(with_script(facts, owner))
    site, known_by = places.site_for(facts, site_id)
    asked = submission.asked(facts, site)
    gathered = Gathered(_window(facts, owner), facts.nodes)
    gathered.given(logs)
    gathered.notes += submission.made_up(facts, asked)
    played = _played(facts, asked, site, gathered, None if owner is not None else read_file)
    _within(gathered, lambda: _gather(gathered, facts, others, played))
    return Case(
        ended=replace(how_it_ended(facts), reason=masked(facts.reason), gpus_memory=places.gpu_memory(facts, site)),
        scheduler=facts.scheduler or site.scheduler,
        site=site,
        site_known_by=known_by,
        asked=asked,
        name=os.path.basename(facts.path) or facts.name,
        logs=tuple(gathered.logs),
        before=facts.before,
        missing=_lines((*facts.missing, *gathered.missing, *gathered.walk.unreadable)),
        notes=_lines((*facts.notes, *gathered.notes)),
    )


def _played(
    facts: JobFacts, asked: Optional[Submission], site: Site, gathered: Gathered, read: Optional[Read]
) -> Played:
    """Return what the script writes to. The script is not ours: whatever stands in it is no failure here."""
    try:
        return play(submission.as_one(asked), site, known(facts), read) if asked is not None else Played()
    except (RecursionError, ValueError, LookupError) as error:
        gathered.missing.append("what the script writes to was not followed: %s" % error)
        return Played()


def _lines(lines: Iterable[str]) -> tuple[str, ...]:
    """Return lines for people, each once; names of files and comments may hold secrets."""
    return tuple(dict.fromkeys(masked(line) for line in lines))


def _never_began(facts: JobFacts) -> bool:
    """Return whether the scheduler gave the job no node before somebody ended it."""
    return facts.state == "cancelled" and not facts.nodes and facts.by != "Maple"


def _within(gathered: Gathered, gather: object) -> None:
    try:
        Worker("looking for logs").call(gather, SECONDS)  # type: ignore[arg-type]
    except SchedulerError:
        gathered.missing.append("looking for logs took more than %d s: a file server does not answer" % SECONDS)


def _gather(gathered: Gathered, job: JobFacts, others: Sequence[JobFacts], played: Played) -> None:
    values = outputs.values_of(job)
    if _never_began(job):
        gathered.notes.append("the job was cancelled before it started")
    elif job.interactive:
        gathered.notes.append("an interactive job: it has no script, and its output went to the terminal")
    elif job.state not in ("pending", "refused"):
        outputs.add(gathered, job, played.job, values)
        own = gathered.window
        for other in () if "+" in job.id else others:  # parts of a heterogeneous job have the output of the first
            gathered.window = _window(other, own.owner)
            outputs.add(gathered, other, played.job, outputs.values_of(other))
        gathered.window = own
        if LAUNCH_FAILED in job.reason:
            gathered.never_began()
            return
        if "+" in job.id:
            values.pop("j", None)  # each part writes its own number
        facts = Facts(job.scheduler, outputs.raw_id(job) or job.id, job.nodes, job.work_dir, values)
        gathered.sought((*redirected(played, facts), *launched(played, facts)))
        gathered.cores((job.work_dir,) if job.work_dir else ())


def _window(facts: JobFacts, owner: Optional[int]) -> Window:
    """Return when the job ran. One that was put back into its queue has run before the times that are told of it."""
    if facts.state == "requeued" or (facts.restarts and facts.started is None):
        return Window(None, None, owner)
    return Window(facts.started or facts.submitted, facts.ended, owner)


def known(facts: JobFacts) -> Mapping[bytes, bytes]:
    """Return variables of the job that are known now and were not at its submission."""
    out: dict[bytes, bytes] = {}
    if facts.scheduler == "slurm":
        if facts.index is not None:
            out[b"SLURM_ARRAY_TASK_ID"] = b"%d" % facts.index
            out[b"SLURM_ARRAY_JOB_ID"] = facts.array.encode()
        if facts.name:
            out[b"SLURM_JOB_NAME"] = os.fsencode(facts.name)
        if facts.work_dir:
            out[b"SLURM_SUBMIT_DIR"] = os.fsencode(facts.work_dir)
    elif facts.scheduler == "pbs":
        out[b"PBS_JOBID"] = os.fsencode(facts.id)
        if facts.index is not None:
            out[b"PBS_ARRAY_INDEX"] = b"%d" % facts.index
        if facts.name:
            out[b"PBS_JOBNAME"] = os.fsencode(facts.name)
        if facts.work_dir:
            out[b"PBS_O_WORKDIR"] = os.fsencode(facts.work_dir)
    return out


def _limits(facts: JobFacts) -> JobFacts:
    """Return *facts* with the seconds that it ran, also of a job that still goes on."""
    if facts.started is None or facts.elapsed is not None:
        return facts
    end = facts.ended if facts.ended is not None else time.time() if facts.state == "running" else None
    return replace(facts, elapsed=max(0.0, end - facts.started)) if end is not None else facts


# The script's own file: the last place to look for what was submitted, and trusted only while it is unchanged.

_CLOSING = re.compile(rb"[\n ]# maple: repaired \([^\n]*; original sha256 ([0-9a-f]{64});[^\n]*\n?\Z")


def with_script(facts: JobFacts, owner: int | None) -> JobFacts:
    """Return *facts* with the script of its path, where nobody has given the very bytes; and with what the user wrote,
    where the submitted copy says that Maple changed it and the file is still the one.
    """
    facts = _with_before(facts, owner)
    if facts.script is not None and MASKED not in facts.script:
        return facts
    source = _read(facts.path, owner)
    if facts.script is not None:
        return _unmasked(facts, source)
    if not facts.path:
        return facts
    if source is None:
        return replace(facts, missing=(*facts.missing, "the script %s cannot be read" % facts.path))
    note = _changed(facts)
    return replace(facts, script=source, notes=(*facts.notes, *note))


def _read(path: str, owner: int | None) -> bytes | None:
    facts = regular(path) if path.startswith("/") else None
    if facts is None or not Window(owner=owner).allows(facts):
        return None
    return read_file(os.fsencode(path))


def _changed(job: JobFacts) -> tuple[str, ...]:
    """Return a line where the file is younger than the submission: it may not be what ran."""
    facts = regular(job.path)
    if facts is None or job.submitted is None or facts.st_mtime <= job.submitted + 2:
        return ()
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(facts.st_mtime))
    return ("%s was changed at %s, after the job was submitted: it may not be what ran" % (job.path, when),)


def _unmasked(facts: JobFacts, source: bytes | None) -> JobFacts:
    """Return the file's bytes in place of a script whose secrets are masked, where they are the same but for those."""
    script = facts.script or b""
    if source is not None and _same_but_masked(script, source):
        return replace(facts, script=source)
    if source is not None and facts.before is not None and _same_but_masked(facts.before, source):
        facts = replace(facts, before=source)
    return replace(facts, notes=(*facts.notes, "secrets in the script are masked"))


def _same_but_masked(script: bytes, source: bytes) -> bool:
    pattern = b".*?".join(re.escape(part) for part in script.split(MASKED))
    return len(script) < 1 << 20 and script.count(MASKED) <= 50 and re.fullmatch(pattern, source) is not None


def _with_before(facts: JobFacts, owner: int | None) -> JobFacts:
    match = _CLOSING.search(facts.script or b"")
    if facts.before is not None or match is None:
        return facts
    source = _read(facts.path, owner)
    same = source is not None and hashlib.sha256(source).hexdigest().encode() == match[1]
    return replace(facts, before=source) if same else facts


def is_of_pbs(status: int | None) -> bool:
    """Return whether no process can exit so."""
    return status is not None and not 0 <= status <= 255


def with_status(case: Case, status: int, state: str | None) -> Case:
    """Return *case* ended by that status; a *state* that the user said stays."""
    ending = pbs_jobs.ending({"Exit_status": str(status)})
    ended = replace(
        case.ended, state=state or OF_REASON[ending.reason], exit_code=ending.exit_code, signal=ending.signal
    )
    return replace(case, ended=ended)
