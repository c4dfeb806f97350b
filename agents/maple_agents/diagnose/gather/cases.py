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
from .sources.job_facts import Told, how_it_ended

SECONDS = 20.0  # for looking through folders: a file server may not answer at all


def case_of(told: Told, site_id: Optional[str], others: Sequence[Told] = (), logs: Sequence[LogFile] = ()) -> Case:
    """Return the case of a job. *others*: tasks of the same array whose output is looked at too. *logs*: files that
    are read first.
    """
    owner = told.owner if os.geteuid() == 0 and told.owner not in (None, 0) else None
    told = _limits(with_script(told, owner))
    site, known_by = places.site_for(told, site_id)
    asked = submission.asked(told, site)
    gathered = Gathered(_window(told, owner), told.nodes)
    gathered.given(logs)
    gathered.notes += submission.made_up(told, asked)
    played = _played(told, asked, site, gathered, None if owner is not None else read_file)
    _within(gathered, lambda: _gather(gathered, told, others, played))
    return Case(
        ended=replace(how_it_ended(told), reason=masked(told.reason), gpus_memory=places.gpu_memory(told, site)),
        scheduler=told.scheduler or site.scheduler,
        site=site,
        site_known_by=known_by,
        asked=asked,
        name=os.path.basename(told.path) or told.name,
        logs=tuple(gathered.logs),
        before=told.before,
        missing=_lines((*told.missing, *gathered.missing, *gathered.walk.unreadable)),
        notes=_lines((*told.notes, *gathered.notes)),
    )


def _played(told: Told, asked: Optional[Submission], site: Site, gathered: Gathered, read: Optional[Read]) -> Played:
    """Return what the script writes to. The script is not ours: whatever stands in it is no failure here."""
    try:
        return play(submission.as_one(asked), site, known(told), read) if asked is not None else Played()
    except (RecursionError, ValueError, LookupError) as error:
        gathered.missing.append("what the script writes to was not followed: %s" % error)
        return Played()


def _lines(said: Iterable[str]) -> tuple[str, ...]:
    """Return lines for people, each once; names of files and comments may hold secrets."""
    return tuple(dict.fromkeys(masked(line) for line in said))


def _never_began(told: Told) -> bool:
    """Return whether the scheduler gave the job no node before somebody ended it."""
    return told.state == "cancelled" and not told.nodes and told.by != "Maple"


def _within(gathered: Gathered, gather: object) -> None:
    try:
        Worker("looking for logs").call(gather, SECONDS)  # type: ignore[arg-type]
    except SchedulerError:
        gathered.missing.append("looking for logs took more than %d s: a file server does not answer" % SECONDS)


def _gather(gathered: Gathered, told: Told, others: Sequence[Told], played: Played) -> None:
    values = outputs.values_of(told)
    if _never_began(told):
        gathered.notes.append("the job was cancelled before it started")
    elif told.interactive:
        gathered.notes.append("an interactive job: it has no script, and its output went to the terminal")
    elif told.state not in ("pending", "refused"):
        outputs.add(gathered, told, played.job, values)
        own = gathered.window
        for one in () if "+" in told.id else others:  # parts of a heterogeneous job have the output of the first
            gathered.window = _window(one, own.owner)
            outputs.add(gathered, one, played.job, outputs.values_of(one))
        gathered.window = own
        if LAUNCH_FAILED in told.reason:
            gathered.never_began()
            return
        if "+" in told.id:
            values.pop("j", None)  # each part writes its own number
        facts = Facts(told.scheduler, outputs.raw_id(told) or told.id, told.nodes, told.work_dir, values)
        gathered.sought((*redirected(played, facts), *launched(played, facts)))
        gathered.cores((told.work_dir,) if told.work_dir else ())


def _window(told: Told, owner: Optional[int]) -> Window:
    """Return when the job ran. One that was put back into its queue has run before the times that are told of it."""
    if told.state == "requeued" or (told.restarts and told.started is None):
        return Window(None, None, owner)
    return Window(told.started or told.submitted, told.ended, owner)


