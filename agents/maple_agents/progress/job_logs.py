"""The logs of a job, found as maple-fix finds them, and what its script says of totals; read as the user."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Optional

from maple_submit_filter.types.job_records import Value
from maple_submit_filter.types.submission import Submission

from ..ask.schedulers import choose
from ..ask.schedulers.protocol import Job, JobState, Scheduler, SchedulerError
from ..base.complaint import Complaint
from ..diagnose.gather import by_files, by_job
from ..diagnose.gather.sources.job_facts import name_of
from ..diagnose.gather.which_job import with_submitted
from ..diagnose.values import Case
from .values import Announced, Place, Run, Total

MOST_FILES = 64
MOST_JOBS = 12  # of the user's running ones that are looked at: each costs the scheduler a question
_READ = ("stdout", "stderr", "both", "rank")


class JobLogs(NamedTuple):
    """A job, the files that it writes to with the rank of each, what its script says, and the script's path."""

    run: Run
    files: tuple[str, ...]
    ranks: tuple[Optional[int], ...]
    hints: tuple["Total | Announced", ...] = ()
    script: str = ""
    missing: tuple[str, ...] = ()


def of_job(job: str, scheduler: Optional[Scheduler] = None, environ: Optional[Mapping[str, str]] = None) -> JobLogs:
    """Return what is known of the caller's own job. Raises `Complaint`."""
    return _found(by_job(job, scheduler=scheduler, environ=environ))


def of_files(logs: Sequence[str]) -> JobLogs:
    """Return what is known of logs that are named. Raises `Complaint` where none can be read."""
    return _found(with_submitted(by_files(logs), logs, None))


def running(scheduler: Optional[Scheduler] = None, environ: Optional[Mapping[str, str]] = None) -> list[Job]:
    """Return the caller's own jobs that run, the newest first. Raises `Complaint` where nobody can be asked."""
    try:
        asked = scheduler or choose(environ=environ)
        jobs = asked.jobs_of(name_of(os.geteuid()))
    except SchedulerError as error:
        raise Complaint("no scheduler could be asked: %s" % error.text, "maple progress LOG reads a file") from error
    own = [job for job in jobs if job.state is JobState.RUNNING]
    return sorted(own, key=lambda job: job.started or 0, reverse=True)


def _found(case: Case) -> JobLogs:
    ended = case.ended
    read = [log_file for log_file in case.logs if log_file.role in _READ][:MOST_FILES]
    values = values_of(case.asked)
    run = Run(
        job=ended.id, name=case.name, state=ended.state, started=ended.started, ended=ended.ended, limit=ended.limit,
        gpus=_number(values, "gpus"), restarts=ended.restarts, nodes=ended.nodes,
    )  # fmt: skip
    script = os.fsdecode(os.path.join(case.asked.cwd, case.asked.path)) if case.asked is not None else ""
    return JobLogs(
        run, tuple(log_file.path for log_file in read), tuple(log_file.rank for log_file in read),
        tuple(hints(values, script)), script, case.missing,
    )  # fmt: skip


def values_of(asked: Optional[Submission]) -> tuple[Value, ...]:
    """Return what script, program and configs say of the training; what cannot be read says nothing."""
    if asked is None or not asked.script:
        return ()
    from ..admission.analysis import whole_script
    from ..admission.files import read_files

    try:
        return read_files(asked, (whole_script(asked.script),)).values
    except (RecursionError, ValueError, LookupError):  # the script is not ours
        return ()


def hints(values: Sequence[Value], script: str) -> Iterator["Total | Announced"]:
    """Yield the totals that these tell, each with its place."""
    for value in values:
        place = Place(value.file or os.path.basename(script) or "the script", value.line)
        text = "%s = %s" % (value.name, value.value)
        number = _number((value,), value.name)
        if value.name == "steps" and number:
            yield Total(number, "as its %s say" % ("arguments" if value.by == "arguments" else "files"), place, text)
        elif value.name == "epochs" and number:
            yield Announced("epochs", number, place, text)


def _number(values: Sequence[Value], name: str) -> Optional[int]:
    text = next((value.value for value in values if value.name == name), "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else None
