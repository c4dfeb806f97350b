"""Lucid's rules: profiles, the least work first, and pairs on the same GPUs."""

from __future__ import annotations

import random

import pytest
from maple_agents.scheduling.queueing.jobs import Job, TooLarge
from maple_agents.scheduling.queueing.packing import PACKED, Label, Lucid, simulate

LIGHT = Label(1, 8000.0)


def job(name, submitted=0.0, size=4, seconds=1000.0, expected=None):
    return Job(name, submitted, size, seconds, 10000.0, seconds if expected is None else expected)


def times(jobs, pool, **settings):
    known = {each.name for each in jobs} if settings.pop("all_known", True) else set()
    lucid = Lucid(settings.pop("labels", {}), known, **{"profiler": 0, **settings})
    return {each.job.name: (each.started, each.ended) for each in simulate(jobs, pool, lucid)}


def test_a_short_job_ends_in_the_profile_and_a_long_one_begins_anew():
    """200 s are profiled; what a longer job did in them is lost."""
    jobs = [job("short", seconds=150.0), job("long")]
    assert times(jobs, 16, all_known=False, profiler=8) == {"short": (0.0, 150.0), "long": (0.0, 1200.0)}


def test_a_known_version_is_not_profiled():
    """It starts at once, and is done a profile earlier."""
    assert times([job("long")], 16, profiler=8) == {"long": (0.0, 1000.0)}


def test_the_profiler_takes_the_smallest_first():
    """Four GPUs profile: the single one goes before the four that came earlier."""
    jobs = [job("first"), job("wide"), job("narrow", size=1)]
    came = times(jobs, 64, all_known=False, profiler=4)
    assert [came[name][0] for name in ("narrow", "first", "wide")] == [0.0, 200.0, 400.0]


def test_the_least_work_goes_first_and_whoever_fits_passes():
    """By GPUs x forecast, not by submission."""
    jobs = [job("runs"), job("long", 1.0, seconds=5000.0), job("little", 2.0, seconds=10.0), job("one", 3.0, size=1)]
    came = times(jobs, 4)
    assert came["little"] == (1000.0, 1010.0) and came["one"] == (1010.0, 2010.0) and came["long"] == (2010.0, 7010.0)


def test_two_light_jobs_share_gpus_until_one_ends():
    """Both run a little slower, and the one that is left runs alone again."""
    jobs = [job("one"), job("other", seconds=500.0)]
    came = times(jobs, 4, labels={"one": LIGHT, "other": LIGHT})
    end = 500.0 / PACKED
    assert came["other"] == (0.0, pytest.approx(end))
    assert came["one"] == (0.0, pytest.approx(end + 500.0))


@pytest.mark.parametrize(
    "labels",
    [
        {"one": Label(1, 8000.0), "other": Label(2, 8000.0)},
        {"one": Label(0, 20000.0), "other": Label(0, 5000.0)},
        {"one": LIGHT},
    ],
)
def test_pairs_that_would_suffer_are_not_made(labels):
    """Labels that add up to more than 2, memory that does not suffice, or a job without a label."""
    came = times([job("one"), job("other")], 4, labels=labels)
    assert sorted(start for start, _ in came.values()) == [0.0, 1000.0]


def test_every_job_ends_and_no_gpu_is_lent_twice():
    """At each start what runs holds at most twice the GPUs that there are, and more than them where some are packed."""
    draw = random.Random(4)
    jobs = [job(str(at), at * 40.0, draw.choice((1, 2, 4, 8, 16)), draw.expovariate(1 / 3000)) for at in range(300)]
    labels = {each.name: Label(draw.randint(0, 2), draw.uniform(2000, 20000)) for each in jobs}
    ended = simulate(jobs, 64, Lucid(labels, {each.name for each in jobs}))
    packed = False
    for each in ended:
        assert each.completion >= each.job.seconds - 1e-6
        running = [other for other in ended if other.started <= each.started < other.ended - 1e-6]
        held = sum(other.job.size for other in running)
        assert held <= 2 * 32  # the other half profiles
        packed = packed or held > 32
    assert packed


def test_a_job_that_never_fits_is_refused():
    """In one line, as by every simulation."""
    with pytest.raises(TooLarge, match="wants 64, and the pool has 32"):
        times([job("wide", size=64)], 64, profiler=32)
