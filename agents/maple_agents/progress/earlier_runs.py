"""How far a run came that is over: read in its log as its owner, and told to the service, which keeps the numbers."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Optional

from maple_submit_filter.types.job_records import Reached, Record, Version

from .alarms import checkpoint
from .values import OVER, Progress, Run

if TYPE_CHECKING:
    from ..ask.memory.versions import Job

MOST_RUNS = 8  # that are read at once
AFTER = 120.0  # seconds after the end in which its log may still be written; later it is another job's


def numbers(progress: Progress) -> Optional[dict[str, Any]]:
    """Return what the service keeps of a run; None where no line of its log tells a step of the whole run."""
    course, saved = progress.course, checkpoint(progress.course)
    if course.step is None:
        return None
    return {
        "step": float(course.step),
        "total": course.total.steps if course.total is not None else None,
        "began": float(course.began) if course.began is not None else None,
        "step_seconds": progress.estimate.step_seconds,
        "checkpoint": saved.step if saved is not None else None,
        "checkpoint_at": saved.at if saved is not None else None,
    }


def keep(record: str, progress: Progress) -> Optional[Reached]:
    """Tell the service how far a run came, and return it; None where that is not known. Raises as `ask` does."""
    from ..ask.memory.service import TELL, ask

    reached = numbers(progress)
    if reached is None or not ask({"record": record, "reached": reached}, TELL):
        return None
    return Reached(record, "", progress.now, **reached)


def kept(progress: Progress) -> None:
    """Tell the service how far the job came that was looked at, if it is over. Raises nothing."""
    from ..ask.memory.service import NoService, Refused
    from ..ask.memory.versions import submission

    if progress.run.state not in OVER or not progress.run.job or numbers(progress) is None:
        return
    with contextlib.suppress(NoService, Refused, KeyError, TypeError):
        record = submission(progress.run.job)
        if record is not None and record.job.partition(".")[0] == progress.run.job.partition(".")[0]:
            keep(record.id, progress)


def measured(record: Record, version: Optional[Version]) -> Optional[Progress]:
    """Return how far a run came as its log tells it; None where it goes on, or its log is not known or not its own."""
    from .formats import known
    from .job_logs import hints
    from .log_ends import progress

    outcome = record.outcome
    if outcome is None or outcome.state not in OVER:
        return None
    files = [
        path
        for path in dict.fromkeys((outcome.output, outcome.error))
        if path and _is_of(path, outcome.started, outcome.ended)
    ]
    if not files:
        return None
    script = version.path if version is not None else ""
    announced = tuple(hints(version.values, script)) if version is not None else ()
    run = Run(record.job, outcome.name, outcome.state, outcome.started, outcome.ended)
    folders = [os.path.dirname(path) for path in (script, files[0]) if path]
    return progress(files, known(folders), outcome.ended or record.at, run, announced)


def _is_of(path: str, started: Optional[float], ended: Optional[float]) -> bool:
    """Return whether a file was last written while its job ran: jobs may share the name of a log."""
    try:
        written = os.stat(path).st_mtime
    except (OSError, ValueError):
        return False
    return (started or 0.0) <= written and (ended is None or written <= ended + AFTER)


def completed(jobs: "Sequence[Job]", most: int = MOST_RUNS) -> "list[Job]":
    """Return *jobs* with how far each run came, as far as the service or a log knows it; the newest logs are read."""
    left, out = most, []
    for job in jobs:
        records = {}
        for version in job.versions:
            complete = []
            for record in job.records.get(version.id, ()):
                if left > 0 and record.reached is None and record.outcome is not None:
                    left -= 1
                    record = with_log(record, version)
                complete.append(record)
            records[version.id] = tuple(complete)
        out.append(job._replace(records=records))
    return out


def with_log(record: Record, version: Optional[Version]) -> Record:
    """Return *record* with how far it came, as its log tells where the service does not know; the service hears it."""
    if record.reached is not None:
        return record
    from ..ask.memory.service import NoService, Refused
    from ..base.complaint import Complaint

    with contextlib.suppress(NoService, Refused, Complaint, OSError):
        progress = measured(record, version)
        return record._replace(reached=keep(record.id, progress)) if progress is not None else record
    return record


def says(reached: Reached) -> str:
    """Return how far a run came, in a few words."""
    from .printed import speed

    of = "/%s" % format(reached.total, ",") if reached.total else ""
    percent = " (%d %%)" % min(100, int(100 * (reached.step or 0) / reached.total)) if reached.total else ""
    parts = ["step %s%s%s" % (format(int(reached.step or 0), ","), of, percent)]
    if reached.step_seconds:
        parts.append(speed(reached.step_seconds))
    if reached.checkpoint is not None:
        parts.append("last checkpoint at step %s" % format(reached.checkpoint, ","))
    return ", ".join(parts)
