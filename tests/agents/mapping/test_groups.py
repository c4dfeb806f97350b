"""Members of groups are those of the frameworks' own rank generators."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from maple_agents.mapping import groups
from maple_agents.mapping.groups import Mesh

from tests.heavy.rank_generators import digest

RECORDED = Path(__file__).parents[2] / "cases" / "mapping" / "rank_generators.jsonl"
ROWS: list[dict[str, Any]] = [json.loads(line) for line in RECORDED.read_text().splitlines()]
ORDERS = {"tp-cp-ep-dp-pp": groups.MEGATRON, "tp-cp-ep-pp-dp": groups.MEGATRON_PIPELINE_FIRST}


def _of_megatron(row: dict[str, Any], sizes: dict[str, int]) -> Mesh | None:
    return groups.megatron(row["world"], sizes, ORDERS[row["order"]])


def _of_experts(row: dict[str, Any], sizes: dict[str, int]) -> Mesh | None:
    return groups.megatron_experts(row["world"], sizes, ORDERS[row["order"]])


def _in_order(name: str) -> Callable[[dict[str, Any], dict[str, int]], Mesh | None]:
    return lambda row, sizes: groups.filled(row["world"], sizes, groups.ORDERS[name])


def _folded(row: dict[str, Any], sizes: dict[str, int]) -> Mesh | None:
    return groups.folded_experts(row["world"], sizes, groups.ORDERS["torchtitan"])


OURS = {
    "megatron": _of_megatron,
    "megatron experts": _of_experts,
    "deepspeed": _in_order("deepspeed"),
    "torchtitan": _in_order("torchtitan"),
    "torchtitan experts": _folded,
    "nanotron": _in_order("nanotron"),
}


@pytest.mark.parametrize("framework", OURS)
def test_groups_are_the_framework_s_own(framework: str) -> None:
    """On every shape that was recorded; the data axis is not told, but is what the others leave."""
    rows = [row for row in ROWS if row["framework"] == framework]
    assert len(rows) >= 40
    for row in rows:
        sizes = {axis: row[axis] for axis in groups.AXES if axis in row and axis != groups.DATA}
        made = OURS[framework](row, sizes)
        assert made is not None and made.ranks == row["world"], row
        assert {axis: digest(made.groups(*axis.split("-"))) for axis in row["groups"]} == row["groups"], row


def test_there_are_enough_shapes() -> None:
    """Of each framework, and in all."""
    assert len(ROWS) >= 200


def test_sizes_that_do_not_divide_the_ranks_make_no_groups() -> None:
    """That is another rule's finding."""
    assert groups.megatron(12, {groups.TENSOR: 8}) is None


def test_the_last_dimension_of_a_device_mesh_runs_fastest() -> None:
    """As in the documentation's example of a mesh of 2 by 4."""
    mesh = groups.device_mesh(("dp", "tp"), (2, 4))
    assert mesh.groups("tp") == ((0, 1, 2, 3), (4, 5, 6, 7))
    assert mesh.groups("dp") == ((0, 4), (1, 5), (2, 6), (3, 7))
