"""In which order waiting jobs start: those that run to their end once started, and those that may be stopped."""

from __future__ import annotations

import bisect
import enum
import heapq
import math
from collections.abc import Callable, Sequence
from typing import Dict, List, NamedTuple, Set, Tuple

from .jobs import Ended, Job, in_order

Key = Tuple[float, ...]
DEPTH = 1000  # jobs behind the first that are tried at each event; Slurm tries 500 (bf_max_job_test, slurm.conf(5))


class Passing(enum.Enum):
    """Who may start before the first of the line, which does not fit yet."""

    NOBODY = "nobody"
    NOT_DELAYING = "who does not delay it"  # EASY: by the limits of what runs, it starts when it would have started
    ANYBODY = "whoever fits"


class Ordering(NamedTuple):
    """A policy that starts jobs by *key*, the lowest first; of equals, who was submitted first.

    *behind*: by which key those are tried that may pass the first; None: the same.
    """

    name: str
    says: str  # one line for a table
    key: Callable[[Job], Key]
    passing: Passing = Passing.NOT_DELAYING
    behind: Callable[[Job], Key] | None = None


def simulate(jobs: Sequence[Job], pool: int, ordering: Ordering, overdue: float = math.inf) -> List[Ended]:
    """Return what becomes of *jobs* on a *pool* under *ordering*, in the order of their submission.

    *overdue*: seconds of waiting after which a job stands before all that are not overdue, the eldest first: no
    ordering starves it then. Raises `TooLarge` where a job does not fit the pool.
    """
    ordered = in_order(jobs, pool)
    line = _Anybody(ordered, ordering) if ordering.passing is Passing.ANYBODY and overdue == math.inf else _Line(
        ordered, ordering, overdue)  # fmt: skip
    free, at, started = pool, 0, [math.nan] * len(ordered)
    ends: List[Tuple[float, int]] = []
    while at < len(ordered) or ends:
        now = min(ordered[at].submitted if at < len(ordered) else math.inf, ends[0][0] if ends else math.inf)
        while ends and ends[0][0] <= now:
            number = heapq.heappop(ends)[1]
            free += ordered[number].size
            line.ended(number)
        while at < len(ordered) and ordered[at].submitted <= now:
            line.add(at)
            at += 1
        for number in line.start(now, free):
            free -= ordered[number].size
            started[number] = now
            heapq.heappush(ends, (now + ordered[number].seconds, number))
    return [Ended(job, start, start + job.seconds) for job, start in zip(ordered, started)]


class _Anybody:
    """The waiting jobs by size: of those that fit, the first of each size is looked at."""

    def __init__(self, jobs: Sequence[Job], ordering: Ordering) -> None:
        self._jobs, self._key = jobs, ordering.key
        self._waiting: Dict[int, List[Tuple[Key, int]]] = {}

    def add(self, number: int) -> None:
        job = self._jobs[number]
        heapq.heappush(self._waiting.setdefault(job.size, []), (self._key(job), number))

    def ended(self, number: int) -> None:
        """Nothing is kept of what runs."""

    def start(self, now: float, free: int) -> List[int]:
        starting: List[int] = []
        while True:
            firsts = [(heap[0], size) for size, heap in self._waiting.items() if heap and size <= free]
            if not firsts:
                return starting
            size = min(firsts)[1]
            starting.append(heapq.heappop(self._waiting[size])[1])
            free -= size


class _Line:
    """The waiting jobs in one line, with what runs by the end that its limit lets one count on."""

    def __init__(self, jobs: Sequence[Job], ordering: Ordering, overdue: float) -> None:
        self._jobs, self._ordering, self._overdue = jobs, ordering, overdue
        self._line: List[Tuple[Key, int]] = []
        self._eldest: List[int] = []  # numbers in the order of submission, some of them started
        self._running: List[Tuple[float, int]] = []
        self._counted_on: Dict[int, float] = {}
        self._waiting: Dict[int, Key] = {}

    def add(self, number: int) -> None:
        key = (1.0, *self._ordering.key(self._jobs[number]))
        self._waiting[number] = key
        bisect.insort(self._line, (key, number))
        heapq.heappush(self._eldest, number)

    def ended(self, number: int) -> None:
        end = self._counted_on.pop(number)
        del self._running[bisect.bisect_left(self._running, (end, number))]

    def start(self, now: float, free: int) -> List[int]:
        self._advance_overdue(now)
        starting = []
        while self._line and self._jobs[self._line[0][1]].size <= free:
            starting.append(self._started(0, now))
            free -= self._jobs[starting[-1]].size
        if self._line and free and self._ordering.passing is not Passing.NOBODY:
            starting += self._passing(now, free)
        return starting

    def _advance_overdue(self, now: float) -> None:
        """Put those that have waited too long before all others."""
        while self._eldest and (
            self._eldest[0] not in self._waiting or now - self._jobs[self._eldest[0]].submitted > self._overdue
        ):
            number = heapq.heappop(self._eldest)
            if number in self._waiting:
                del self._line[bisect.bisect_left(self._line, (self._waiting[number], number))]
                self._waiting[number] = (0.0,)
                bisect.insort(self._line, ((0.0,), number))

    def _started(self, place: int, now: float) -> int:
        number = self._line.pop(place)[1]
        del self._waiting[number]
        end = now + self._jobs[number].limit
        self._counted_on[number] = end
        bisect.insort(self._running, (end, number))
        return number

    def _passing(self, now: float, free: int) -> List[int]:
        """Start those behind the first that fit; under a reservation only those that do not delay it."""
        reserved = self._ordering.passing is Passing.NOT_DELAYING
        shadow, spare = self._reservation(now, free) if reserved else (math.inf, free)
        starting = []
        for number in self._behind():
            job = self._jobs[number]
            in_time = now + job.limit <= shadow
            if job.size > free or not (in_time or job.size <= spare):
                continue
            starting.append(self._started(bisect.bisect_left(self._line, (self._waiting[number], number)), now))
            free, spare = free - job.size, spare if in_time else spare - job.size
            if not free:
                break
        return starting

    def _behind(self) -> List[int]:
        numbers = [number for _, number in self._line[1 : DEPTH + 1]]
        key = self._ordering.behind
        return numbers if key is None else sorted(numbers, key=lambda number: (key(self._jobs[number]), number))

    def _reservation(self, now: float, free: int) -> Tuple[float, int]:
        """Return when the first can start by what may be counted on, and how many will be left beside it then."""
        wanted = self._jobs[self._line[0][1]].size
        for end, number in self._running:
            free += self._jobs[number].size
            if free >= wanted:
                return max(end, now), free - wanted
        raise AssertionError("a job that fits the pool fits once all have ended")


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


def preempt(
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
