"""Pollux (Qiao et al., OSDI '21): sizes and places of all jobs for the most goodput, batch sizes chosen with them."""

from __future__ import annotations

from typing import Dict, List, Mapping, Optional, Sequence

import numpy as np
from numpy.typing import NDArray

from maple_agents.scheduling.training import evolution, goodput
from maple_agents.scheduling.training.application import Application
from maple_agents.scheduling.training.evolution import Limits, States
from maple_agents.scheduling.training.goodput import Floats, Goodput, Profile, StepTime
from maple_agents.scheduling.training.optimus import ONE_GPU
from maple_agents.scheduling.training.simulation import CLUSTER, RESTART, Cluster, GPUs, Job, Split, split, up

NEVER_NONE = 0.001  # added to each measure, so that a job without GPUs leaves the mean of reciprocals finite


class Known:
    """What is known of a job's speed: what was seen of it, the fit, and its gradient at the last look."""

    def __init__(self, application: Application, seen: Optional[Profile] = None) -> None:
        self._application = application
        self._seen = dict(seen or {})
        self._model: Optional[StepTime] = goodput.fit(self._seen) if self._seen else None
        self._gradient = application.gradient(application.first_batch, 0)
        self._best: Dict[bool, Goodput] = {}

    @property
    def seen(self) -> Profile:
        """What was seen of it."""
        return self._seen

    @property
    def largest(self) -> int:
        """The most GPUs that it was seen on; 0 where it was never seen."""
        return max((gpus for _, gpus, _ in self._seen), default=0)

    def look(self, job: Job) -> None:
        """See the speed and the gradient of *job* as it runs."""
        gradient = job.application.gradient(job.split.total(len(job.gpus)), job.epoch)
        key = (len(set(job.gpus)), len(job.gpus), job.split.local)
        if key not in self._seen:
            self._seen[key] = job.application.times(job.placement, job.split.local)
            self._model = goodput.fit(self._seen)
            self._best = {}
        if gradient != self._gradient:
            self._gradient, self._best = gradient, {}

    def best(self, wide: bool, gpus: int) -> Optional[Goodput]:
        """Return the best goodput by number of GPUs up to *gpus* or more, on several nodes where *wide*."""
        if self._model is None:
            return None
        known = self._best.get(wide)
        if known is None or len(known.value) <= gpus:
            most = max(gpus, 2 * self.largest)
            known = goodput.best(self._application, self._model, self._gradient, wide, most)
            self._best[wide] = known
        return known


