"""Every order and every way of dealing, by the estimate."""

from __future__ import annotations

from pathlib import Path

import pytest
from maple_agents.mapping import language, tuning
from maple_agents.mapping.language import Mistake

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
