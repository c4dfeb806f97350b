"""Training jobs on a cluster, second by second; and a workload of them run to its end under a policy."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Callable, Dict, List, Mapping, NamedTuple, Optional, Protocol, Sequence, Tuple

from maple_agents.scheduling.training.application import Application, Placement

EDGE = 1e-8  # a quotient this little above a whole number is that number


class Split(NamedTuple):
    """*local*: samples a GPU and pass. *extra*: passes before the one that synchronises."""

    local: int
    extra: int

    def total(self, gpus: int) -> int:
        """Return the total batch size on *gpus*."""
        return gpus * self.local * (self.extra + 1)


def up(value: float) -> int:
    """Return *value* rounded up."""
    return math.ceil(value - EDGE)


def split(application: Application, batch: int, gpus: int, alone: bool = False) -> Split:
    """Return how *batch* is split on *gpus*; the total may differ a little from it.

    One GPU alone takes two passes beyond the first batch size, or always (*alone*), for the variance to be seen.
    """
    each = up(batch / gpus)
    extra = up(each / application.largest_local) - 1
    if gpus == 1 and (alone or batch > application.first_batch):
        extra = max(extra, 1)
    local = up(each / (extra + 1))
    return Split(min(local, application.largest_batch // (gpus * (extra + 1))), extra)


GPUs = Tuple[int, ...]  # the node of each GPU, in the order of ranks
RESTART = 30  # seconds from being placed to the first step


@dataclass(eq=False)
class Job:
    """What was asked for, and how far it has come. Times are seconds since the workload began."""

    name: str
    submitted: int
    application: Application
    replicas: int
    batch: int
    gpus: GPUs = ()
    placement: Placement = ()
    split: Split = Split(0, 0)
    epoch: int = 0
    progress: float = 0.0  # steps of the first batch size
    delay: int = 0
    restarts: int = -1  # 0 once it has started
    service: int = 0  # GPU-seconds
    completed: Optional[int] = None
    rate: Dict[Tuple[Placement, Split, int], float] = field(default_factory=dict, repr=False)

    def place(self, gpus: GPUs) -> None:
        """Move the job to *gpus*, or off the cluster; the split is the policy's to choose."""
        self.gpus = gpus
        self.placement = tuple(len(list(same)) for _, same in groupby(gpus))
        if gpus:
            self.delay = RESTART
            self.restarts += 1

    def advance(self, now: int, seconds: int, look: Callable[[Job], None]) -> None:
        """Train for *seconds* from *now*; *look* is called before each stretch, and after each epoch."""
        if not self.gpus:
            return
        burnt = min(self.delay, seconds)
        self.delay -= burnt
        self.service += burnt * len(self.gpus)
        left = seconds - burnt
        while left > 0 and self.completed is None:
            look(self)
            taken = self._stretch(left)
            self.service += taken * len(self.gpus)
            left -= taken
            if self.epoch == self.application.epochs:
                self.completed = now + seconds - left

    def _stretch(self, left: int) -> int:
        """Train to the end of the epoch, or for *left* seconds; return the seconds it took."""
        speed = self._speed()
        end = self.application.end(self.epoch)
        if self.progress + speed * left < end:
            self.progress += speed * left
            return left
        taken = round((end - self.progress) / speed)
        self.epoch += 1
        self.progress = end
        return taken

    def _speed(self) -> float:
        """Return the progress a second."""
        key = (self.placement, self.split, self.epoch)
        if key not in self.rate:
            step, sync = self.application.times(self.placement, self.split.local)
            took = step + self.split.extra * (step - sync)
            self.rate[key] = self.application.gain(self.split.total(len(self.gpus)), self.epoch) / took
        return self.rate[key]


def read(path: Path, applications: Mapping[str, Application]) -> List[Job]:
    """Return the jobs of a workload (CSV: name, time, application, num_replicas, batch_size) in their order."""
    with path.open() as lines:
        return [
            Job(
                row["name"],
                int(row["time"]),
                applications[row["application"]],
                int(row["num_replicas"]),
                int(row["batch_size"]),
            )
            for row in csv.DictReader(lines)
        ]


STEP = 60


class Cluster(NamedTuple):
    """A cluster of equal nodes."""

    nodes: int = 16
    gpus: int = 4  # a node

    @property
    def size(self) -> int:
        """The GPUs of all nodes."""
        return self.nodes * self.gpus


CLUSTER = Cluster()  # that of the study


class Policy(Protocol):
    """What decides who runs where. A policy keeps what it must remember; a new run takes a new one."""

    def split(self, job: Job) -> Split:
        """Return how *job* splits its batch where it is placed now."""

    def look(self, job: Job) -> None:
        """See *job* run: called before each stretch of training."""

    def allocate(self, now: int, jobs: Sequence[Job], held: Mapping[str, GPUs]) -> Mapping[str, GPUs]:
        """Return the GPUs of each of the unfinished *jobs* by name; one that is absent gets none.

        *held*: what they have now.
        """


class Run(NamedTuple):
    """How a run went: seconds from submission to completion by job, placements made, time of the last step."""

    times: Dict[str, int]
    placements: int
    wide: int  # placements on five nodes or more
    ended: int

    @property
    def mean(self) -> float:
        """The mean time to completion, in seconds."""
        return sum(self.times.values()) / len(self.times)


def most_free(free: Sequence[int], wanted: int) -> GPUs:
    """Return the nodes of *wanted* GPUs, each time of the node with the most *free* ones, the lowest of equals.

    There must be as many free.
    """
    left = list(free)
    taken: list[int] = []
    while len(taken) < wanted:
        node = left.index(max(left))
        count = min(left[node], wanted - len(taken))
        taken += [node] * count
        left[node] -= count
    return tuple(taken)


def free_gpus(cluster: Cluster, held: Mapping[str, GPUs]) -> list[int]:
    """Return the GPUs of each node that nobody holds."""
    free = [cluster.gpus] * cluster.nodes
    for gpus in held.values():
        for node in gpus:
            free[node] -= 1
    return free


def simulate(jobs: Sequence[Job], policy: Policy) -> Run:
    """Run *jobs*, which are fresh and are used up, under *policy* till all are done."""
    now = placements = wide = 0

    def look(job: Job) -> None:
        job.split = policy.split(job)
        policy.look(job)

    while any(job.completed is None for job in jobs):
        for job in jobs:
            job.advance(now, STEP, look)
        now += STEP
        active = [job for job in jobs if job.submitted <= now and job.completed is None]
        for job in jobs:
            if job.completed is not None:
                job.gpus = ()
        if not active:
            continue
        wanted = policy.allocate(now, active, {job.name: job.gpus for job in active if job.gpus})
        for job in active:
            gpus = tuple(wanted.get(job.name, ()))
            if gpus != job.gpus:
                job.place(gpus)
                if gpus:
                    job.split = policy.split(job)
                    placements += 1
                    wide += len(job.placement) > 4
    return Run({job.name: (job.completed or 0) - job.submitted for job in jobs}, placements, wide, now)
