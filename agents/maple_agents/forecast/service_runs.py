"""The runs that the service remembers, and the line that `maple check` and `maple history` say of them.

What jobs asked for and used stands in the service's own rows; values come with the versions. Nobody else is asked.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from typing import Any

from maple_submit_filter.types.job_records import Outcome, Record, Version

from ..ask.memory.service import NoService, Refused
from ..ask.memory.versions import jobs as remembered_jobs
from ..ask.memory.versions import told_runs
from ..ask.submission import Answer
from ..diagnose.gather.sources.job_facts import name_of
from . import advice
from .asked_job import asked_of, scaling
from .needs import Forecast, forecast
from .runs import Asked, Lineages, Run, Work

HURRY = 0.3  # seconds that `maple check` and `maple history` wait for a line
_NEWEST, _OF_NAME = 300, 100  # of any name, which show how far runs stray from the one before them; of the job's own


def runs_of(asked: Asked) -> list[Run]:
    """Return own runs with their versions' values where those are kept, and the newest of other names.

    Raises `NoService` and `Refused`.
    """
    kept = [
        run._replace(asked=run.asked._replace(user=asked.user)) for run in (*_own(_NEWEST), *_own(_OF_NAME, asked.name))
    ]
    return joined(_versioned(asked), kept)


def line(answer: Answer) -> str:
    """Return how long a script's job will run, or why nobody can say; "" where no run of its name is remembered."""
    try:
        if not told_runs("", 1, HURRY):
            return ""
        asked = asked_of(answer, time.time())
        known = runs_of(asked)
    except (NoService, Refused):
        return ""
    return advice.line(asked, forecast(asked, Lineages(known))) if any(_is_of(run, asked) for run in known) else ""


def line_of_version(version: Version, now: float) -> str:
    """Return what the runs of a version took, and how long the next one will; "" where nothing is known of it."""
    user = name_of(os.getuid())
    work = Work(scaling(version.values))
    asked = Asked(user, version.name, version.cwd, now, None, None, version.script_hash, work, "", version.path)
    try:
        known = runs_of(asked)
    except (NoService, Refused):
        return ""
    outlook = forecast(asked, Lineages(known))
    return advice.line(asked, outlook) if isinstance(outlook, Forecast) else ""


def joined(runs: Iterable[Run], counted: Iterable[Run]) -> list[Run]:
    """Return each job once: numbers from the accounting, version and values from the service."""
    by_job = {run.job: run for run in runs}
    for run in counted:
        versioned = by_job.get(run.job)
        by_job[run.job] = run if versioned is None else _of_both(run, versioned)
    return list(by_job.values())


def _is_of(run: Run, asked: Asked) -> bool:
    return run.asked.name == asked.name or (run.asked.version or "-") == asked.version


def _of_both(run: Run, other: Run) -> Run:
    """Return *run* with what only the other knows."""
    work, its = run.asked.work, other.asked.work
    asked = run.asked._replace(
        version=run.asked.version or other.asked.version,
        folder=run.asked.folder or other.asked.folder,
        lineage=run.asked.lineage or other.asked.lineage,
        limit=run.asked.limit or other.asked.limit,
        memory=run.asked.memory or other.asked.memory,
        work=Work(work.values or its.values, work.nodes or its.nodes, work.gpus or its.gpus),
    )
    return run._replace(
        asked=asked,
        memory=run.memory or other.memory,
        gpu_memory=run.gpu_memory or other.gpu_memory,
        gpu_use=run.gpu_use if run.gpu_use is not None else other.gpu_use,
    )


def _own(limit: int, name: str = "") -> Iterator[Run]:
    """Yield one's own runs, as the service has them."""
    try:
        rows = told_runs(name, limit)
    except Refused:  # a service from before it kept them
        return
    for row in rows:
        work = row["asked"]["work"]
        asked = {**row["asked"], "work": Work((), work["nodes"], work["gpus"])}
        yield Run(**_known(Run, {**row, "asked": Asked(**_known(Asked, asked))}))


def _known(kind: Any, row: dict[str, Any]) -> dict[str, Any]:
    """Return what is known here: a newer service may tell more."""
    return {name: row[name] for name in kind._fields if name in row}


def _versioned(asked: Asked) -> Iterator[Run]:
    for lineage in remembered_jobs(asked.name, asked.lineage) if asked.name else ():
        is_own = bool(asked.lineage) and any(version.path == asked.lineage for version in lineage.versions)
        for version in lineage.versions:
            for record in lineage.records.get(version.id, ()):
                run = _of_record(version, record, asked.user, asked.lineage if is_own else "")
                if run is not None:
                    yield run


def _of_record(version: Version, record: Record, user: str, lineage: str) -> Run | None:
    outcome: Outcome | None = record.outcome
    if outcome is None or not outcome.started or not outcome.ended:
        return None
    submitted = outcome.submitted or record.at
    asked = Asked(user, outcome.name or version.name, outcome.workdir or version.cwd, submitted, None, None,
                  version.script_hash, Work(scaling(version.values)), "", lineage)  # fmt: skip
    return Run(outcome.job, asked, outcome.ended, outcome.ended - outcome.started, outcome.state)
