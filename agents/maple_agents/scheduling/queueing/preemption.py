"""Jobs that may be stopped and go on later: who runs is decided anew at each event and each quantum."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import List, NamedTuple, Set, Tuple

from .jobs import Ended, Job, in_order

QUANTUM = 300.0  # seconds
COST = 60.0  # seconds of its run time that a job loses when it goes on (Tiresias measured 62, NSDI '19, 5.3)


class State(NamedTuple):
    """A job that has not ended: what it has *attained* (seconds x size), what is *left* (seconds)."""

    job: Job
    attained: float
    left: float


class Preemptive(NamedTuple):
    """A policy that runs the jobs of the lowest *rank* that fit together; of equals, who was submitted first."""

    name: str
    says: str
    rank: Callable[[State], Tuple[float, ...]]


def simulate(
    jobs: Sequence[Job], pool: int, policy: Preemptive, quantum: float = QUANTUM, cost: float = COST
) -> List[Ended]:
    """Return what becomes of *jobs* on a *pool* under *policy*, in the order of their submission.

    Raises `TooLarge` where a job does not fit the pool.
    """
    run = _Run(in_order(jobs, pool), pool, policy, cost)
    while run.coming < len(run.jobs) or run.active:
        now = min(run.next_event(), (math.floor(run.now / quantum) + 1) * quantum if run.active else math.inf)
        run.advance(now)
        run.choose()
    return [Ended(job, *rest) for job, rest in zip(run.jobs, zip(run.started, run.ended, run.preempted))]


class _Run:
    """A run of the simulation: numbers of jobs, as they stand in the order of submission."""

    def __init__(self, jobs: Sequence[Job], pool: int, policy: Preemptive, cost: float) -> None:
        self.jobs, self._pool, self._policy, self._cost = jobs, pool, policy, cost
        self.now, self.coming = jobs[0].submitted if jobs else 0.0, 0
        self.active: List[int] = []
        self._running: Set[int] = set()
        self._left = [job.seconds for job in jobs]
        self._attained, self._lost = [0.0] * len(jobs), [0.0] * len(jobs)
        self.started, self.ended = [math.nan] * len(jobs), [math.nan] * len(jobs)
        self.preempted = [0] * len(jobs)

    def next_event(self) -> float:
        """Return when the next job comes or ends."""
        comes = self.jobs[self.coming].submitted if self.coming < len(self.jobs) else math.inf
        return min([comes, *(self.now + self._lost[number] + self._left[number] for number in self._running)])

    def advance(self, now: float) -> None:
        """Let what runs run until *now*, take away what has ended and add what has come."""
        span = now - self.now
        for number in self._running:
            resuming = min(self._lost[number], span)
            self._lost[number] -= resuming
            self._left[number] -= span - resuming
            self._attained[number] += span * self.jobs[number].size
        self.now = now
        over = {number for number in self._running if self._left[number] <= 1e-6}
        for number in over:
            self.ended[number] = now
        self._running -= over
        self.active = [number for number in self.active if number not in over] if over else self.active
        while self.coming < len(self.jobs) and self.jobs[self.coming].submitted <= now:
            self.active.append(self.coming)
            self.coming += 1

    def choose(self) -> None:
        """Run those of the lowest rank that fit together; stop the others."""
        free, chosen = self._pool, set()
        for number in sorted(self.active, key=lambda number: (self._policy.rank(self._state(number)), number)):
            if self.jobs[number].size <= free:
                free -= self.jobs[number].size
                chosen.add(number)
                if not free:
                    break
        for number in self._running - chosen:
            self.preempted[number] += 1
        for number in chosen - self._running:
            if math.isnan(self.started[number]):
                self.started[number] = self.now
            else:
                self._lost[number] = self._cost
        self._running = chosen

    def _state(self, number: int) -> State:
        return State(self.jobs[number], self._attained[number], self._left[number])