class Pollux:
    """Each minute the whole cluster is divided anew. *seed*: of the search; *known*: speeds of earlier versions."""

    def __init__(
        self,
        seed: int = 0,
        cluster: Cluster = CLUSTER,
        known: Optional[Mapping[str, Profile]] = None,
    ) -> None:
        self._chance = np.random.default_rng(seed)
        self._cluster = cluster
        self._lineage = known or {}
        self._known: Dict[str, Known] = {}
        self._names: List[str] = []  # of the rows of the states that were kept
        self._kept: States = np.zeros((0, 0, cluster.nodes), dtype=np.int16)

    def profiles(self) -> Dict[str, Profile]:
        """Return what was seen of each job, by its name: what a later version of it may begin with."""
        return {name: known.seen for name, known in self._known.items()}

    def split(self, job: Job) -> Split:
        """Return the split of the batch with the most goodput, as far as the job is known."""
        gpus, application = len(job.gpus), job.application
        if application.name in ONE_GPU:
            return split(application, job.batch, gpus)
        best = self._speed(job).best(len(set(job.gpus)) > 1, gpus)
        if best is None:
            return split(application, max(application.first_batch, application.smallest_local * gpus), gpus)
        return best.split(gpus, application)

    def look(self, job: Job) -> None:
        """Learn the speed of *job* where and as it runs."""
        self._speed(job).look(job)

    def allocate(self, now: int, jobs: Sequence[Job], held: Mapping[str, GPUs]) -> Mapping[str, GPUs]:
        """Return the GPUs of each job after a search that begins at what the last one kept."""
        ordered = sorted(jobs, key=lambda job: (job.service, job.submitted))
        running = np.array([self._row(held.get(job.name, ())) for job in ordered], dtype=np.int16)
        limits = Limits(self._cluster.gpus, np.array([self._limit(job) for job in ordered], dtype=np.int16))
        measure = Measured(now, ordered, running, self._speedups(ordered, limits), self._cluster)
        grown = evolution.evolve(self._first(ordered, running), running, limits, measure, self._chance)
        self._kept = grown.front()
        self._names = [job.name for job in ordered]
        return {job.name: _gpus(row) for job, row in zip(ordered, grown.best()) if row.any()}

    def _speed(self, job: Job) -> Known:
        if job.name not in self._known:
            self._known[job.name] = Known(job.application, self._lineage.get(job.name))
        return self._known[job.name]

    def _limit(self, job: Job) -> int:
        """Return the most GPUs that *job* may get: twice as many as it was seen on."""
        if job.application.name in ONE_GPU:
            return 1
        fitting = job.application.largest_batch // job.application.smallest_local
        return min(max(2 * self._speed(job).largest, 1), self._cluster.size, fitting)

    def _speedups(self, jobs: Sequence[Job], limits: Limits) -> Floats:
        """Return how much faster than on a fair share each job is: by job, on several nodes or one, by GPUs."""
        fair = up(self._cluster.size / len(jobs))
        table = np.zeros((len(jobs), 2, int(limits.jobs.max()) + 1))
        for at, job in enumerate(jobs):
            most, known = int(limits.jobs[at]), self._speed(job)
            base = known.best(False, fair)
            for wide in (False, True):
                best = known.best(wide, most)
                if best is None or base is None:
                    table[at, int(wide), : most + 1] = np.arange(most + 1) / fair
                else:
                    table[at, int(wide), : most + 1] = best.value[: most + 1] / base.value[fair]
        return table

    def _first(self, jobs: Sequence[Job], running: States) -> States:
        """Return the states that the search begins at."""
        if not len(self._kept):
            return running[None]
        before = {name: row for row, name in enumerate(self._names)}
        first = np.zeros((len(self._kept), *running.shape), dtype=np.int16)
        for at, job in enumerate(jobs):
            if job.name in before:
                first[:, at] = self._kept[:, before[job.name]]
        return first

    def _row(self, gpus: GPUs) -> NDArray[np.int64]:
        return np.bincount(gpus, minlength=self._cluster.nodes) if gpus else np.zeros(self._cluster.nodes, dtype=int)


class Measured:
    """The two measures of a state: mean speed-up, where a move costs, and use of the nodes."""

    def __init__(self, now: int, jobs: Sequence[Job], running: States, speedups: Floats, cluster: Cluster) -> None:
        self._running = running
        self._speedups = speedups
        self._gpus = cluster.gpus
        self._share = cluster.nodes / cluster.size
        self._moved = np.array([_kept_of_move(now - job.submitted, max(job.restarts, 0)) for job in jobs])

    def __call__(self, states: States) -> Floats:
        """Return both by state, more is better: of the first the harmonic mean over jobs."""
        used = states > 0
        wide = (used.sum(axis=2) > 1).astype(np.int64)
        speedup = self._speedups[np.arange(states.shape[1])[None, :], wide, states.sum(axis=2)]
        same = (states == self._running).all(axis=2)
        worth = self._share * speedup * np.where(same, 1.0, self._moved) + NEVER_NONE
        nodes = used.any(axis=1).sum(axis=1)
        use = speedup.sum(axis=1) / (self._gpus * np.maximum(nodes, 1))
        return np.stack([states.shape[1] / (1 / worth).sum(axis=1), use], axis=1)


def _kept_of_move(age: int, restarts: int) -> float:
    """Return the share of a speed-up that is left where the job is moved; the young and the often moved lose more."""
    return max(age - RESTART * restarts, 0) / (age + RESTART)


def _gpus(row: NDArray[np.int16]) -> GPUs:
    return tuple(int(node) for node, gpus in enumerate(row) for _ in range(gpus))
