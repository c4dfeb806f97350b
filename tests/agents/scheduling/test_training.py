"""The simulator of training jobs gives what others published, to the second."""

from __future__ import annotations

import pytest
from maple_agents.scheduling.training.application import necklace
from maple_agents.scheduling.training.optimus import Optimus
from maple_agents.scheduling.training.simulation import Split, simulate, split
from maple_agents.scheduling.training.tiresias import Tiresias

from tests.agents.scheduling import published

MEASURED = [  # application, placement, local batch, seconds of a step and of its synchronisation
    ("cifar10", (4, 2), 342, 0.268777414, 0.020076066),
    ("cifar10", (2, 4), 342, 0.268777414, 0.020076066),
    ("ncf", (1,), 16384, 0.014968738, 0.000339132),
    ("bert", (4, 4), 12, 2.538950562, 1.662843094),
    ("imagenet", (4,) * 6, 134, 0.745332142, 0.059926544),
    ("cifar10", (4, 4, 4, 3, 1), 256, 0.229467954, 0.022130909),
    ("bert", (4, 4, 4, 3, 1), 12, 1.845758021, 0.953558754),
    ("imagenet", (4,) * 8 + (0,), 200, 1.093251753, 0.095047308),
    ("imagenet", (3,) * 16, 134, 0.753169599, 0.077672349),
]


@pytest.mark.parametrize("name, placement, local, step, sync", MEASURED)
def test_times_are_those_measured(name, placement, local, step, sync):
    """On four nodes or fewer by placement, beyond by the points around."""
    assert published.applications()[name].times(placement, local) == pytest.approx((step, sync), abs=1e-9)


def test_only_rotations_are_the_same():
    """(1, 3, 2) and (1, 2, 3) were measured apart."""
    assert necklace((4, 4, 3)) == (3, 4, 4)
    assert necklace((3, 2, 1)) == (1, 3, 2) != necklace((1, 2, 3))


def test_outside_of_what_was_measured_is_an_error():
    """Nothing is extrapolated."""
    with pytest.raises(ValueError, match="never measured"):
        published.applications()["cifar10"].times((1,), 2000)


@pytest.mark.parametrize(
    "name, batch, epoch, gain",
    [("cifar10", 2052, 0, 1.46515129), ("deepspeech2", 636, 5, 14.23999442), ("bert", 384, 1, 31.09646540)],
)
def test_gain_of_a_larger_batch(name, batch, epoch, gain):
    """The statistics of two batch sizes are mixed by where the batch lies between them."""
    assert published.applications()[name].gain(batch, epoch) == pytest.approx(gain, rel=1e-6)


@pytest.mark.parametrize(
    "name, gpus, batch, expected",
    [
        ("bert", 6, 384, (10, 5)),
        ("cifar10", 12, 4096, (341, 0)),
        ("ncf", 1, 32768, (16384, 1)),
        ("yolov3", 4, 64, (8, 1)),
    ],
)
def test_a_batch_is_split(name, gpus, batch, expected):
    """Into GPUs, then into passes where memory does not suffice."""
    assert split(published.applications()[name], batch, gpus) == Split(*expected)


@pytest.mark.parametrize("number", published.WORKLOADS)
@pytest.mark.parametrize("name, policy", [("tiresias", Tiresias), ("optimus", Optimus)])
def test_every_job_ends_when_the_authors_saw_it_end(name, policy, number):
    """Each of 2 x 1,280 jobs, to the second."""
    assert simulate(published.workload(number), policy()).times == published.times(name, number)


@pytest.mark.parametrize(
    "policy, number, placements, wide, ended",
    [(Tiresias, 1, 190, 26, 83760), (Tiresias, 6, 203, 11, 78660), (Optimus, 1, 1067, 418, 72480)],
)
def test_jobs_are_placed_as_often(policy, number, placements, wide, ended):
    """Placements in all, those on five nodes or more, and the last minute."""
    run = simulate(published.workload(number), policy())
    assert (run.placements, run.wide, run.ended) == (placements, wide, ended)


@pytest.mark.parametrize("policy", [Tiresias, Optimus])
def test_a_job_alone_runs_at_once(policy):
    """It is seen at the next full minute and loses half a minute to its start."""
    alone = published.workload(1)[:1]
    run = simulate(alone, policy())
    assert run.placements == 1
    assert alone[0].restarts == 0 and alone[0].service >= run.mean
