"""What jobs that failed have in common: how they ended, why, where and when."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from maple_agents.ask.schedulers.pbs.jobs import hosts
from maple_agents.ask.schedulers.slurm.jobs import expand
from maple_submit_filter.types.job_records import Outcome

from .shapes import Failures
from .weeks import by_week

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
