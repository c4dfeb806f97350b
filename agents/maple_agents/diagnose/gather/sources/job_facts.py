"""What one source tells of a job, and what several tell together.

What every scheduler tells of a job in the same words.

Whose job it is: only its owner and root are told why it failed.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace

from maple_submit_filter.types.job_records import STATES

from ....ask.schedulers.protocol import Ending, EndReason, Job, state_of
from ....base.complaint import Complaint
from ...values import Ended


@dataclass(frozen=True, slots=True)
class JobFacts(Ended):
    """A job as one source knows it: how it ended, and what it was; None or empty: the source does not say.

    *state*: "" where it does not say. *owner*: a uid. *stdout*, *stderr*: paths or patterns with the scheduler's
    signs, relative to *work_dir*. *script*: the bytes that were handed over, *before*: those that the user wrote, where
    Maple changed them; *path*: the file, with its folder as far as it is known. *argv*: the submit command's words, the
    command first. *shape*: what the scheduler gave, by the long names of sbatch's options. *notes*: what a reader
    should know. *missing*: what was looked for in vain.
    """

    state: str = ""
    by: str = ""
    scheduler: str = ""
    owner: int | None = None
    name: str = ""
    partition: str = ""
    qos: str = ""
    constraint: str = ""
    site: str = ""
    number: str = ""  # what %j stands for: a task of an array has a number of its own
    array: str = ""
    index: int | None = None
    work_dir: str = ""
    stdout: str | None = None
    stderr: str | None = None
    interactive: bool = False  # a job without a script, whose output went to a terminal
    script: bytes | None = None
    before: bytes | None = None
    path: str = ""
    arguments: tuple[str, ...] = ()
    argv: tuple[bytes, ...] | None = None
    exact: bool = False  # *argv* is known word by word, not as a line that lost its quotes
    shape: tuple[tuple[str, str], ...] = ()
    environment: tuple[tuple[bytes, bytes], ...] = ()
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def knows(self) -> bool:
        """Return whether it says anything of the job beyond its id."""
        return bool(self.state or self.script or self.stdout or self.stderr or self.reason)


_GATHERED = ("notes", "missing")
_OF_THE_END = ("state", "exit_code", "signal")


def together(sources: Iterable[JobFacts]) -> JobFacts:
    """Return what all of them tell; where two differ, the first that says anything holds.

    State, exit code and signal are taken from one source, so that they fit each other.
    """
    out = JobFacts()
    for source in sources:
        changes = {
            field.name: getattr(source, field.name)
            for field in fields(JobFacts)
            if field.name not in (*_GATHERED, *_OF_THE_END) and _says_nothing(getattr(out, field.name))
        }
        if out.state in ("", "unknown") and source.state:
            changes.update({name: getattr(source, name) for name in _OF_THE_END})
        parts = dict.fromkeys(part for reason in (out.reason, source.reason) for part in reason.split(", ") if part)
        changes["reason"] = ", ".join(parts)
        for name in _GATHERED:
            changes[name] = tuple(dict.fromkeys((*getattr(out, name), *getattr(source, name))))
        out = replace(out, **changes)
    return out


def _says_nothing(value: object) -> bool:
    return value is None or value in ("", (), 0) or value is False


def how_it_ended(facts: JobFacts) -> Ended:
    """Return that part of what is told; a state that nobody said is unknown."""
    ended = Ended(**{field.name: getattr(facts, field.name) for field in fields(Ended)})
    return ended if ended.state in STATES else replace(ended, state="unknown")


def of_job(job: Job, by: str, restarts: int = 0) -> JobFacts:
    """Return that of *job*. *by*: who tells it, "Slurm" or "PBS". *restarts*: how often it was started anew."""
    ending = job.ending or Ending(EndReason.UNKNOWN)
    return JobFacts(
        by=by,
        scheduler=by.lower(),
        id=job.id,
        name=job.name,
        state=state_of(job, restarts),
        exit_code=ending.exit_code,
        signal=ending.signal,
        submitted=job.submitted,
        started=job.started,
        ended=job.ended,
        restarts=restarts,
        nodes=job.nodes,
        partition=job.queue.partition(",")[0],
        array=job.array_id or "",
        index=job.array_index,
        work_dir=job.work_dir or "",
        stdout=job.stdout,
        stderr=job.stderr,
    )


def uid_of(name: str) -> int | None:
    """Return the uid of a user; schedulers write the number where they know no name."""
    try:
        return pwd.getpwnam(name).pw_uid
    except (KeyError, ValueError):
        return int(name) if name.isascii() and name.isdigit() else None


def name_of(uid: int) -> str:
    """Return the name of a user, the number where there is none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def home_of(uid: int) -> str:
    """Return the home of a user, "" where that is not known."""
    try:
        return pwd.getpwuid(uid).pw_dir
    except KeyError:
        return ""


def check_owner(job_id: str, owner: str) -> int | None:
    """Return the owner's uid, None where the scheduler names nobody. Raises `Complaint` for another user's job."""
    if not owner:
        return None
    uid = uid_of(owner)
    if os.geteuid() not in (0, uid):
        raise Complaint("job %s is %s's" % (job_id, owner), "only its owner is told why it failed")
    return uid
