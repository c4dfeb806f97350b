"""What is foretold of waiting jobs: from the store, by the same lineages that `maple forecast` goes by."""

from __future__ import annotations

import contextlib
import pwd
from collections import OrderedDict
from collections.abc import Iterable, Iterator

from maple_agents.forecast.lineages import Lineages
from maple_agents.forecast.needs import Forecast, NoForecast, forecast
from maple_agents.forecast.runs import RAN, SCALING, Asked, Run, Work
from maple_submit_filter.types.job_records import Outcome, Record, Version

from ..store.protocol import Store
from .factor import Waiting

DAYS = 90
MOST_ENDS = 200_000  # that are held, the newest
OVERLAP = 600.0  # seconds: an end may be told late
AGAIN = 600.0  # seconds for which what is foretold of a job that waits is not asked anew
MOST_JOBS = 50_000  # names of users' jobs in the table that PBS's hook reads
MOST_RECORDS = 20  # of one version of a job


class Knowledge:
    """The runs of all users that the store remembers, and what they foretell. One user's are never another's ground.

    Everything raises `StoreError`.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lineages = Lineages()
        self._seen: set[tuple[str, int]] = set()
        self._since = 0.0
        self._last: OrderedDict[tuple[int, str], float] = OrderedDict()
        self._kept: dict[str, tuple[float, Forecast | NoForecast]] = {}

    def renew(self, now: float) -> int:
        """Learn the ends that came since; return how many runs are known."""
        since = self._since - OVERLAP if self._since else now - DAYS * 86_400
        ends = [end for end in self._store.ended(RAN, since, MOST_ENDS) if (end.job, end.uid) not in self._seen]
        for run in sorted(filter(None, map(_run, ends)), key=lambda run: run.ended):
            self._lineages.ended(run)
            self._note(run)
        self._seen.update((end.job, end.uid) for end in ends)
        self._since = max([self._since, *(end.ended or 0.0 for end in ends)])
        return len(self._seen)

    def last_runs(self) -> dict[str, dict[str, float]]:
        """Return the seconds of the last run of each job, by the names of user and job."""
        names = {uid: _user(uid) for uid in {uid for uid, _ in self._last}}
        found: dict[str, dict[str, float]] = {}
        for (uid, job), seconds in self._last.items():
            found.setdefault(names[uid], {})[job] = seconds
        return found

    def _note(self, run: Run) -> None:
        key = int(run.asked.user), run.asked.name
        self._last[key] = run.seconds
        self._last.move_to_end(key)
        if len(self._last) > MOST_JOBS:
            self._last.popitem(last=False)

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

    def _asked(self, waiting: Waiting) -> Forecast | NoForecast:
        asked = Asked(str(waiting.uid), waiting.name, waiting.folder, waiting.submitted, waiting.limit)
        version = self._version(waiting)
        if version is None:
            return forecast(asked, self._lineages)
        asked = asked._replace(version=version.script_hash, work=Work(_scaling(version)))
        own = Lineages(self._of_lineage(version))
        return forecast(asked, own if own.before(asked) else self._lineages)

    def _version(self, waiting: Waiting) -> Version | None:
        records = self._store.records(waiting.uid, job=waiting.job, limit=1, server=False)
        return self._store.version(waiting.uid, records[0].version) if records else None

    def _of_lineage(self, version: Version) -> Iterator[Run]:
        """Yield the runs of a job's versions, each with what there was to do."""
        for each in self._store.versions(version.uid, version.lineage):
            for record in self._store.records(version.uid, version=each.id, limit=MOST_RECORDS):
                with contextlib.suppress(ValueError):
                    run = _of_record(each, record)
                    if run is not None:
                        yield run


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _run(end: Outcome) -> Run | None:
    """Return the run of an end that has a start, else None."""
    if not end.started or not end.ended or end.ended <= end.started:
        return None
    asked = Asked(str(end.uid), end.name, end.workdir, end.submitted or end.started, version=end.script_hash)
    return Run(end.job, asked, end.ended, end.ended - end.started, end.state)


def _of_record(version: Version, record: Record) -> Run | None:
    run = _run(record.outcome) if record.outcome is not None else None
    if run is None:
        return None
    asked = run.asked._replace(name=run.asked.name or version.name, folder=run.asked.folder or version.cwd)
    return run._replace(asked=asked._replace(version=version.script_hash, work=Work(_scaling(version))))


def _scaling(version: Version) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((value.name, value.value) for value in version.values if value.name in SCALING))
