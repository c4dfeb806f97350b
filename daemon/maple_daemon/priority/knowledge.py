"""What is foretold of waiting jobs: from the runs that the store keeps, by lineages as `maple forecast` has them.

PBS's hook (`packaging/pbs/maple_points.py`) cannot wait for a question: how long the last run of a user's job of that
name took is written beforehand, in a file that only root and the service read.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from maple_agents.forecast.asked_job import scaling
from maple_agents.forecast.needs import Forecast, NoForecast, forecast
from maple_agents.forecast.runs import Asked, Lineages, Run, Work
from maple_submit_filter.types.job_records import Version

from ..install.release import layout
from ..store.protocol import Store
from .queue import Bounds, Waiting

AGAIN = 600.0  # seconds for which what is foretold of a job that waits is not asked anew
MOST_JOBS = 50_000  # names of users' jobs in the table that PBS's hook reads


class Knowledge:
    """What the store foretells of jobs; the runs of one user are never another's ground. All raises `StoreError`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: dict[str, tuple[float, Forecast | NoForecast]] = {}

    def of(self, waiting: Waiting, now: float) -> Forecast | NoForecast:
        """Return what is foretold of a job, from what had ended when it was submitted; asked anew every ten minutes."""
        at, known = self._kept.get(waiting.job, (0.0, None))
        if known is None or now - at > AGAIN:
            known = self._asked(waiting)
            self._kept[waiting.job] = now, known
        return known

    def forget(self, jobs: Iterable[str]) -> None:
        """Keep only what is foretold of these."""
        kept = set(jobs)
        self._kept = {job: known for job, known in self._kept.items() if job in kept}

    def last_runs(self) -> dict[str, dict[str, float]]:
        """Return the seconds of the last run of each job, by the names of user and job."""
        seconds: dict[str, dict[str, float]] = {}
        names: dict[int, str] = {}
        for uid, run in self._store.last_runs(MOST_JOBS):
            user = names.setdefault(uid, _user(uid))
            seconds.setdefault(user, {})[run.asked.name] = run.seconds
        return seconds

    def _asked(self, waiting: Waiting) -> Forecast | NoForecast:
        runs: Iterable[Run] = self._store.runs(waiting.uid, waiting.name)
        asked = Asked("", waiting.name, waiting.folder, waiting.submitted, waiting.limit)
        version = self._version(waiting)
        if version is not None:
            asked = asked._replace(version=version.script_hash, work=Work(scaling(version.values)))
            runs = self._with_values(version, runs)
        return forecast(asked, Lineages(runs))

    def _version(self, waiting: Waiting) -> Version | None:
        records = self._store.records(waiting.uid, job=waiting.job, limit=1, server=False)
        return self._store.version(waiting.uid, records[0].version) if records else None

    def _with_values(self, version: Version, runs: Iterable[Run]) -> Iterable[Run]:
        """Yield the runs with what there was to do in each, as far as the job's other versions tell."""
        by_hash = {each.script_hash: each for each in self._store.versions(version.uid, version.lineage)}
        for run in runs:
            known = by_hash.get(run.asked.version)
            work = run.asked.work._replace(values=scaling(known.values)) if known is not None else run.asked.work
            yield run._replace(asked=run.asked._replace(work=work))


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def write(path: Path, knowledge: Knowledge, bounds: Bounds) -> int:
    """Write the table, in one rename; return how many jobs it knows. Raises `OSError` and `StoreError`."""
    seconds = knowledge.last_runs()
    table: dict[str, Any] = {"bound": bounds.most, "reference": bounds.reference, "seconds": seconds}
    layout.write_json(path, table, 0o600)
    return sum(map(len, seconds.values()))


def remove(path: Path) -> bool:
    """Take it away, so that no further job gets points; return whether there was one."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    return True
