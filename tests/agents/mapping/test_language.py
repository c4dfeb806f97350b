"""The mapping language, its mistakes, and what is written of a mapping, read back."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from maple_agents.mapping import emit, groups, language, placement
from maple_agents.mapping.emit import Job
from maple_agents.mapping.language import Mapping, Mistake
from maple_agents.mapping.placement import Placement

CLUSTER = "cluster node 4 / gpu 4\n"
WHOLE = """\
# two leaves of two nodes
cluster leaf 2 / node 2 / gpu 4
link gpu 250GB/s 3us ; link node 25GB/s 8us
axes pp 2, dp 2, tp 4
traffic tp allreduce 64MiB x32 ; traffic dp allreduce 2.2GB
order tp < dp < pp
nodes list n[0-3]
map block
bind cpu closest
emit slurm-hostfile, megatron
"""


def nodes_of(text: str) -> list[int]:
    """Return the node of each rank."""
    return [seat.node for seat in language.read(CLUSTER + text).placement().seats]


def test_every_statement_is_read() -> None:
    """One program with all of them."""
    made = language.read(WHOLE)
    assert (made.nodes, made.each, made.hosts) == (4, 4, ("n0", "n1", "n2", "n3"))
    assert made.mesh == groups.mesh(("tp", "dp", "pp"), {"tp": 4, "dp": 2, "pp": 2})
    assert made.links == {"gpu": (250e9, 3e-6), "node": (25e9, 8e-6)} and made.binds == {"cpu": "closest"}
    assert [(one.size, one.rounds) for one in made.flows] == [(64 * 2**20, 32), (2.2e9, 1)]


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("map block", [0] * 4 + [1] * 4 + [2] * 4 + [3] * 4),
        ("map cyclic", [0, 1, 2, 3] * 4),
        ("map plane 2", [0, 0, 1, 1, 2, 2, 3, 3] * 2),
        ("map over (4, 4) by machine block", [0] * 4 + [1] * 4 + [2] * 4 + [3] * 4),
        ("map over (4, 4) by machine.swap(0, 1) block", [0, 1, 2, 3] * 4),
        ("map over (16) by machine.merge(0, 1) block", [0] * 4 + [1] * 4 + [2] * 4 + [3] * 4),
        ("map over (16) by machine.merge(1, 0) block", [0, 1, 2, 3] * 4),
        ("map over (4, 4) by machine.reverse(0) block", [3] * 4 + [2] * 4 + [1] * 4 + [0] * 4),
        # the core of Cannon's mapper: blocks of tiles over the nodes, in turn inside one
        ("map over (4, 4) by machine.auto_split(0, (4, 4)).auto_split(2, (2, 2)) block",
         [0, 0, 2, 2, 0, 0, 2, 2, 1, 1, 3, 3, 1, 1, 3, 3]),
    ],
)  # fmt: skip
def test_ranks_are_dealt_as_said(text: str, nodes: list[int]) -> None:
    """By a name, or by a machine that is taken apart and put together."""
    assert nodes_of(text) == nodes


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("clustr node 4 / gpu 2", "line 1: 'clustr' begins no statement; did you mean cluster?"),
        (CLUSTER + "axes tp", "line 2: 'axes tp' is no axes statement; write: axes pp 2, dp 8, tp 8"),
        (CLUSTER + "axes tp 3", "the axes make 3 ranks, and the cluster has 16 GPUs"),
        (CLUSTER + "order tp < tp", "line 2: an axis stands twice in the order"),
        (CLUSTER + "map plane 3", "line 2: planes of 3 do not divide 4 ranks a node"),
        (CLUSTER + "map over (2, 2) by machine block", "line 2: the space has 4 points, and the machine 16 GPUs"),
        (CLUSTER + "map over (4, 4) by machine.split(0, 3) block", "line 2: 4 is no multiple of 3"),
        (CLUSTER + "map over (2, 8) by machine block", "line 2: two ranks would have the same GPU"),
        (CLUSTER + "emit slurm-host", "line 2: nothing is written as slurm-host; did you mean slurm-hostfile?"),
        (CLUSTER + "nodes list a,b", "2 hosts are listed, and the cluster has 4 nodes"),
        (CLUSTER + "Region task_1 * GPU FBMEM", "line 2: Region says in which memory"),
        (CLUSTER + "Layout * * * SOA C_order", "line 2: Layout says in which memory, or how, data lies"),
    ],
)
def test_a_mistake_names_line_and_cure(text: str, says: str) -> None:
    """What is refused says why."""
    with pytest.raises(Mistake) as error:
        language.read(text)
    assert str(error.value).startswith(says) and "; " in str(error.value)


def _job(placed: Placement, text: str = CLUSTER) -> Job:
    made: Mapping = language.read(text)
    return Job(made, placed, tuple(f"n{node}" for node in range(placed.nodes)))


@st.composite
def permuted(draw: st.DrawFn) -> Placement:
    """A bijection of ranks onto the seats of four nodes with four GPUs."""
    return placement.on(draw(st.permutations([node for node in range(4) for _ in range(4)])))


@settings(max_examples=60, deadline=None)
@given(permuted())
def test_host_files_and_rank_orders_are_the_mapping(placed: Placement) -> None:
    """Read back, each rank is on its node."""
    job = _job(placed)
    for target in ("slurm-hostfile", "pbs-nodefile"):
        lines = emit.written(target, job).text.split()
        assert [int(host[1:]) for host in lines] == [seat.node for seat in placed.seats]
    order = [int(rank) for rank in emit.written("mpich-order", job).text.split(",")]
    assert sorted(order) == list(range(16)) and [placed.node_of(rank) for rank in order] == sorted(
        seat.node for seat in placed.seats
    )


def test_planes_are_written_where_there_are_some() -> None:
    """And refused elsewhere, with what can carry it."""
    assert emit.written("slurm-plane", _job(placement.cyclic(4, 4))).text == "-m plane=1"
    assert emit.written("slurm-plane", _job(placement.block(4, 4))).text == "-m plane=4"
    with pytest.raises(Mistake, match="emit slurm-hostfile"):
        emit.written("slurm-plane", _job(placement.on([0, 0, 0, 1] * 2 + [1, 1, 2, 2] + [2, 2, 3, 3])))


@pytest.mark.parametrize("order", [groups.MEGATRON, groups.MEGATRON_PIPELINE_FIRST])
def test_orders_of_frameworks_keep_the_groups(order: tuple[str, ...]) -> None:
    """The words, and the mesh, make the groups of the mapping."""
    names = [name for name in order if name in ("tp", "pp", "dp")]
    text = CLUSTER + "axes tp 4, dp 2, pp 2\norder " + " < ".join(names)
    job = _job(placement.block(4, 4), text)
    assert job.mapping.mesh is not None
    words = emit.written("megatron", job).text.split()
    own = groups.MEGATRON_PIPELINE_FIRST if "--use-tp-pp-dp-mapping" in words else groups.MEGATRON
    said = dict(zip(words, words[1:]))
    sizes = {axis: int(said[f"--{name}-model-parallel-size"]) for axis, name in (("tp", "tensor"), ("pp", "pipeline"))}
    made = groups.megatron(16, sizes, own)
    found = re.search(r", (\(.*?\)), mesh_dim_names=(\(.*?\))\)", emit.written("device-mesh", job).text)
    assert made is not None and found is not None
    mesh = groups.device_mesh(ast.literal_eval(found[2]), ast.literal_eval(found[1]))
    for axis in names:
        assert made.groups(axis) == job.mapping.mesh.groups(axis) == mesh.groups(axis)


def test_an_order_that_megatron_lacks_is_refused() -> None:
    """With those that it has."""
    with pytest.raises(Mistake, match="Megatron has no order dp-tp"):
        emit.written("megatron", _job(placement.block(4, 4), CLUSTER + "axes dp 4, tp 4\norder dp < tp"))


def test_the_command_writes_files_once(maple, tmp_path: Path) -> None:
    """Hosts by leaf, in a folder; what is there is kept."""
    (tmp_path / "job.map").write_text("cluster node 4 / gpu 2\nnodes by leaf\nemit slurm-hostfile\n")
    (tmp_path / "topology.conf").write_text("SwitchName=a Nodes=n[0,2]\nSwitchName=b Nodes=n[1,3]\n")
    words = ("map", "emit", "job.map", "--hosts", "n[0-3]", "--topology", "topology.conf", "--into", ".")
    said = maple(*words)
    hosts = (tmp_path / "hosts.map").read_text().split()
    assert said.code == 0 and hosts == ["n0", "n0", "n2", "n2", "n1", "n1", "n3", "n3"]
    assert maple(*words).code != 0
