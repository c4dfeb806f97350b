"""What jobs that failed have in common, by week too, and where outcomes speak against a rule or a site file."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from maple_agents.ask.schedulers.pbs.jobs import hosts
from maple_agents.ask.schedulers.slurm.jobs import expand
from maple_submit_filter.types.job_records import Outcome, Record

from ..install.report.store import CHANGED, FAILED, RAN
from ..outcomes.join import without_jobs
from ..store.protocol import BETWEEN, Counted, Store
from .shapes import AsWritten, Failures, Refused


def by_week(rows: Iterable[tuple[str, str, int]]) -> dict[str, dict[str, int]]:
    """Return the sums of (day, part, number) by the Monday that begins the week; weeks between without any too."""
    weeks: dict[datetime.date, Counter[str]] = {}
    for day, part, number in rows:
        date = datetime.date.fromisoformat(day)
        weeks.setdefault(date - datetime.timedelta(days=date.weekday()), Counter())[part] += number
    return {str(monday): dict(weeks.get(monday, {})) for monday in _mondays(weeks)}


def _mondays(weeks: Iterable[datetime.date]) -> Iterator[datetime.date]:
    at, last = min(weeks, default=None), max(weeks, default=None)
    while at is not None and last is not None and at <= last:
        yield at
        at += datetime.timedelta(days=7)


MOST_NODES = 20
FEWEST = 2  # failures on a node that is named
TOLD_BY_STATE = {  # the class that the scheduler's own word names, where nobody read a log
    "timeout": "time_limit",
    "out-of-memory": "host_oom",
    "node-failed": "node_failure_hardware",
}


class _Failed(NamedTuple):
    """A job that failed: when it ended, how, the class of its failure or "", and on which nodes."""

    time: datetime.datetime
    kind: str
    cause: str
    nodes: frozenset[str]


def failures(ends: Sequence[Outcome], causes: Mapping[tuple[str, int], str]) -> Failures:
    """Return what ends of failed jobs have in common. A job counts once on each of its nodes.

    *causes*: the classes that users' own processes found, by job and uid.
    """
    failed = [_failed(end, causes.get((end.job, end.uid), "")) for end in ends]
    hours, on = Counter(job.time.hour for job in failed), Counter(node for job in failed for node in job.nodes)
    nodes = {node: number for node, number in on.most_common(MOST_NODES) if number >= FEWEST}
    return Failures(
        weeks=by_week((job.time.date().isoformat(), job.kind, 1) for job in failed),
        kinds=_ranked(job.kind for job in failed),
        nodes=nodes,
        hours=[hours[hour] for hour in range(24)],
        classes=_ranked(job.cause for job in failed),
        class_weeks=by_week((job.time.date().isoformat(), job.cause, 1) for job in failed),
        class_nodes=_by_node(failed, nodes),
    )


def _failed(end: Outcome, cause: str) -> _Failed:
    time = datetime.datetime.fromtimestamp(end.ended or 0, datetime.timezone.utc)
    return _Failed(time, _kind(end), cause or TOLD_BY_STATE.get(end.state, ""), frozenset(_nodes(end.nodes)))


def _by_node(failed: Sequence[_Failed], nodes: Iterable[str]) -> dict[str, dict[str, int]]:
    sums: dict[str, Counter[str]] = {node: Counter() for node in nodes}
    for job in failed:
        for node in job.nodes & sums.keys():
            sums[node][job.cause] += 1
    return {node: dict(number.most_common()) for node, number in sums.items()}


def _ranked(words: Iterable[str]) -> dict[str, int]:
    """Return how often each word comes, the most frequent first."""
    return dict(Counter(words).most_common())


def _kind(end: Outcome) -> str:
    if end.state != "failed":
        return end.state.replace("-", " ")
    if end.signal:
        return "killed by signal %d" % end.signal
    return "exit status %d" % end.exit_code if end.exit_code else "failed"


def _nodes(text: str) -> tuple[str, ...]:
    try:
        return hosts(text) if "/" in text or "+" in text else expand(text)
    except ValueError:
        return ()


def as_written(rows: Iterable[Counted]) -> list[AsWritten]:
    """Return how jobs ended of which a rule had found something that was not changed, those that ran most first."""
    sums: dict[str, Counter[str]] = {}
    for counted in rows:
        if counted.code and counted.verdict not in (*CHANGED, "trial"):
            ended = "ran" if counted.state in RAN else "failed" if counted.state in FAILED else ""
            for code in counted.code.split(BETWEEN):
                sums.setdefault(code, Counter())[ended] += counted.jobs
    rows_ = (AsWritten(code=code, ran=number["ran"], failed=number["failed"]) for code, number in sums.items())
    return sorted((row for row in rows_ if row["ran"]), key=lambda row: (-row["ran"], row["code"]))


def refused_since(store: Store, first: str, now: datetime.datetime) -> list[Refused]:
    moment = datetime.datetime.fromisoformat(first.replace("Z", "+00:00")).timestamp()
    return refused(without_jobs(store.unjoined(moment), store.joined(), now.timestamp()))


def refused(records: Iterable[Record]) -> list[Refused]:
    """Return the submissions that became no job, by partition; one that its user ended at the question is none."""
    sums: dict[str, Counter[bool]] = {}
    for record in records:
        if record.joined == "none" and record.verdict != "trial" and not record.offered_hash:
            sums.setdefault(record.place, Counter())[not record.codes] += 1
    rows = (Refused(partition=place, submissions=sum(by.values()), unseen=by[True]) for place, by in sums.items())
    return sorted(rows, key=lambda row: (-row["unseen"], -row["submissions"], row["partition"]))
