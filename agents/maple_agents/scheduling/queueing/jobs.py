"""A job as a queue sees it, what became of it, and what a policy came to, in the figures that the papers use."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Dict, List, NamedTuple, TypedDict, TypeVar


class Job(NamedTuple):
    """A job that waits for its share of the pool.

    *submitted*: seconds, from any origin. *size*: GPUs, nodes or processors. *seconds*: how long it runs.
    *limit*: seconds after which a scheduler may count on its end; a job never runs beyond it in what was recorded.
    *expected*: seconds that a forecast says, None where there is none. *group*: whose it is, for figures by group.
    """

    name: str
    submitted: float
    size: int
    seconds: float
    limit: float
    expected: float | None = None
    group: str = ""


class Ended(NamedTuple):
    """What became of a job: *started* and *ended* in seconds of the same origin; how often it was *preempted*."""

    job: Job
    started: float
    ended: float
    preempted: int = 0

    @property
    def wait(self) -> float:
        """Seconds from the submission to the first start."""
        return self.started - self.job.submitted

    @property
    def completion(self) -> float:
        """Seconds from the submission to the end."""
        return self.ended - self.job.submitted

    @property
    def slowdown(self) -> float:
        """How many times its run time it took, a run of less than ten minutes counted as one of ten; at least 1."""
        return max(1.0, self.completion / max(self.job.seconds, 600.0))


class TooLarge(ValueError):
    """A job wants more than the pool has, so that it would wait for ever; one line."""


def in_order(jobs: Iterable[Job], pool: int) -> list[Job]:
    """Return *jobs* by their submission. Raises `TooLarge` where one does not fit the *pool* at all."""
    ordered = sorted(jobs, key=lambda job: job.submitted)
    wide = next((job for job in ordered if job.size > pool), None)
    if wide is not None:
        raise TooLarge("job %s wants %d, and the pool has %d" % (wide.name, wide.size, pool))
    return ordered


def most_at_once(spans: Iterable[tuple[float, float, int]]) -> int:
    """Return the most that ran at one time, of (start, end, size); at an instant, ends come before starts."""
    running: list[tuple[float, int]] = []
    held = most = 0
    for start, end, size in sorted(spans):
        while running and running[0][0] <= start:
            held -= heapq.heappop(running)[1]
        heapq.heappush(running, (end, size))
        held += size
        most = max(most, held)
    return most


Group = TypeVar("Group", int, str)


class Figures(TypedDict):
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
        jobs=count,
        completion=sum(each.completion for each in ended) / count / 3600,
        wait=sum(waits) / count / 3600,
        late=waits[min(count - 1, int(0.99 * count))] / 3600,
        slowdown=sum(each.slowdown for each in ended) / count,
        preemptions=sum(each.preempted for each in ended),
        worst=waits[-1] / 3600,
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
