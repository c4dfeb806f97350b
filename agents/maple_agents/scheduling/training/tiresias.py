"""Tiresias: two queues by attained service (Gu et al., NSDI '19), as the Pollux study ran it on tuned jobs."""

from __future__ import annotations

from typing import Dict, List, Mapping, Optional, Sequence

from maple_agents.scheduling.training.simulation import CLUSTER, Cluster, GPUs, Job, Split, free_gpus, most_free, split

LIMIT = 16 * 3600  # GPU-seconds, from where on a job stands in the second queue


class Tiresias:
    """Jobs of fixed size; who has had little goes first, and whoever fits behind fills up.

    *expected*: GPU-seconds by name, where they are forecast: who will want much stands in the second queue at once.
    """

    def __init__(self, cluster: Cluster = CLUSTER, expected: Optional[Mapping[str, float]] = None) -> None:
        self._cluster = cluster
        self._expected = expected or {}
        self._queues: List[List[str]] = [[], []]
        self._executed: Dict[str, int] = {}
        self._seen: Dict[str, int] = {}
        self._running: Dict[str, bool] = {}

    def split(self, job: Job) -> Split:
        """Return the split of the batch that was asked for."""
        return split(job.application, job.batch, len(job.gpus))

    def look(self, job: Job) -> None:
        """Learn nothing: only executed time counts."""

    def allocate(self, now: int, jobs: Sequence[Job], held: Mapping[str, GPUs]) -> Mapping[str, GPUs]:
        """Return who runs where; what runs on stays where it is."""
        self._enter(now, jobs)
        self._demote(now, jobs)
        by_name = {job.name: job for job in jobs}
        order = [by_name[name] for queue in self._queues for name in queue]
        free = self._cluster.size
        for job in order:
            self._running[job.name] = job.replicas <= free
            free -= job.replicas if self._running[job.name] else 0
        kept = {name: gpus for name, gpus in held.items() if self._running[name]}
        for job in order:
            if self._running[job.name] and job.name not in kept:
                kept[job.name] = most_free(free_gpus(self._cluster, kept), job.replicas)
        return kept

    def _enter(self, now: int, jobs: Sequence[Job]) -> None:
        here = {job.name for job in jobs}
        self._queues = [[name for name in queue if name in here] for queue in self._queues]
        for job in jobs:
            if job.name not in self._executed:
                self._queues[int(self._expected.get(job.name, 0) >= LIMIT)].append(job.name)
                self._executed[job.name], self._seen[job.name], self._running[job.name] = 0, now, False

    def _demote(self, now: int, jobs: Sequence[Job]) -> None:
        for job in jobs:
            if self._running[job.name]:
                self._executed[job.name] += now - self._seen[job.name]
                if job.name in self._queues[0] and self._executed[job.name] * job.replicas >= LIMIT:
                    self._queues[0].remove(job.name)
                    self._queues[1].append(job.name)
            self._seen[job.name] = now
