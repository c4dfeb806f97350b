"""Worlds that were meant, held against worlds that start; and worlds too large to be looked at rank by rank."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Optional

import pytest
from maple_submit_filter.plan import breach_kinds as kinds
from maple_submit_filter.plan.declared_worlds import (
    World,
    _alike,
    _feasible,
    _meant,
    _with_words_read_now,
    lost,
    pinned,
)
from maple_submit_filter.site.facts import NodeKind
from maple_submit_filter.types.edits import Edit, Span
from maple_submit_filter.types.launch_plan import Allocation

from tests.submit_filter.test_breach_bounds import found
from tests.submit_filter.test_heart import Trial, understood


@pytest.mark.parametrize(
    ("meant", "made", "alike"),
    [
        ((2, 4, 8), (2, 4, 8), True), ((None, None, 8), (2, 4, 8), True), ((2, 4, 8), (None, 4, 8), True),
        ((2, 4, 8), (2, None, 8), True), ((2, 4, 8), (1, 8, 8), False), ((2, 4, 8), (2, 8, 8), False),
        ((2, 4, 8), (2, 4, 9), False), ((2, 4, None), (2, 4, None), False), ((2, 4, None), (2, 4, 8), False),
    ],
)  # fmt: skip
def test_a_world_is_the_one_that_was_meant_as_far_as_it_is_known(meant: Any, made: Any, alike: bool) -> None:
    """Its size must be."""
    assert _alike(World(*meant), World(*made)) == alike


GIVEN = Allocation(2, 8, 4, None, None, None, (), "", None)


@pytest.mark.parametrize(
    ("nodes", "workers", "given", "room"),
    [
        (1, 4, {}, True), (2, 4, {}, True), (3, 4, {}, False), (None, 4, {}, True), (3, 4, {"nodes": None}, True),
        (2, 3, {"gpus_per_node": 4}, True), (2, 4, {"gpus_per_node": 4}, True), (2, 5, {"gpus_per_node": 4}, False),
        (2, None, {"gpus_per_node": 4}, True), (2, 4, {"gpus": 8}, True), (2, 5, {"gpus": 8}, False),
        (2, 4, {"gpus_asked": 8}, True), (2, 5, {"gpus_asked": 8}, False),
        (2, 4, {"node_kinds": (NodeKind("a", 4),)}, True), (2, 5, {"node_kinds": (NodeKind("a", 4),)}, False),
        (2, 9, {"node_kinds": (NodeKind("a", 4), NodeKind("b", 8))}, True),
    ],
)  # fmt: skip
def test_a_declared_world_has_room_in_what_was_asked_for(
    nodes: Optional[int], workers: Optional[int], given: dict[str, Any], room: bool
) -> None:
    group: Any = SimpleNamespace(launcher="torchrun")
    step: Any = SimpleNamespace(tasks=2)
    size = nodes * workers if nodes and workers else None
    assert _feasible(World(nodes, workers, size), group, step, GIVEN._replace(**given)) == room


@pytest.mark.parametrize(("tasks", "size", "room"), [(None, 8, True), (8, 8, True), (7, 8, False), (9, 8, False)])
def test_a_world_of_programs_has_room_where_as_many_tasks_start(tasks: Optional[int], size: int, room: bool) -> None:
    group: Any = SimpleNamespace(launcher="srun")
    step: Any = SimpleNamespace(tasks=tasks)
    assert _feasible(World(9, 9, size), group, step, GIVEN) == room


LINE = "srun torchrun %snnodes=%s %snproc-per-node=%s --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py\n"
FIRST = "HEAD=$(scontrol show hostnames | head -n 1)\n"
HEAD = "#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4\n" + FIRST


@pytest.mark.parametrize(
    ("nodes", "workers", "meant"),
    [("2", "4", World(2, 4, 8)), ("2", "2", World(2, 2, 4)), ("1", "4", World(1, 4, 4)), ("2", "$X", World(2, 4, 8)),
     ("$X", "4", World(2, 4, 8))],
)  # fmt: skip
def test_what_stands_behind_a_long_dash_was_meant(nodes: str, workers: str, meant: World) -> None:
    """As far as it can be read; else what was asked for."""
    sources = [(HEAD + LINE % (dash, nodes, dash, workers)).encode() for dash in ("\u2014", "--")]
    before, after = (Trial(source, {}).state(understood(source)).played() for source in sources)
    assert _meant(before.steps[0], after.steps[0], before, after) == {meant}
    assert lost(after, after) == ()


def test_a_count_is_kept_as_a_number_unless_the_fix_writes_it() -> None:
    """Of several changes one that writes there is enough; both counts together, then each."""
    source = (HEAD + "N=$SLURM_NTASKS\n" + LINE % ("--", "$N", "--", "$SLURM_NTASKS")).encode()
    fewer = source.replace(b"--ntasks-per-node=1", b"--ntasks-per-node=2")
    before, after = (Trial(one, {}).state(understood(one)).played() for one in (source, fewer))
    at = source.index(b"=$SLURM_NTASKS --rdzv") + 1
    workers, elsewhere = Edit(Span(at, at + 14), b"4", "T1"), Edit(Span(0, 2), b"#!", "T1")
    nodes = source.index(b"nnodes=$N") + 7

    def spans(*made: Edit) -> list[list[tuple[int, bytes]]]:
        return [[(edit.span.start, edit.new) for edit in way] for way in pinned(before, after, made)]

    one, other = (at, b"2"), (nodes, b"2")
    assert spans(elsewhere) == [[one, other], [one], [other]]
    assert one not in [place for way in spans(elsewhere, workers) for place in way]
    assert one not in [place for way in spans(workers, elsewhere) for place in way]
    assert list(pinned(before, before, ())) == []
    for made, why in (((elsewhere,), "T1"), ((), "")):
        assert {edit.because for way in pinned(before, after, made) for edit in way} == {why}


@pytest.mark.parametrize("became", ["torchrun", "python"])
def test_words_are_read_now_only_where_an_agent_stood_and_stands(became: str) -> None:
    """A launch without one, before or after, leaves the world as it was declared."""
    line = LINE % ("--", "2", "--", "2")
    sources = [(HEAD + text).encode() for text in (line, "srun python train.py\n")]
    one, other = (Trial(source, {}).state(understood(source)).played() for source in sources)
    before, after = (one, other) if became == "python" else (other, one)
    world = World(2, 4, 8)
    assert _with_words_read_now(world, before.steps[0], after.steps[0], before, after) == world


LARGE = "#SBATCH --nodes=128 --ntasks-per-node=8 --gpus-per-node=8\n" + FIRST
OWN = "export MASTER_PORT=29500 WORLD_SIZE=%s\nsrun bash -c 'RANK=%s MASTER_ADDR=%s python train.py'\n"


@pytest.mark.parametrize(
    ("world", "rank", "master", "breaks"),
    [
        ("1024", "$SLURM_PROCID", "$(hostname)", True), ("1024", "$SLURM_PROCID", "'$HEAD'", False),
        ("1023", "$SLURM_PROCID", "$(hostname)", False), ("1024", "0", "$(hostname)", False),
        ("1024", "$X", "$(hostname)", False),
    ],
)  # fmt: skip
def test_of_a_large_world_samples_speak_for_all(world: str, rank: str, master: str, breaks: bool) -> None:
    """Where their ranks differ and its size is the number of tasks; else nothing is said of where they meet."""
    assert (kinds.MASTER_DIFFERS in found(LARGE + OWN % (world, rank, master))) == breaks


@pytest.mark.parametrize("nodes", [2, 128])
def test_a_world_has_as_many_ranks_on_a_node_as_its_agent_has_workers(nodes: int) -> None:
    """Also one that is too large to be looked at rank by rank."""
    source = HEAD.replace("--nodes=2", "--nodes=%d" % nodes) + LINE % ("--", nodes, "--", 4)
    (group,) = Trial(source.encode(), {}).state(understood(source.encode())).plan.steps[0].groups
    assert (group.nodes, group.ranks_per_node, group.world_size, group.declared) == (nodes, 4, 4 * nodes, 4 * nodes)
    assert group.complete == (nodes == 2)
