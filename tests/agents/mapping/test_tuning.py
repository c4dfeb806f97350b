"""Every order and every way of dealing, by the estimate."""

from __future__ import annotations

from pathlib import Path

import pytest
from maple_agents.mapping import language, tuning
from maple_agents.mapping.language import Mistake

from tests.agents.mapping import search

TRAFFIC = "traffic tp allreduce 64MiB x128\ntraffic dp allreduce 512MB\ntraffic pp p2p 64MiB x16\n"


@pytest.mark.parametrize(
    ("cluster", "axes"),
    [
        ("node 4 / gpu 8", "tp 8, dp 2, pp 2"),
        ("node 4 / gpu 8", "tp 4, dp 4, pp 2"),
        ("node 8 / gpu 4", "tp 8, dp 2, pp 2"),
        ("node 4 / gpu 6", "tp 2, dp 6, pp 2"),
    ],
)
def test_on_regular_machines_blocks_with_tensor_innermost_are_best(cluster: str, axes: str) -> None:
    """And an order of Megatron's is among the best; dealing in turn costs a multiple."""
    mapping = language.read(f"cluster {cluster}\naxes {axes}\norder tp < dp < pp\n{TRAFFIC}map cyclic")
    found = tuning.trials(mapping)
    assert found[0].megatron and found[0].order[0] == "tp" and found[0].how == "block"
    assert tuning.as_written(mapping) > 2 * found[0].seconds


def test_hosts_by_leaf_are_best_where_they_are_given_to_and_fro() -> None:
    """With uplinks that carry half."""
    text = f"cluster node 8 / gpu 4\naxes tp 4, dp 8\n{TRAFFIC.splitlines()[0]}\ntraffic dp allreduce 4GB\n"
    found = tuning.trials(language.read(text), [f"l{node % 2}" for node in range(8)])
    assert found[0].by == "by leaf" and found[0].seconds < min(one.seconds for one in found if one.by != "by leaf")


UNLIKE = "cluster node 12 / gpu 4\naxes tp 4, dp 4, pp 3\n" + TRAFFIC.replace("512MB", "4GB").replace("x128", "x32")


def test_unlike_leaves_are_searched() -> None:
    """Another order of nodes is found that is better than all that are enumerated, and it can be written."""
    mapping, leaves, hosts = language.read(UNLIKE), "abcabcabcaaa", [f"n{node}" for node in range(12)]
    first = tuning.trials(mapping, leaves)[0]
    found = tuning.searched(mapping, leaves, first, hosts)
    assert tuning.is_irregular(leaves) and found.seconds < 0.9 * first.seconds
    assert sorted(found.nodes) == list(range(12))
    written = language.read(UNLIKE + found.statements.replace(" ; ", "\n"))
    assert list(written.hosts) == [hosts[node] for node in found.nodes]
    placed = tuning.as_written(written, [leaves[node] for node in found.nodes])
    assert placed == pytest.approx(found.seconds)


def test_where_nothing_is_better_the_enumerated_one_stays() -> None:
    """Leaves that hold whole groups leave nothing to find; equal ones are not searched."""
    mapping = language.read("cluster node 8 / gpu 4\naxes tp 8, dp 4\ntraffic tp allreduce 64MiB x32\n")
    first = tuning.trials(mapping, "aaaabbbb")[0]
    assert tuning.searched(mapping, "aaaabbbb", first, "abcdefgh") == first and not tuning.is_irregular("abab")


@pytest.mark.parametrize("name", [name for name in search.SEARCHERS if name not in search.OTHERS])
def test_every_searcher_keeps_to_the_space(name: str) -> None:
    """None is better than the best that ours finds, and none tries more than it may."""
    space = search.Space(search.CASES[0])
    found = list(search.SEARCHERS[name](space, 0, 60))
    assert 0 < len(found) <= 60 and min(found) >= min(search.tune(space, 0, 60))


def test_without_traffic_nothing_is_tuned() -> None:
    """It is said what to write."""
    with pytest.raises(Mistake, match="traffic tp allreduce"):
        tuning.trials(language.read("cluster node 2 / gpu 2\naxes tp 2, dp 2"))


def test_the_command_shows_the_best_and_the_worst(maple, tmp_path: Path) -> None:
    """Beside what is written."""
    (tmp_path / "job.map").write_text(f"cluster node 4 / gpu 8\naxes tp 8, dp 2, pp 2\n{TRAFFIC}map cyclic\n")
    said = maple("map", "tune", "job.map")
    assert said.code == 0 and said.out.splitlines()[0].endswith("24 ways tried")
    assert "order tp < dp < pp ; map block" in said.out and said.out.rstrip().endswith("(the worst)")
