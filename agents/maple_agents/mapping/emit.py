"""A mapping written for those who carry it out: files and options, each with what it must be used with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from . import groups
from .bindings import nearest
from .language import Mapping, Mistake
from .placement import Placement
from .topology import Hardware


class Written(NamedTuple):
    """*name*: of the file, "" where there is none. *text*: its content, or the options. *use*: how it is used."""

    name: str
    text: str
    use: str


class Job(NamedTuple):
    """What is written of: a mapping, its ranks, and the hosts in the order of its nodes."""

    mapping: Mapping
    placed: Placement
    hosts: tuple[str, ...]
    hardware: Hardware = Hardware()


def written(target: str, job: Job) -> Written:
    """Return one target of a mapping; raises `Mistake` where it cannot carry this mapping."""
    if len(job.hosts) < job.placed.nodes:
        raise Mistake(f"{job.placed.nodes} nodes, and {len(job.hosts)} hosts are known; say --hosts, or nodes list")
    return _TARGETS[target](job)


def ordered(hosts: Sequence[str], leaves: Sequence[str], by: str) -> tuple[str, ...]:
    """Return hosts as a mapping wants them: those of a leaf one after the other, or as they are."""
    if by != "leaf" or len(leaves) < len(hosts):
        return tuple(hosts)
    first = {leaf: index for index, leaf in reversed(list(enumerate(leaves)))}
    order = sorted(range(len(hosts)), key=lambda index: (first[leaves[index]], index))
    return tuple(hosts[index] for index in order)


def _of_ranks(job: Job) -> str:
    return "".join(job.hosts[seat.node] + "\n" for seat in job.placed.seats)


def _slurm_hostfile(job: Job) -> Written:
    use = f"SLURM_HOSTFILE=hosts.map srun -m arbitrary --ntasks={len(job.placed.seats)}"
    return Written("hosts.map", _of_ranks(job), use)


def _slurm_plane(job: Job) -> Written:
    width = plane(job.placed)
    if width is None:
        raise Mistake("the mapping deals no equal planes to the nodes; emit slurm-hostfile")
    each = job.placed.per_node
    return Written("", f"-m plane={width}", f"srun -m plane={width} --ntasks-per-node={each}")


def plane(placed: Placement) -> int | None:
    """Return how many ranks a node is dealt at a time, where that is the same in each round; None where it is not."""
    nodes = [seat.node for seat in placed.seats]
    width = next((at for at, node in enumerate(nodes) if node != nodes[0]), len(nodes))
    count = len(nodes) // width
    even = len(nodes) % width == 0 and all(nodes[at] == (at // width) % placed.nodes for at in range(len(nodes)))
    return width if even and count % placed.nodes == 0 else None


def _mpich_order(job: Job) -> Written:
    slots = sorted(job.placed.seats, key=lambda seat: (seat.node, seat.local))
    text = ",".join(str(seat.rank) for seat in slots) + "\n"
    return Written("MPICH_RANK_ORDER", text, "export MPICH_RANK_REORDER_METHOD=3, the file in the working directory")


def _pals(job: Job) -> Written:
    listed = nearest(job.placed, job.hardware)
    if not listed:
        raise Mistake("which cores are near which GPU is not known here; say --site, or --lstopo")
    return Written("", f"--cpu-bind list:{listed}", f"mpiexec --ppn {job.placed.per_node} --cpu-bind list:{listed}")


def _pbs_nodefile(job: Job) -> Written:
    use = f"mpiexec -f nodes.map -n {len(job.placed.seats)} (Hydra), or --hostfile nodes.map (PALS, Open MPI)"
    return Written("nodes.map", _of_ranks(job), use)


def _megatron(job: Job) -> Written:
    """The ranks of its order; another one it cannot be told."""
    axes = tuple(axis.name for axis in _mesh(job).axes if axis.size > 1)
    for order, option in ((groups.MEGATRON, ""), (groups.MEGATRON_PIPELINE_FIRST, "--use-tp-pp-dp-mapping")):
        if axes == tuple(name for name in order if name in axes):
            names = {"tp": "tensor-model", "pp": "pipeline-model", "cp": "context", "ep": "expert-model"}
            words = [f"--{names[one]}-parallel-size {_mesh(job).size(one)}" for one in axes if one in names]
            return Written("", " ".join(filter(None, [*words, option])), "behind pretrain_gpt.py, with ranks as mapped")
    raise Mistake(f"Megatron has no order {'-'.join(axes)}; take {'-'.join(groups.MEGATRON)} and another map")


def _device_mesh(job: Job) -> Written:
    axes = [axis for axis in reversed(_mesh(job).axes) if axis.size > 1]
    shape, names = tuple(axis.size for axis in axes), tuple(axis.name for axis in axes)
    text = f'init_device_mesh("cuda", {shape!r}, mesh_dim_names={names!r})'
    return Written("", text, "the last dimension runs fastest")


def _mesh(job: Job) -> groups.Mesh:
    if job.mapping.mesh is None:
        raise Mistake("no axes are said; write: axes pp 2, dp 8, tp 8")
    return job.mapping.mesh


def _torchrun(job: Job) -> Written:
    each = job.placed.per_node
    if each is None or plane(job.placed) != each:
        raise Mistake("torchrun gives each node ranks that follow each other; write: map block")
    text = "".join(f"{host} --node-rank={rank}\n" for rank, host in enumerate(job.hosts[: job.placed.nodes]))
    common = f"--nnodes={job.placed.nodes} --nproc-per-node={each} --master-addr={job.hosts[0]} --master-port=29500"
    return Written("node-ranks.map", text, f"on each host: torchrun {common} with its --node-rank")


def _numa(job: Job) -> Written:
    return Written("", "--numa-binding=node", "torchrun --numa-binding=node: each rank near the GPU of its number")


_TARGETS: dict[str, Callable[[Job], Written]] = {
    "slurm-hostfile": _slurm_hostfile,
    "slurm-plane": _slurm_plane,
    "mpich-order": _mpich_order,
    "pals-cpu-bind": _pals,
    "pbs-nodefile": _pbs_nodefile,
    "megatron": _megatron,
    "device-mesh": _device_mesh,
    "torchrun-static": _torchrun,
    "numa-binding": _numa,
}
