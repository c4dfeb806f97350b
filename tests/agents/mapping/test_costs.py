"""The estimate: flows that share links, groups that move at their own pace."""

from __future__ import annotations

import pytest
from maple_agents.mapping import costs, groups, placement, steps
from maple_agents.mapping.costs import Capacity, Exchange
from maple_agents.mapping.topology import Machine

from tests.network_lab import measure
from tests.network_lab.lab import Rates, capacity

MIB = 1 << 20


def wires(rate: float, late: float = 0.0) -> Capacity:
    """Each rank has a port in and one out."""
    return Capacity(lambda link: rate, lambda one, other: ((("out", one), ("in", other)), late))


def test_a_ring_moves_twice_all_but_one_part() -> None:
    """2 (n - 1) / n of the bytes go over each edge, with as many delays as steps."""
    whole = Exchange((0, 1, 2, 3), 4 * MIB)
    assert costs.seconds([[whole]] * 4, wires(MIB)) == pytest.approx(6.0)
    assert costs.seconds([[whole]] * 4, wires(MIB, 0.5)) == pytest.approx(9.0)


def test_two_groups_share_a_link_until_one_is_done() -> None:
    """The shorter leaves the link to the longer one."""
    shared = Capacity(lambda link: MIB, lambda one, other: ((("wire",),) if one < other else (), 0.0))
    short, long_ = Exchange((0, 1), MIB), Exchange((2, 3), 3 * MIB)
    made = costs.seconds([[short], [short], [long_], [long_]], shared)
    assert made == pytest.approx(4.0)  # all four MiB have to go through it, and it is never idle


def test_a_rank_waits_for_the_rest_of_its_group() -> None:
    """The second exchange begins when both have come to it."""
    first, both = Exchange((0,), MIB), Exchange((0, 1), MIB)
    lone = Exchange((1, 2), 5 * MIB)
    made = costs.seconds([[first, both], [lone, both], [lone]], wires(MIB))
    assert made == pytest.approx(6.0)


@pytest.mark.parametrize(
    ("nodes", "each", "sizes"),
    [(4, 8, {"tp": 8, "pp": 2}), (4, 8, {"tp": 4, "pp": 2}), (8, 4, {"tp": 8, "pp": 2}), (4, 6, {"tp": 2, "pp": 2})],
)
def test_dealing_ranks_in_turn_costs_three_to_thirteen_times(nodes: int, each: int, sizes: dict[str, int]) -> None:
    """Under the default order of Megatron: published for four shapes, 8.2, 11.8, 3.3 and 4.0."""
    mesh = groups.megatron(nodes * each, sizes)
    assert mesh is not None
    here = costs.of_step(mesh, placement.cyclic(nodes, each), Machine(), {})
    best = costs.of_step(mesh, placement.block(nodes, each), Machine(), {})
    assert here is not None and best is not None and 3 < costs.seconds(*here) / costs.seconds(*best) < 13
    by_steps = steps.ratio(here, best)
    assert by_steps is not None and 2.5 < by_steps < 16


def test_step_by_step_a_lone_ring_takes_as_long() -> None:
    """Where nothing is shared, both estimates agree; delays too."""
    whole = [[Exchange((0, 1, 2, 3), 4 * MIB)]] * 4
    for late in (0.0, 0.5):
        assert steps.seconds(whole, wires(MIB, late)) == pytest.approx(costs.seconds(whole, wires(MIB, late)))


def test_step_by_step_a_ring_that_meets_itself_is_slower() -> None:
    """Two of its edges share a link, and are busy at different times: never faster than sharing it evenly."""
    nodes = (0, 1, 0, 2)
    links = Capacity(
        lambda link: MIB,
        lambda one, other: (() if nodes[one] == nodes[other] else (("out", nodes[one]), ("in", nodes[other])), 0.0),
    )
    whole = [[Exchange((0, 1, 2, 3), 4 * MIB)]] * 4
    assert steps.seconds(whole, links) >= costs.seconds(whole, links) - 1e-6


def test_step_by_step_neighbours_exchange_at_once() -> None:
    """Both ways of a chain, each on its own link."""
    chain = [[Exchange((0, 1, 2), MIB, "chain")]] * 3
    ends = Capacity(lambda link: MIB, lambda one, other: ((("wire", one, other),), 0.0))
    assert steps.seconds(chain, ends) == pytest.approx(1.0)


def test_merged_rounds_carry_the_same_bytes_and_order_placements_alike() -> None:
    """All 26 placements of the lab in each mix, at the lab's rates."""
    rates = Rates(60e6, 1e-4, 6e6, 1e-3)
    for mix in measure.MIXES:
        made = measure.programs(mix)
        short = steps.merged(made)
        assert [sum(one.size * one.rounds for one in program) for program in short] == pytest.approx(
            [sum(one.size * one.rounds for one in program) for program in made]
        )
        said = [
            (steps.seconds(made, links), steps.seconds(short, links))
            for _, seats in measure.placements()
            for links in [capacity(rates, [seat // measure.EACH for seat in seats])]
        ]
        assert measure.spearman([one for one, _ in said], [one for _, one in said]) > 0.85, mix.name


def test_the_estimate_that_is_told_follows_what_the_lab_measured() -> None:
    """By steps, as findings and `maple map tune` have it; by groups, placements of one mix come out almost alike."""
    rates, taken = measure.kept()
    rows = {mix.name: measure.rows(mix, rates, taken[mix.name]) for mix in measure.MIXES}
    for name, each in rows.items():
        correlation, error = measure.agreement(each, "told")
        assert correlation > 0.7 and error < 0.1, name
    everything = [row for each in rows.values() for row in each]
    assert measure.agreement(everything, "told")[0] > 0.9
    assert measure.agreement(rows["tensor"], "told")[0] > measure.agreement(rows["tensor"], "groups")[0]