def known(told: Told) -> Mapping[bytes, bytes]:
    """Return variables of the job that are known now and were not at its submission."""
    out: dict[bytes, bytes] = {}
    if told.scheduler == "slurm":
        if told.index is not None:
            out[b"SLURM_ARRAY_TASK_ID"] = b"%d" % told.index
            out[b"SLURM_ARRAY_JOB_ID"] = told.array.encode()
        if told.name:
            out[b"SLURM_JOB_NAME"] = os.fsencode(told.name)
        if told.work_dir:
            out[b"SLURM_SUBMIT_DIR"] = os.fsencode(told.work_dir)
    elif told.scheduler == "pbs":
        out[b"PBS_JOBID"] = os.fsencode(told.id)
        if told.index is not None:
            out[b"PBS_ARRAY_INDEX"] = b"%d" % told.index
        if told.name:
            out[b"PBS_JOBNAME"] = os.fsencode(told.name)
        if told.work_dir:
            out[b"PBS_O_WORKDIR"] = os.fsencode(told.work_dir)
    return out


def _limits(told: Told) -> Told:
    """Return *told* with the seconds that it ran, also of a job that still goes on."""
    if told.started is None or told.elapsed is not None:
        return told
    end = told.ended if told.ended is not None else time.time() if told.state == "running" else None
    return replace(told, elapsed=max(0.0, end - told.started)) if end is not None else told


# The script's own file: the last place to look for what was submitted, and trusted only while it is unchanged.

_CLOSING = re.compile(rb"[\n ]# maple: repaired \([^\n]*; original sha256 ([0-9a-f]{64});[^\n]*\n?\Z")


def with_script(told: Told, owner: int | None) -> Told:
    """Return *told* with the script of its path, where nobody has given the very bytes; and with what the user wrote,
    where the submitted copy says that Maple changed it and the file is still the one.
    """
    told = _with_before(told, owner)
    if told.script is not None and MASKED not in told.script:
        return told
    source = _read(told.path, owner)
    if told.script is not None:
        return _unmasked(told, source)
    if not told.path:
        return told
    if source is None:
        return replace(told, missing=(*told.missing, "the script %s cannot be read" % told.path))
    note = _changed(told)
    return replace(told, script=source, notes=(*told.notes, *note))


def _read(path: str, owner: int | None) -> bytes | None:
    facts = regular(path) if path.startswith("/") else None
    if facts is None or not Window(owner=owner).allows(facts):
        return None
    return read_file(os.fsencode(path))


def _changed(told: Told) -> tuple[str, ...]:
    """Return a line where the file is younger than the submission: it may not be what ran."""
    facts = regular(told.path)
    if facts is None or told.submitted is None or facts.st_mtime <= told.submitted + 2:
        return ()
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(facts.st_mtime))
    return ("%s was changed at %s, after the job was submitted: it may not be what ran" % (told.path, when),)


def _unmasked(told: Told, source: bytes | None) -> Told:
    """Return the file's bytes in place of a script whose secrets are masked, where they are the same but for those."""
    script = told.script or b""
    if source is not None and _same_but_masked(script, source):
        return replace(told, script=source)
    if source is not None and told.before is not None and _same_but_masked(told.before, source):
        told = replace(told, before=source)
    return replace(told, notes=(*told.notes, "secrets in the script are masked"))


def _same_but_masked(script: bytes, source: bytes) -> bool:
    pattern = b".*?".join(re.escape(part) for part in script.split(MASKED))
    return len(script) < 1 << 20 and script.count(MASKED) <= 50 and re.fullmatch(pattern, source) is not None


def _with_before(told: Told, owner: int | None) -> Told:
    match = _CLOSING.search(told.script or b"")
    if told.before is not None or match is None:
        return told
    source = _read(told.path, owner)
    same = source is not None and hashlib.sha256(source).hexdigest().encode() == match[1]
    return replace(told, before=source) if same else told


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
