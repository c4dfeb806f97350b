"""Pollux: the fit of a job's speed, the best batch size, and the search over states of the cluster."""

from __future__ import annotations

import numpy as np
import pytest
from maple_agents.scheduling.training import evolution, goodput
from maple_agents.scheduling.training.evolution import Limits
from maple_agents.scheduling.training.pollux import Pollux
from maple_agents.scheduling.training.simulation import CLUSTER, simulate

from tests.agents.scheduling import published

# Check values of the study's rules: application, what was seen (placement, local batch), epoch, and of nodes and GPUs
# the best goodput with its split.
FITTED = [
    ("cifar10", [((1,), 128)], 0, [(1, 1, 1244.744, 128, 0), (1, 4, 2060.679, 49, 0), (2, 8, 2435.944, 34, 0)]),
    ("cifar10", [((1,), 128), ((4,), 256), ((4, 4), 256)], 10,
     [(1, 2, 2001.211, 140, 0), (1, 4, 3360.524, 100, 0), (4, 16, 2948.362, 130, 0)]),
    ("deepspeech2", [((1,), 20), ((2,), 40), ((2,), 80)], 5, [(1, 1, 29.736, 20, 0), (4, 16, 211.458, 10, 0)]),
    ("bert", [((1,), 12), ((4,), 12), ((4, 4), 12)], 0, [(2, 8, 40.691, 12, 2), (4, 16, 60.207, 12, 1)]),
]  # fmt: skip


@pytest.mark.parametrize("name, seen, epoch, wanted", FITTED)
def test_goodput_is_that_of_the_study(name, seen, epoch, wanted):
    """Within one percent: the fit stops at the optimizer's own tolerance."""
    application = published.applications()[name]
    model = goodput.fit({(len(shape), sum(shape), local): application.times(shape, local) for shape, local in seen})
    gradient = application.gradient(application.first_batch, epoch)
    for nodes, gpus, value, local, extra in wanted:
        best = goodput.best(application, model, gradient, nodes > 1, gpus)
        assert best.value[gpus] == pytest.approx(value, rel=0.01)
        assert (best.local[gpus], best.extra[gpus]) == (local, extra)


def test_slope_of_the_fit_is_that_of_its_loss():
    """By differences, at a point where each of the seven matters."""
    keys = np.array([(1, 1, 20), (1, 4, 40), (2, 8, 80), (4, 12, 10)], dtype=float)
    passes, steps = np.log([0.2, 0.31, 0.5, 0.15]), np.log([0.22, 0.4, 0.8, 0.6])
    point = np.array([0.1, 0.01, 0.2, 0.02, 0.05, 0.004, 1.7])
    _, slope = goodput._loss(point, keys, passes, steps)
    for at in range(7):
        step = np.zeros(7)
        step[at] = 1e-6
        above, below = (goodput._loss(point + sign * step, keys, passes, steps)[0] for sign in (1, -1))
        assert slope[at] == pytest.approx((above - below) / 2e-6, rel=1e-4, abs=1e-6)


def test_a_mended_state_keeps_all_limits():
    """GPUs a node and a job, and one job of several nodes on a node; what keeps them already stays as it is."""
    chance = np.random.default_rng(3)
    limits = Limits(4, chance.integers(1, 20, 12).astype(np.int16))
    states = chance.integers(0, 5, (200, 12, 16)).astype(np.int16)
    mended = evolution.mended(states, limits, chance)
    used = mended > 0
    wide = used.sum(axis=2) > 1
    assert mended.min() >= 0 and mended.any()
    assert mended.sum(axis=1).max() <= 4
    assert (mended.sum(axis=2) <= limits.jobs).all()
    assert (used & wide[:, :, None]).sum(axis=1).max() <= 1
    assert (evolution.mended(mended, limits, chance) == mended).all()


def test_fronts_are_those_of_the_definition():
    """A state is in the first front that has nothing better than it in both measures."""
    chance = np.random.default_rng(1)
    for _ in range(50):
        values = chance.integers(0, 8, (40, 2)).astype(float)
        ranks = evolution._fronts(values)
        for at, value in enumerate(values):
            better = (values >= value).all(axis=1) & (values > value).any(axis=1)
            assert ranks[at] == (ranks[better].max() + 1 if better.any() else 0)


def test_a_run_divides_the_cluster_and_ends(monkeypatch):
    """Six small jobs at once: never more than the cluster has, each starts on one GPU, and all are done."""
    monkeypatch.setattr(evolution, "GENERATIONS", 5)
    jobs = [job for job in published.workload(1) if job.application.name == "cifar10"][:6]
    for job in jobs:
        job.submitted = 0
    policy, starts = Pollux(1), {}
    allocate = policy.allocate

    def watched(now, active, held):
        wanted = allocate(now, active, held)
        used = [node for gpus in wanted.values() for node in gpus]
        assert max(map(used.count, set(used))) <= CLUSTER.gpus
        for name, gpus in wanted.items():
            starts.setdefault(name, len(gpus))
        return wanted

    policy.allocate = watched
    run = simulate(jobs, policy)
    assert set(starts.values()) == {1} and len(run.times) == len(jobs)


def test_what_an_earlier_version_showed_spares_the_exploration():
    """A job whose lineage ran on eight GPUs may start on more than one."""
    job = published.workload(1)[0]
    seen = {(1, 1, 128): job.application.times((1,), 128), (2, 8, 256): job.application.times((4, 4), 256)}
    first = Pollux(0).allocate(60, [job], {})
    assert len(first[job.name]) == 1
    known = Pollux(0, known={job.name: seen}).allocate(60, [job], {})
    assert len(known[job.name]) > 1
