"""A mapping written for those who carry it out: files and options, each with what it must be used with.

A mapping file is read, put on hosts, and written as it asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ..base.complaint import Complaint
from . import groups, language, proposals, topology, tuning
from .language import Mapping, Mistake
from .node.resources import nearest
from .placement import Placement
from .question import hosts as listed
from .topology import Hardware, Network
from .tuning import Trial


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
    listed = nearest([seat.gpu for seat in job.placed.seats if seat.node == 0], job.hardware)
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
            words = [f"--{names[axis]}-parallel-size {_mesh(job).size(axis)}" for axis in axes if axis in names]
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


def emitted(name: str, hosts: str, network: str, lstopo: str) -> Iterator[tuple[str, Written]]:
    """Yield each target that a mapping file names, written; raises `Complaint` where it cannot be."""
    try:
        mapping = language.read(_text(name))
        if not mapping.emits:
            raise Mistake("it says nothing to write; add: emit slurm-hostfile")
        job = Job(mapping, mapping.placement(), _hosts(mapping, hosts, network), _hardware(lstopo))
        for target in mapping.emits:
            yield target, written(target, job)
    except Mistake as error:
        wrong, _, todo = str(error).partition("; ")
        raise Complaint(f"{name}: {wrong}", todo) from error


def tuned(name: str, hosts: str, network: str) -> tuple[list[Trial], float]:
    """Return every way of ordering and dealing, the best first, and the estimate of what the file says.

    Where leaves are unlike, an order of nodes that a search found comes before them.
    """
    try:
        mapping = language.read(_text(name))
        leaves = _leaves(mapping, hosts, network)
        trials = tuning.trials(mapping, leaves)
        if tuning.is_irregular(leaves):
            better = tuning.searched(
                mapping, leaves, trials[0], _hosts(mapping._replace(by="as-given"), hosts, network)
            )
            trials = trials if better == trials[0] else [better, *trials]
        return trials, tuning.as_written(mapping, leaves)
    except Mistake as error:
        wrong, _, todo = str(error).partition("; ")
        raise Complaint(f"{name}: {wrong}", todo) from error


def asked(name: str, hosts: str, network: str) -> proposals.Job:
    """Return the job of a mapping file as a model is asked about it; raises `Complaint` where it says too little."""
    try:
        text = _text(name)
        mapping = language.read(text)
        named = _hosts(mapping._replace(by="as-given"), hosts, network)
        job = proposals.of_estimate(text, named, _leaves(mapping, hosts, network))
        job.judge(mapping._replace(by="as-given", hosts=()))
        return job
    except Mistake as error:
        wrong, _, todo = str(error).partition("; ")
        raise Complaint(f"{name}: {wrong}", todo) from error


def _leaves(mapping: Mapping, hosts: str, network: str) -> tuple[str, ...]:
    """Return the leaf of each node: of the network that is told, else as the cluster has them, one after the other."""
    if not network:
        below = mapping.levels.get("node", 1)
        return tuple(f"leaf{node // below}" for node in range(mapping.nodes)) if "leaf" in mapping.levels else ()
    try:
        named = listed(hosts) if hosts else mapping.hosts
        known = topology.network_of(_text(network), named)
    except ValueError as error:
        raise Mistake(f"{network}: {error}; take what scontrol show topology prints") from error
    if len(known.leaves) != mapping.nodes:
        raise Mistake(f"{network} has {len(known.leaves)} of {mapping.nodes} hosts; say the job's own with --hosts")
    return known.leaves


def _hosts(mapping: Mapping, words: str, network: str) -> tuple[str, ...]:
    """Return the hosts in the order of the mapping's nodes; numbered ones where nobody names them."""
    named = listed(words) if words else mapping.hosts or tuple(f"node{index}" for index in range(mapping.nodes))
    if mapping.by != "leaf":
        return named
    if not network:
        raise Mistake("nodes by leaf wants the network; say --topology, with --hosts")
    try:
        known = topology.network_of(_text(network), named)
    except ValueError as error:
        raise Mistake(f"{network}: {error}; take what scontrol show topology prints") from error
    if known == Network():
        raise Mistake(f"not all hosts stand in {network}; say the job's own hosts with --hosts")
    return ordered(named, known.leaves, "leaf")


def _hardware(name: str) -> Hardware:
    try:
        return topology.of_lstopo(_text(name)) if name else Hardware()
    except ValueError as error:
        raise Mistake(f"{name}: {error}; write it on a node of the job") from error


def _text(name: str) -> str:
    try:
        with open(name, errors="replace") as file:
            return file.read()
    except OSError as error:
        raise Mistake(f"{error.strerror}: {name}; name a file that can be read") from error
