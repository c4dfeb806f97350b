"""Lucid's rules (Hu et al., ASPLOS '23): a short profile first, the least work next, and two jobs on the same GPUs.

What is known of the rules is built; its trace can't be had, so no figure of its authors is claimed. GPUs are counted,
nodes are not.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from typing import Dict, List, NamedTuple, Optional, Set, Tuple

from .jobs import Ended, Job, in_order

MEMORY = 24576.0  # MB of a GPU, for both of a pair
SHARES = 2  # the most that the labels of a pair may add up to
LARGEST = 8  # GPUs of a job that is profiled or packed
BEHIND = 2.0  # times its partner's priority that a packed job's may be
PACKED = 0.94  # of its speed alone: the median of the slower one of such pairs in the authors' table


class Label(NamedTuple):
    """What a profile tells of a job: *share* 0, 1 or 2 (how much it suffers beside another) and *memory* a GPU, MB."""

    share: int
    memory: float


class Lucid(NamedTuple):
    """The rules' settings. *labels*: by job; *known*: jobs of which an earlier version was profiled.

    *profiler*: GPUs of the pool that only profile; *profile*: seconds that a profile takes at most.
    """

    labels: Mapping[str, Label]
    known: Set[str]
    profiler: int = 32
    profile: float = 200.0


def simulate(jobs: Sequence[Job], pool: int, lucid: Lucid) -> List[Ended]:
    """Return what becomes of *jobs* on a *pool*, in the order of their submission.

    A job without a forecast (`expected`) counts by its limit. What a profile did is lost, unless the job ended in it.
    Raises `TooLarge` where a job does not fit what the profiler leaves of the pool.
    """
    run = _Run(in_order(jobs, pool - lucid.profiler), pool, lucid)
    while run.next_event() < math.inf:
        run.advance(run.next_event())
        run.start_profiles()
        run.start()
    return [Ended(job, *span) for job, span in zip(run.jobs, zip(run.started, run.ended))]


class _Run:
    """A run of the simulation: numbers of jobs, as they stand in the order of submission."""

    def __init__(self, jobs: Sequence[Job], pool: int, lucid: Lucid) -> None:
        self.jobs, self._lucid = jobs, lucid
        self._now, self._coming = jobs[0].submitted if jobs else 0.0, 0
        self._free, self._profiler = pool - lucid.profiler, lucid.profiler
        self._left = [job.seconds for job in jobs]
        self.started, self.ended = [math.nan] * len(jobs), [math.nan] * len(jobs)
        self._line: List[Tuple[float, int]] = []  # by priority
        self._unprofiled: List[Tuple[int, int]] = []  # by size
        self._profiling: List[Tuple[float, int]] = []  # by end
        self._running: Dict[int, Optional[int]] = {}  # each with its partner

    def next_event(self) -> float:
        """Return when the next job comes, ends or has been profiled; never: all is done."""
        comes = self.jobs[self._coming].submitted if self._coming < len(self.jobs) else math.inf
        profiled = self._profiling[0][0] if self._profiling else math.inf
        ends = (self._now + self._left[number] / self._speed(number) for number in self._running)
        return min(comes, profiled, min(ends, default=math.inf))

    def advance(self, now: float) -> None:
        """Let what runs run until *now*; take what has ended, what was profiled and what has come."""
        for number in self._running:
            self._left[number] -= (now - self._now) * self._speed(number)
        self._now = now
        for number in [number for number in self._running if self._left[number] <= 1e-6]:
            self._end(number)
        while self._profiling and self._profiling[0][0] <= now:
            self._profiled(heapq.heappop(self._profiling)[1])
        while self._coming < len(self.jobs) and self.jobs[self._coming].submitted <= now:
            self._come(self._coming)
            self._coming += 1

    def start_profiles(self) -> None:
        """Profile those that fit the profiler, the smallest first."""
        while self._unprofiled and self._unprofiled[0][0] <= self._profiler:
            size, number = heapq.heappop(self._unprofiled)
            self._profiler -= size
            self.started[number] = self._now
            end = self._now + min(self._lucid.profile, self.jobs[number].seconds)
            heapq.heappush(self._profiling, (end, number))

    def start(self) -> None:
        """Start by priority whoever fits, alone where there is room, else beside a partner."""
        waiting: List[Tuple[float, int]] = []
        for priority, number in self._line:
            partner = None if self.jobs[number].size <= self._free else self._partner(priority, number)
            if self.jobs[number].size > self._free and partner is None:
                waiting.append((priority, number))
                continue
            self._running[number] = partner
            if partner is None:
                self._free -= self.jobs[number].size
            else:
                self._running[partner] = number
            if math.isnan(self.started[number]):
                self.started[number] = self._now
        self._line = waiting

    def _come(self, number: int) -> None:
        job = self.jobs[number]
        if job.size <= min(LARGEST, self._lucid.profiler) and job.name not in self._lucid.known:
            heapq.heappush(self._unprofiled, (job.size, number))
        else:
            self._queue(number)

    def _queue(self, number: int) -> None:
        self._line.append((self._priority(number), number))
        self._line.sort()

    def _priority(self, number: int) -> float:
        job = self.jobs[number]
        return job.size * (job.limit if job.expected is None else job.expected)

    def _profiled(self, number: int) -> None:
        self._profiler += self.jobs[number].size
        if self.jobs[number].seconds <= self._lucid.profile:
            self.ended[number] = self._now
        else:
            self._queue(number)

    def _end(self, number: int) -> None:
        self.ended[number] = self._now
        partner = self._running.pop(number)
        if partner is None:
            self._free += self.jobs[number].size
        else:
            self._running[partner] = None

    def _speed(self, number: int) -> float:
        return 1.0 if self._running[number] is None else PACKED

    def _partner(self, priority: float, number: int) -> Optional[int]:
        """Return the first job that runs alone on as many GPUs and may be joined."""
        label = self._lucid.labels.get(self.jobs[number].name)
        if label is None or self.jobs[number].size > LARGEST:
            return None
        for other, partner in self._running.items():
            alone = partner is None and self.jobs[other].size == self.jobs[number].size
            if alone and self._fit(label, other) and priority <= BEHIND * self._priority(other):
                return other
        return None

    def _fit(self, label: Label, other: int) -> bool:
        beside = self._lucid.labels.get(self.jobs[other].name)
        return beside is not None and label.share + beside.share <= SHARES and label.memory + beside.memory < MEMORY
