"""Optimus (Peng et al., EuroSys '18) with an oracle of the remaining work, as the Pollux study ran it."""

from __future__ import annotations

from typing import Dict, Mapping, Sequence, Tuple

from maple_agents.scheduling.training.application import Application
from maple_agents.scheduling.training.simulation import CLUSTER, Cluster, GPUs, Job, Split, free_gpus, most_free, split

ONE_GPU = {"ncf"}  # applications that run on one GPU


class Optimus:
    """Each next GPU goes to the job whose remaining time it shortens most. Speeds and work left are known exactly."""

    def __init__(self, cluster: Cluster = CLUSTER) -> None:
        self._cluster = cluster
        self._steps: Dict[Tuple[str, int, int], float] = {}

    def split(self, job: Job) -> Split:
        """Return the split of the batch that was asked for."""
        return split(job.application, job.batch, len(job.gpus))

    def look(self, job: Job) -> None:
        """Learn nothing: all is known."""

    def allocate(self, now: int, jobs: Sequence[Job], held: Mapping[str, GPUs]) -> Mapping[str, GPUs]:
        """Return who runs where; a job whose size stays is not moved."""
        sizes = self._sizes(jobs)
        kept = {job.name: held[job.name] for job in jobs if len(held.get(job.name, ())) == sizes[job.name]}
        for job in sorted(jobs, key=lambda job: sizes[job.name]):
            if sizes[job.name] and not kept.get(job.name):
                kept[job.name] = most_free(free_gpus(self._cluster, kept), sizes[job.name])
        return {name: gpus for name, gpus in kept.items() if gpus}

    def _sizes(self, jobs: Sequence[Job]) -> Dict[str, int]:
        """Return the GPUs that each job gets."""
        free = self._cluster.size
        sizes, gains = {}, {}
        for job in jobs:
            sizes[job.name] = min(free, 1)
            free -= sizes[job.name]
            gains[job.name] = self._gain(job, sizes[job.name], free)
        by_name = {job.name: job for job in jobs}
        while free > 0:
            name = max(gains, key=lambda name: gains[name])  # the first of equals
            if gains[name] <= 0:
                break
            sizes[name] += 1
            gains[name] = self._gain(by_name[name], sizes[name], free)
            free -= 1
        return sizes

    def _gain(self, job: Job, gpus: int, free: int) -> float:
        """Return the seconds that one more GPU would spare *job*."""
        most = 1 if job.application.name in ONE_GPU else job.batch // job.application.smallest_local
        if not gpus or gpus + 1 > most or free < 1:
            return 0.0
        here = self._step(job.application, job.batch, gpus)
        return (here - self._step(job.application, job.batch, gpus + 1)) * remaining(job)

    def _step(self, application: Application, batch: int, gpus: int) -> float:
        """Return the seconds of a step on *gpus* that are packed as tightly as can be."""
        key = (application.name, batch, gpus)
        if key not in self._steps:
            full, rest = divmod(gpus, self._cluster.gpus)
            placement = (self._cluster.gpus,) * full + ((rest,) if rest else ())
            local, extra = split(application, batch, gpus, alone=True)
            step, sync = application.times(placement, local)
            self._steps[key] = step + extra * (step - sync)
        return self._steps[key]


def remaining(job: Job) -> float:
    """Return the steps that *job* still has to do, by whole epochs; 1 in the last."""
    last = job.application.epochs - 1
    if job.epoch >= last:
        return 1.0
    return job.application.iterations(job.batch, last) - job.application.iterations(job.batch, job.epoch)
