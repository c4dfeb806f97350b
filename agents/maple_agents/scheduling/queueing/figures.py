"""What a policy came to, in the figures that the papers use."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Dict, List, NamedTuple, TypeVar

from .jobs import Ended

Group = TypeVar("Group", int, str)


class Figures(NamedTuple):
    """*completion*, *wait*, *late*: hours; the mean of both, and the wait that one job in a hundred exceeds.

    *slowdown*: mean bounded slowdown (floor of ten minutes). *worst*: the longest wait, hours.
    """

    jobs: int
    completion: float
    wait: float
    late: float
    slowdown: float
    preemptions: int
    worst: float


def figures(ended: Sequence[Ended]) -> Figures:
    """Return the figures of jobs that all have ended; there must be one at least."""
    count = len(ended)
    waits = sorted(each.wait for each in ended)
    return Figures(
        count,
        sum(each.completion for each in ended) / count / 3600,
        sum(waits) / count / 3600,
        waits[min(count - 1, int(0.99 * count))] / 3600,
        sum(each.slowdown for each in ended) / count,
        sum(each.preempted for each in ended),
        waits[-1] / 3600,
    )


def by(ended: Iterable[Ended], group_of: Callable[[Ended], Group]) -> Dict[Group, Figures]:
    """Return the figures of each group that *group_of* makes, in the order of the groups."""
    groups: Dict[Group, List[Ended]] = defaultdict(list)
    for each in ended:
        groups[group_of(each)].append(each)
    return {key: figures(group) for key, group in sorted(groups.items())}


def load(ended: Sequence[Ended], pool: int) -> float:
    """Return the share of the *pool* that the jobs want, from the first submission to the last."""
    work = sum(each.job.size * each.job.seconds for each in ended)
    span = max(each.job.submitted for each in ended) - min(each.job.submitted for each in ended)
    return work / (span * pool) if span else 0.0
