"""Orderings of a queue: what was published of them, and what holds of each on any jobs."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from maple_agents.scheduling.queueing import ordering
from maple_agents.scheduling.queueing.jobs import Job, TooLarge, figures, most_at_once
from maple_agents.scheduling.queueing.policies import (
    easy,
    fifo,
    forecast_work,
    gittins,
    least_attained,
    oracle_work,
    random_order,
    shortest_remaining,
    shuffled_work,
    size_only,
)

from tests.agents.scheduling import philly

POOL = 8


@pytest.mark.parametrize("policy, pool", [
    (fifo.POLICY, 704), (size_only.POLICY, 704), (size_only.POLICY, 640), (oracle_work.POLICY, 704),
])  # fmt: skip
def test_figures_are_those_published(policy, pool):
    """Of the two weeks of Philly, within three in a hundred; the others stand in `make bench-scheduling`."""
    came = figures(ordering.simulate(philly.jobs(), pool, policy))
    key = (policy.name, pool)
    assert came["completion"] == pytest.approx(philly.COMPLETION[key], rel=0.03)
    assert key not in philly.WAIT or came["wait"] == pytest.approx(philly.WAIT[key], rel=0.03)
    assert key not in philly.SLOWDOWN or came["slowdown"] == pytest.approx(philly.SLOWDOWN[key], rel=0.03)


def _job(submitted: float, size: int, seconds: float, much: float, number: int = 0) -> Job:
    return Job("%d" % number, submitted, size, seconds, seconds * much)


JOBS = st.lists(
    st.builds(_job, st.integers(0, 50).map(float), st.integers(1, POOL), st.integers(1, 40).map(float),
              st.sampled_from([1.0, 2.0])), min_size=1, max_size=25,
).map(lambda jobs: [job._replace(name="%d" % at) for at, job in enumerate(jobs)])  # fmt: skip


def _orderings(jobs):
    return (
        fifo.POLICY, easy.POLICY, size_only.POLICY, oracle_work.POLICY, shuffled_work.policy(jobs),
        random_order.policy(jobs), forecast_work.policy(jobs),
    )  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(JOBS)
def test_no_ordering_starts_a_job_early_or_beyond_the_pool(jobs):
    """Every job runs once, whole, after its submission; what runs at one time fits."""
    for policy in _orderings(jobs):
        ended = ordering.simulate(jobs, POOL, policy)
        assert sorted(each.job.name for each in ended) == sorted(job.name for job in jobs)
        assert all(each.wait >= 0 and each.ended == each.started + each.job.seconds for each in ended)
        assert most_at_once((each.started, each.ended, each.job.size) for each in ended) <= POOL


@settings(max_examples=60, deadline=None)
@given(JOBS)
def test_backfill_delays_nobody_before_the_line(jobs):
    """Where limits are the run times, the first of a full pool starts as early as without backfill."""
    exact = [job._replace(limit=job.seconds) for job in jobs]
    alone = {each.job.name: each.started for each in ordering.simulate(exact, POOL, fifo.POLICY)}
    filled = {each.job.name: each.started for each in ordering.simulate(exact, POOL, easy.POLICY)}
    waiting = [job for job in sorted(exact, key=lambda job: job.submitted) if alone[job.name] > job.submitted]
    first = waiting[0] if waiting else None
    assert first is None or filled[first.name] <= alone[first.name]


def test_backfill_passes_only_what_ends_in_time():
    """Six of eight run until 100; the first of the line wants all eight; two wait behind it, one too long."""
    jobs = [
        Job("runs", 0, 6, 100, 100), Job("wide", 1, 8, 10, 10), Job("long", 2, 2, 200, 200), Job("short", 3, 2, 50, 50),
    ]  # fmt: skip
    started = {each.job.name: each.started for each in ordering.simulate(jobs, POOL, easy.POLICY)}
    assert started == {"runs": 0, "wide": 100, "long": 110, "short": 3}
    assert ordering.simulate(jobs, POOL, fifo.POLICY)[3].started == 110


def test_shortest_may_be_tried_first_behind_the_first():
    """EASY-SJBF: of two that fit beside the first, the shorter one passes."""
    from maple_agents.scheduling.queueing.policies import easy_shortest

    jobs = [
        Job("runs", 0, 6, 100, 100), Job("wide", 1, 8, 10, 10), Job("slow", 2, 2, 60, 60), Job("fast", 2.5, 2, 20, 20),
        Job("blocks", 0, 2, 3, 3),
    ]  # fmt: skip
    easily = {each.job.name: each.started for each in ordering.simulate(jobs, POOL, easy.POLICY)}
    shortest = {each.job.name: each.started for each in ordering.simulate(jobs, POOL, easy_shortest.POLICY)}
    assert (easily["slow"], easily["fast"]) == (3, 63) and (shortest["slow"], shortest["fast"]) == (23, 3)


def test_a_job_that_waits_too_long_stands_first():
    """A wide job starves while small ones come for ever; with a bound it starts soon after it."""
    small = [Job("s%d" % at, float(at * 5), 4, 11, 11, 0.1) for at in range(400)]
    jobs = [*small, Job("wide", 20, 8, 10, 10, 1e6)]
    wide = len(small)

    def started(overdue: float) -> float:
        every = ordering.simulate(jobs, POOL, forecast_work.policy(jobs), overdue)
        return next(each.started for each in every if each.job.name == jobs[wide].name)

    assert started(math.inf) > 1900 and started(300) <= 20 + 300 + 5 + 11


def test_a_job_beyond_the_pool_is_refused():
    """It would wait for ever."""
    with pytest.raises(TooLarge, match="job big wants 9"):
        ordering.simulate([Job("big", 0, 9, 1, 1)], POOL, fifo.POLICY)


def test_the_least_attained_goes_on_and_the_stopped_one_loses_its_minute():
    """The long one leaves the first queue after 100 s x 8, is stopped for the new one, and pays a minute to go on."""
    jobs = [Job("long", 0, 8, 1000, 1000), Job("new", 200, 8, 50, 50)]
    long, new = ordering.preempt(jobs, POOL, least_attained.policy((800.0,)))
    assert (new.started, new.ended) == (200, 250)
    assert (long.preempted, long.ended) == (1, 1000 + 50 + 60)


@settings(max_examples=30, deadline=None)
@given(JOBS)
def test_preemption_loses_no_work(jobs):
    """A job takes its run time at least, and a minute at most for each time it was stopped."""
    for policy in (least_attained.policy((20.0, 80.0)), gittins.policy([30.0, 60.0]), shortest_remaining.POLICY):
        for each in ordering.preempt(jobs, POOL, policy, quantum=7.0):
            assert each.completion >= each.job.seconds - 1e-6
            assert each.preempted or each.ended == pytest.approx(each.started + each.job.seconds)


def test_gittins_index_by_hand():
    """Samples 10, 20 and 100, quantum 15: at 0 one of three ends within it; at 10 one of two; beyond all none."""
    index = gittins.Index([10.0, 20.0, 100.0], 15.0)
    assert index.of(0) == pytest.approx((1 / 3) / ((10 + 15 + 15) / 3))
    assert index.of(10) == pytest.approx((1 / 2) / ((10 + 15) / 2))
    assert index.of(100) == 0.0


def test_control_deals_out_the_run_times_and_a_seed_holds():
    """Each run time is dealt once, by the seed alone."""
    jobs = [Job("%d" % at, 0, 1, float(at), float(at)) for at in range(30)]
    keys = [shuffled_work.policy(jobs, 3).key(job)[0] for job in jobs]
    assert sorted(keys) == [job.seconds for job in jobs] != keys
    assert keys == [shuffled_work.policy(jobs, 3).key(job)[0] for job in jobs]
