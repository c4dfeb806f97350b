"""A workload run to its end under a policy, in steps of a minute."""

from __future__ import annotations

from typing import Dict, Mapping, NamedTuple, Protocol, Sequence

from maple_agents.scheduling.training.job import GPUs, Job, Split

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
