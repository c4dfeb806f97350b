"""A slow link is told with its numbers and with the host that slow links share; noise and pairs of GPUs are not."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence

import pytest
from maple_agents.verify.judge.outcome import judged
from maple_agents.verify.judge.sanity import slow_links
from maple_agents.verify.run.facts import Fact, fact_of

from tests.agents.verify.planned import fact, run_of
from tests.agents.verify.test_verify_judging import SCENE
from tests.miniapps.slow_wire import slow_wire
from tests.miniapps.started import ROOT, Bench, bench, free_port, world

GB = 10**9
BYTES = 1 << 26
RANK = ROOT / "tests" / "miniapps" / "slow_rank.py"


def ring(hosts: Sequence[str], rates: Sequence[float], nbytes: int = BYTES) -> list[Fact]:
    """Return the facts of ranks on these hosts, each with the rate in GB/s of its link to the next."""
    size = len(hosts)
    return [
        fact(rank, host=hosts[rank], world_size=size, group={"rank": rank, "world_size": size}, links=[{
            "to": (rank + 1) % size, "to_host": hosts[(rank + 1) % size], "bytes": nbytes, "seconds": 1.0,
            "bytes_per_second": round(rates[rank] * GB),
        }])
        for rank in range(size)
    ]  # fmt: skip


def said(hosts: Sequence[str], rates: Sequence[float], nbytes: int = BYTES) -> list[str]:
    return list(slow_links(ring(hosts, rates, nbytes)))


@pytest.mark.parametrize("hosts", ["abc", "abcd", "abcdefgh"])
def test_the_host_that_all_slow_links_share_is_named(hosts):
    rates = [10.0] * len(hosts)
    rates[0] = rates[1] = 0.1  # into b, and out of it
    assert said(hosts, rates) == [
        "b: 0.10 GB/s to c and 0.10 GB/s from a, where links between hosts usually have 10.00 GB/s"
    ]


def test_it_is_named_too_where_neighbouring_ranks_are_on_other_hosts():
    """Ranks dealt out host by host: every link of a slow host is between hosts."""
    rates = [0.1 if rank % 3 in (0, 1) else 10.0 for rank in range(12)]
    (one,) = said("abc" * 4, rates)
    assert one.startswith("b: 0.10 GB/s to c and")


def test_one_slow_link_between_two_healthy_hosts_is_told_with_its_ranks():
    assert said("aabbccdd", [10, 10, 10, 0.5, 10, 10, 10, 10]) == [
        "b: 0.50 GB/s to c (rank 3 to rank 4), where links between hosts usually have 10.00 GB/s"
    ]


def test_two_hosts_are_held_against_each_other_by_direction():
    assert said("aabb", [50, 0.1, 50, 10]) == [
        "a: 0.10 GB/s to b (rank 1 to rank 2), where links between hosts usually have 10.00 GB/s"
    ]


def test_links_within_hosts_and_between_them_are_no_measure_of_each_other():
    assert said("aabbccdd", [200, 5, 200, 5, 200, 5, 200, 5]) == []


def test_a_host_that_is_slow_within_is_told():
    assert said("aabbccdd", [200, 20, 1, 20, 200, 20, 200, 20]) == [
        "b: 1.00 GB/s between its ranks, where other hosts have 200.00 GB/s"
    ]


def test_a_rank_whose_links_within_its_host_are_both_slow_is_told():
    assert said("aaaaaaaa", [200, 200, 0.9, 0.9, 200, 200, 200, 200]) == [
        "a: 0.90 GB/s from rank 2 to rank 3 and 0.90 GB/s from rank 3 to rank 4, "
        "where links within a host usually have 200.00 GB/s"
    ]


@pytest.mark.parametrize(
    "rates", [[200, 1, 200, 1], [200, 1, 200, 1] * 2, [200, 200, 200, 1] * 2], ids=["pairs", "8", "quads"]
)
def test_gpus_that_are_joined_in_groups_are_no_finding(rates):
    assert said("a" * len(rates), rates) == []


@pytest.mark.parametrize(
    ("hosts", "rates"),
    [
        ("abcd", [10, 3, 10, 3.5]),  # a busy host
        ("abcd", [0.1, 0.1, 0.1, 0.1]),  # all alike
        ("aa", [10, 0.1]),
        ("aaa", [10, 10, 0.1]),
        ("a", [10]),
    ],
)
def test_what_is_no_slow_link_is_not_told(hosts, rates):
    assert said(hosts, rates) == []


def test_what_a_busy_host_does_to_a_small_message_is_no_slow_link():
    """Measured on two CPUs with eight busy processes: 18 ms more for 4 MiB."""
    assert said("abcd", [2.6, 0.22, 0.22, 2.6], 1 << 22) == []
    assert len(said("abcd", [2.6, 0.1, 0.1, 2.6], 1 << 22)) == 1


def test_a_link_that_came_to_small_sizes_only_is_not_judged():
    facts = [*ring("abcd", [10, 10, 10, 10])[:3], ring("abcd", [0.01] * 4, 1 << 18)[3]]
    assert list(slow_links(facts)) == []


@pytest.mark.parametrize(
    "told", [None, 7, {}, [7], [{}], [{"to": "x", "to_host": 1, "bytes": BYTES, "bytes_per_second": 1}],
             [{"to": 1, "to_host": "b", "bytes": BYTES, "bytes_per_second": -1}]],
)  # fmt: skip
def test_links_of_the_wrong_shape_are_passed_over(told):
    assert list(slow_links([*ring("abcd", [10] * 4)[:3], fact(3, links=told)])) == []


def test_a_slow_link_is_a_warning_and_no_failure():
    verdict = judged([run_of(ring(["node-1", "node-1", "node-2", "node-2"], [10, 0.1, 10, 10]))], SCENE)
    assert verdict.result.value == "passed"
    assert any("node-1: 0.10 GB/s to node-2" in one.says for one in verdict.warnings)


@pytest.fixture
def ranks(tmp_path):
    """A bench whose processes do not outlive the test."""
    with bench(tmp_path) as made:
        yield made


def run_dry(ranks: Bench, size: int, slow: Sequence[int], rate: float = 2e7) -> list[Fact]:
    """Run `dry` with each rank on a host of its own; the links out of the *slow* ranks pass so many bytes a second."""
    envs = world(size, free_port(), 20)
    with contextlib.ExitStack() as wires:
        started = []
        for rank, env in enumerate(envs):
            target = ranks.folder / f"port-of-{rank + 1}"
            way = [str(wires.enter_context(slow_wire(target, rate))), str(target)] if rank in slow else []
            started.append(ranks.start([sys.executable, RANK, f"node-{rank}", *way], env))
        ended = [ranks.wait(number, 60) for number in started]
    assert [one.code for one in ended] == [0] * size, ended
    facts = [fact_of(one.facts) for one in ended]
    assert all(facts)
    return [one for one in facts if one]


def test_ranks_of_dry_find_the_host_with_a_slow_network(ranks):
    """The collectives are slow on all hosts alike; the links tell which one it is."""
    (one,) = slow_links(run_dry(ranks, 4, slow=(1, 2)))
    assert one.startswith("node-2: ") and "MB/s to node-3 and" in one and "MB/s from node-1, where" in one


def test_ranks_of_dry_on_a_healthy_network_find_nothing(ranks):
    facts = run_dry(ranks, 4, slow=())
    assert [one.told["links"][0]["to_host"] for one in facts] == ["node-1", "node-2", "node-3", "node-0"]
    assert list(slow_links(facts)) == []
