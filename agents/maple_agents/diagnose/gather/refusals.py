"""A submission that Slurm refused: there is no job of it, and its words went to the user's terminal alone.

What they were is asked anew, of `sbatch --test-only` with what was handed over, and kept for the user. Nothing else
could tell: the front has become the real sbatch by then. PBS has no such question.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import tempfile
import time
from dataclasses import replace
from typing import Optional

from maple_submit_filter.host import own_folders
from maple_submit_filter.types.job_records import Record

from ...ask.memory.service import NoService, Refused
from ...ask.memory.versions import records
from ...ask.schedulers import choose
from ...ask.schedulers.protocol import SchedulerError
from ...ask.schedulers.slurm import commands
from ...base import new_file
from ...base.complaint import Complaint
from ...base.secrets.masking import masked
from ..values import Case, LogFile
from .cases import case_of
from .sources import from_memory, job_facts
from .sources.job_facts import JobFacts

FOLDER = "refusals"
MOST_BYTES = 16 << 10
MOST_KEPT = 50
UNSURE = 120.0  # seconds after a submission in which the service may still hear of its job
NEAR = 5.0  # seconds between a submission and the time that the scheduler tells of it
NOTE = "sbatch said why on your terminal only; this is what sbatch --test-only says of the submission now"
_ID = re.compile(r"[0-9a-f]{16}", re.ASCII)
_HEAD = re.compile(r"^(?:sbatch: error: |allocation failure: |Batch job submission failed: )+")


def is_submission(asked: str) -> bool:
    """Return whether *asked* looks like the id of a submission, and not like a job's."""
    return bool(_ID.fullmatch(asked))


def last_refused() -> Optional[Record]:
    """Return the caller's last submission where sbatch refused it, as far as that can be known. Raises nothing."""
    with contextlib.suppress(NoService, Refused, OSError, LookupError, TypeError, ValueError):
        newest = next(iter(records(limit=1)), None)
        return newest if newest is not None and words(newest) else None
    return None


def words(record: Record) -> str:
    """Return what sbatch says against a submission, as lines; "" where it became a job, or nobody can tell."""
    if record.job or record.verdict in ("ended", "trial") or record.joined not in ("", "none"):
        return ""
    return kept(record.id) or _asked(record)


def sentence(text: str) -> str:
    """Return the last thing that sbatch said, without the command's name before it."""
    return _HEAD.sub("", text.strip().rpartition("\n")[2])


def kept(submission: str) -> str:
    """Return what was found before, "" for nothing."""
    with contextlib.suppress(OSError), new_file.opened(FOLDER, make=False) as folder:
        return (new_file.read(folder, submission + ".txt", MOST_BYTES) or b"").decode("utf-8", "replace").strip()
    return ""


def by_submission(submission: str, site_id: Optional[str]) -> Case:
    """Return the case of a submission that was refused. Raises `Complaint` where none of that id is known to be."""
    record = next((candidate for candidate in _records() if candidate.id == submission), None)
    message = words(record) if record is not None else ""
    facts = from_memory.of_submission(record) if record is not None and message else None
    if facts is None:
        raise Complaint(
            "%s: you have no refused submission of this id" % submission, "maple history lists what you submitted"
        )
    log = LogFile(_as_file(submission, message), "scheduler", about="said by sbatch")
    return case_of(replace(facts, id="", state="refused", notes=(NOTE,)), site_id, (), (log,))


def _as_file(submission: str, message: str) -> str:
    """Return a file that holds what was said: what is read and shown as proof is a file's."""
    own = "%s/%s/%s.txt" % (own_folders.state(), FOLDER, submission)
    if kept(submission):
        return own
    folder = tempfile.TemporaryDirectory(prefix="maple-")
    atexit.register(folder.cleanup)
    path = os.path.join(folder.name, "sbatch.txt")
    with open(path, "w", encoding="utf-8") as file:
        file.write(message + "\n")
    return path


def _records() -> list[Record]:
    try:
        return records()
    except (NoService, Refused) as error:
        raise Complaint(str(error), "the service remembers submissions") from error


def _asked(record: Record) -> str:
    """Ask sbatch, and keep what it says. "" where that submission may be a job, sbatch takes it, or does not answer."""
    facts = from_memory.of_submission(record)
    if facts is None or facts.scheduler != "slurm" or facts.script is None or facts.argv is None:
        return ""
    try:
        if record.joined != "none" and _may_be_a_job(record, facts):
            return ""
        message = commands.complaint(facts.argv, facts.script, facts.work_dir)
    except SchedulerError:
        return ""
    text = masked(message or "")
    if text:
        _keep(record.id, text)
    return text


def _may_be_a_job(record: Record, facts: JobFacts) -> bool:
    """Return whether the scheduler has a job that may be this one. Raises `SchedulerError`.

    After a while it forgets jobs, so then only the service can say that there is none.
    """
    if time.time() - record.at > UNSURE:
        return True
    others = {other.job for other in records()}
    jobs = [job for job in choose().jobs_of(job_facts.name_of(os.geteuid()), ended=True) if job.id not in others]
    return any(job.name == facts.name and abs((job.submitted or 0.0) - record.at) <= NEAR for job in jobs)


def _keep(submission: str, text: str) -> None:
    with contextlib.suppress(OSError), new_file.opened(FOLDER) as folder:
        new_file.leave(folder, MOST_KEPT - 1)
        new_file.write(folder, submission + ".txt", (text + "\n").encode()[:MOST_BYTES])
