"""Orderings of two weeks of Philly beside the published figures; what forecasts add; a long history's time."""

from __future__ import annotations

import random
import statistics
import time

import pytest
from maple_agents.scheduling.queueing import ordering
from maple_agents.scheduling.queueing.jobs import Job, by, figures
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

LAS = {"5 h": (18000.0,), "0.9 h / 2 h": (3250.0, 7200.0), "1 h / 10 h / 100 h": least_attained.LIMITS}
SEEDS = range(5)


@pytest.mark.timeout(0)
@pytest.mark.parametrize("pool", [640, 704, 800])
def test_scheduling_of_a_queue_as_published(pool):
    """Mean time to completion in hours, published and ours."""
    jobs = philly.jobs()
    print(f"\n{pool} GPUs{'published':>24} {'ours':>7} {'ratio':>6} {'wait':>6} {'late':>6} {'slow':>5} {'stops':>6}")
    orderings = (fifo.POLICY, easy.POLICY, size_only.POLICY, oracle_work.POLICY, shuffled_work.policy(jobs),
                 random_order.policy(jobs))  # fmt: skip
    for policy in orderings:
        _row(policy.name, pool, ordering.simulate(jobs, pool, policy))
    if pool == 640:
        return
    stopping = [("2d-las " + name, least_attained.policy(limits)) for name, limits in LAS.items()]
    stopping += [("2d-gittins", gittins.policy([job.size * job.seconds for job in jobs[::3]])),
                 ("srsf", shortest_remaining.POLICY)]  # fmt: skip
    for name, preemptive in stopping:
        _row(name, pool, ordering.preempt(jobs, pool, preemptive))


def _row(name, pool, ended):
    came, published = figures(ended), philly.COMPLETION.get((name, pool))
    ratio = "" if published is None else f"{came['completion'] / published:6.3f}"
    shown = ("{completion:7.2f} %6s {wait:6.2f} {late:6.1f} {slowdown:5.2f} {preemptions:6}" % ratio).format(**came)
    print(f"{name:26} {published or '':>6} {shown}")


@pytest.mark.timeout(0)
@pytest.mark.parametrize("pool", [704, 640])
def test_scheduling_with_forecasts(pool):
    """Mean wait in hours where 0 to 100 % of jobs have a forecast, beside size alone and no information.

    The forecast's error is drawn from a normal of log2 with the spread that the last run had on the Eagle sample (mean
    |log2| 0.4 as published; 0.8 on the true clock). No public trace has both GPUs and names that recur, so this is
    synthetic.
    """
    print(f"\n{pool} GPUs: mean wait, late (one in 100), slowdown; five seeds")
    jobs = philly.jobs()
    for name, policies in (
        ("size only", [size_only.POLICY]), ("control", [shuffled_work.policy(jobs, seed) for seed in SEEDS]),
        ("oracle", [oracle_work.POLICY]),
    ):  # fmt: skip
        _mean(name, [figures(ordering.simulate(jobs, pool, policy)) for policy in policies])
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        runs = [_with_forecasts(jobs, share, seed) for seed in SEEDS]
        came = [figures(ordering.simulate(foretold, pool, forecast_work.policy(foretold))) for foretold in runs]
        _mean("forecast for %3.0f %%" % (100 * share), came)


FEWEST = 100  # jobs of a virtual cluster whose mean is shown


@pytest.mark.timeout(0)
@pytest.mark.parametrize("pool", [560, 640])
def test_scheduling_of_virtual_clusters(pool):
    """Fifteen weeks of Philly in one queue: what forecasts for a share of jobs bring, to the worst virtual cluster too.

    Errors and control as above, one seed; who has waited a week stands before all. Synthetic in the same way.
    """
    print(f"\n{pool} GPUs: mean wait (h), late (one in 100), slowdown, and the mean wait of the worst virtual cluster")
    jobs, week = philly.months(), 7 * 86400.0
    _clusters("easy", ordering.simulate(jobs, pool, easy.POLICY))
    for name, policy in (("size only", size_only.POLICY), ("control", shuffled_work.policy(jobs, 0)),
                         ("oracle", oracle_work.POLICY)):  # fmt: skip
        _clusters(name, ordering.simulate(jobs, pool, policy, week))
    for share in (0.25, 0.5, 0.75, 1.0):
        foretold = _with_forecasts(jobs, share, 0)
        _clusters("forecast for %3.0f %%" % (100 * share),
                  ordering.simulate(foretold, pool, forecast_work.policy(foretold), week))  # fmt: skip


def _clusters(name, ended):
    came = figures(ended)
    groups = {group: of for group, of in by(ended, lambda each: each.job.group).items() if of["jobs"] >= FEWEST}
    worst = max(groups, key=lambda group: groups[group]["wait"])
    shown = "{wait:6.2f} {late:7.1f} {slowdown:6.2f}".format(**came)
    print(f"{name:20} {shown}  {groups[worst]['wait']:6.2f} ({worst})", flush=True)


def _with_forecasts(jobs, share, seed):
    draw = random.Random(seed)
    return [
        job._replace(expected=job.seconds * 2 ** draw.gauss(0, 0.5) if draw.random() < share else None) for job in jobs
    ]


def _mean(name, came):
    wait, late, slow = (
        statistics.mean(values) for values in zip(*((one["wait"], one["late"], one["slowdown"]) for one in came))
    )
    print(f"{name:20} {wait:6.2f} {late:6.1f} {slow:6.2f}")


@pytest.mark.timeout(0)
def test_scheduling_replay_of_a_long_history():
    """Seconds that each ordering takes for 200,000 jobs at a load of 0.9."""
    draw = random.Random(1)
    jobs = [Job("%d" % at, at * 30.0, draw.choice((1, 1, 1, 2, 4, 8, 16)), draw.expovariate(1 / 3600), 0.0)
            for at in range(200_000)]  # fmt: skip
    jobs = [job._replace(limit=job.seconds * draw.uniform(1, 6)) for job in jobs]
    pool = int(sum(job.size * job.seconds for job in jobs) / (len(jobs) * 30.0) / 0.9)
    for policy in (fifo.POLICY, easy.POLICY, size_only.POLICY, oracle_work.POLICY):
        began = time.perf_counter()
        wait = figures(ordering.simulate(jobs, pool, policy))["wait"]
        print(f"\n{policy.name:10} {time.perf_counter() - began:6.1f} s, mean wait {wait:.2f} h", end="")
    print()
