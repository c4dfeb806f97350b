"""Which worlds agents form: their nodes, ranks and sizes, over made up agents."""

from __future__ import annotations

from typing import Any, Optional

import pytest
from maple_submit_filter.plan import groups

from tests.submit_filter.test_agent_breaches import AGENT, NOT_SAID, STATIC, of, row, scene
from tests.submit_filter.test_heart_promises import text
from tests.submit_filter.test_program_breaches import HOST, shaped


def group(*starts: Any, shape: Any = None) -> Any:
    return groups._agent_group(starts, shape is not None and shape.sampled, shape, scene())


@pytest.mark.parametrize(
    ("starts", "shape", "nodes", "each", "world", "declared", "complete"),
    [
        (row(0, 1), None, 2, 4, 8, 8, True), (row(0, 0), None, 1, 8, 8, 8, True), (row(0), None, 1, 4, None, 8, True),
        (row(0, 1, 2), None, 3, 4, None, 8, True), (row(None, None, task=0), None, None, None, 8, 8, True),
        (row(None, task=0), None, 1, 4, None, 8, True), (row(0, 0, 1), None, 2, None, None, 8, True),
        (row(0, 1, agent=of(None)), None, 2, None, None, None, True),
        (row(0, 1, agent=AGENT._replace(nnodes=None)), None, 2, 4, None, None, True),
        (row(0, 1, agent=AGENT._replace(nnodes=(1, 2))), None, 2, 4, None, None, True),
        (row(0, agent=AGENT._replace(standalone=True)), None, 1, 4, 4, 4, True),
        ([*row(0), *row(1, agent=of(2))], None, 2, None, None, None, True),
        (row(0, 1, agent=STATIC, ranked=True), None, 2, 4, 8, 8, True),
        (row(0, 1, agent=STATIC), None, 2, 4, None, 8, True),
        (row(0, agent=STATIC._replace(nnodes=(1, 1), node_rank=5)), None, 1, 4, 4, 4, True),
        (row(0, 1, task=None), None, None, None, None, 8, False),
        (row(0, 1, task=None, links="bash torchrun"), None, 2, 4, 8, 8, True),
        (row(0, 1), shaped(tasks=2, sampled=True), 2, 4, 8, 8, False),
        (row(0, 1), shaped(tasks=3, sampled=True), None, 4, None, 8, False),
        (row(0, 1, agent=STATIC), shaped(tasks=2, sampled=True), 2, 4, 8, 8, False),
        (row(0, 1), shaped(tasks=9), 2, 4, 8, 8, True),
    ],
)  # fmt: skip
def test_agents_that_meet_form_the_world_that_they_were_told(
    starts: Any, shape: Any, nodes: Any, each: Any, world: Any, declared: Any, complete: bool
) -> None:
    """Where as many meet as are waited for, with the node ranks of a static meeting; of samples as many as start."""
    made = group(*starts, shape=shape)
    assert (made.nodes, made.ranks_per_node, made.world_size, made.declared, made.complete) == (
        nodes, each, world, declared, complete
    )  # fmt: skip
    assert {process.world_size for process in made.processes} <= {world}
    assert made.launcher == "torchrun" and made.port == (None if starts[0].agent.standalone else b"29500")


@pytest.mark.parametrize(
    ("more", "master"),
    [({}, HOST % 0), ({"nnodes": (1, 1)}, None), ({"nnodes": (1, 1), "backend": b"static"}, HOST % 0),
     ({"nnodes": None}, HOST % 0), ({"standalone": True}, None)],
)  # fmt: skip
def test_who_is_alone_has_no_master_but_a_static_one(more: Any, master: Optional[bytes]) -> None:
    assert group(*row(0, agent=AGENT._replace(**more))).master == master


def test_the_ranks_of_a_static_meeting_follow_its_node_ranks_and_those_of_another_are_not_known() -> None:
    """One agent alone is the first; of many workers 64 are looked at."""
    static = group(*row(0, 1, agent=STATIC, ranked=True))
    assert [process.rank for process in static.processes] == list(range(8))
    assert [process.local_rank for process in static.processes] == [0, 1, 2, 3] * 2
    assert {(process.master, process.port) for process in static.processes} == {(HOST % 0, b"29500")}
    meeting = group(*row(0, 1))
    assert {(process.rank, process.master, process.port) for process in meeting.processes} == {(None, None, None)}
    alone = group(*row(0, agent=AGENT._replace(nnodes=(1, 1))))
    assert [process.rank for process in alone.processes] == [0, 1, 2, 3]
    unsure = group(*row(0, 1, agent=STATIC))
    assert {process.rank for process in unsure.processes} == {None}
    hidden = group(*row(0, 1, agent=STATIC._replace(master=text(NOT_SAID), port=text(NOT_SAID)), ranked=True))
    assert {(process.master, process.port) for process in hidden.processes} == {(None, None)}
    for many in (63, 64, 65):
        assert len(group(*row(0, agent=of(many))).processes) == min(many, 64)
    assert not group(*row(0, agent=of(None))).processes
    assert [process.gpus for process in group(*row(0, agent=of(2, 2))).processes] == [(b"0", b"1")] * 2
