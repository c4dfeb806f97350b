"""Groups of ranks that cross nodes or leaf switches, and would not in another order: each with cause, cure and cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from maple_submit_filter.types.launch_plan import LaunchPlan, Step

from . import costs, placement, sizes, steps
from .groups import AXES, CALLED, CONTEXT, EXPERT, PIPELINE, TENSOR, Mesh
from .placement import Placement
from .sizes import Sizes
from .topology import ALL, Hardware, Machine, Network

_NOTED = 1.25  # times the communication of another order, from which on it is worth a word


class Finding(NamedTuple):
    """*kind*: "groups", "leaves", "cores", "far" or "network". *ratio*: times the communication of the cure, if known.

    *cure*: what to write instead, "" where nobody can say. *line*: of the script. *doubt*: why it is no more than
    likely, "" where it is certain.
    """

    kind: str
    line: int
    says: str
    cause: str = ""
    cure: str = ""
    ratio: float | None = None
    doubt: str = ""

    @property
    def sentence(self) -> str:
        """The whole of it in one line."""
        cost = f": about {self.ratio:.1f} times the communication" if self.ratio is not None else ""
        cause = f"; cause: {self.cause}" if self.cause else ""
        likely = f" (likely, not certain: {self.doubt})" if self.doubt else ""
        return self.says + cost + cause + (f"; {self.cure}" if self.cure else "") + likely


class Job(NamedTuple):
    """A launch line with all that is judged of it."""

    step: Step
    placed: Placement
    machine: Machine
    sizes: Sizes
    mesh: Mesh | None
    experts: Mesh | None
    joined: bool  # direct links may go beyond a node
    dealt: str = ""  # what numbers the ranks beside the launcher, as it is written

    def findings(self) -> Iterator[Finding]:
        """Yield what is wrong with its groups; none are known where no sizes are said."""
        if self.mesh is not None and self.sizes.sizes:
            yield from _of_groups(self, self.mesh)
            yield from _of_leaves(self, self.mesh)

    def ratio(self, other: Placement, machine: Machine | None = None, mesh: Mesh | None = None) -> float | None:
        """Return how much is communicated here, in times of what it would be there; None where that is not known."""
        if self.mesh is None:
            return None
        within = self.machine if machine is not None else self.machine._replace(network=Network())
        experts = self.experts if mesh is None else None
        here = costs.of_step(self.mesh, self.placed, within, self.sizes.model, experts)
        there = costs.of_step(mesh or self.mesh, other, machine or within, self.sizes.model, experts)
        return steps.ratio(here, there) if here and there else None


def too_large(step: Step, division: Sizes, plan: LaunchPlan, hardware: Hardware) -> Iterator[Finding]:
    """Yield that an axis has more parts than a node has GPUs: it crosses nodes in whatever order ranks are.

    Context axes are left alone, and expert axes of many experts: they are dealt over nodes on purpose.
    """
    gpus = hardware.gpus
    if placement.starts_ranks(step):
        room = min(filter(None, (gpus, step.groups[0].ranks_per_node)), default=None)
    elif division.framework in sizes.WHOLE_NODE and not step.maybe and not step.unknown:
        each = division.ranks // step.nodes if division.ranks and step.nodes else None
        room = gpus or plan.allocation.gpus_per_node or each or _of_ray(plan)  # a process drives all GPUs of its node
    else:
        return
    for name in (TENSOR, EXPERT):
        size = division.sizes.get(name, 1)
        if not room or size <= room or name == EXPERT and not division.few_experts(room):
            continue
        says = f"{CALLED[name]} groups of {size} cross nodes, in whatever order ranks are dealt"
        cause = f"a node has {_gpus(room)}" if room == gpus or not gpus else f"{room} ranks run on a node"
        yield Finding("groups", step.line, says, cause, _fitting(size, room))
        return


def _of_ray(plan: LaunchPlan) -> int | None:
    """Return how many GPUs each node of Ray is told to have, None where they differ or none is told."""
    started = [step.program for step in plan.steps if step.program[:2] == (b"ray", b"start")]
    counts = {word.rpartition(b"=")[2] for words in started for word in words if word.startswith(b"--num-gpus=")}
    return int(counts.pop()) if len(counts) == 1 and max(counts).isdigit() else None


def _gpus(count: int) -> str:
    return f"{count} GPUs" if count > 1 else "one GPU"


def _fitting(size: int, room: int) -> str:
    """Return how many of the parts would stay on a node, "" where only one does."""
    fits = max(parts for parts in range(1, room + 1) if size % parts == 0)
    return f"{fits} parts stay on a node" if fits > 1 else ""


def _of_groups(job: Job, mesh: Mesh) -> Iterator[Finding]:
    """Yield the first of: a group that would fit on one node and is not there, a tensor axis that cannot fit, an order
    of ranks that the axes do not count on."""
    best = _as_blocks(job.placed)
    for name, of in ((TENSOR, mesh), (EXPERT, job.experts), (CONTEXT, mesh)):
        crossing = _crossing(of, name, job.placed) if of is not None else None
        if of is None or crossing is None:
            continue
        says = f"{CALLED[name]} group {_shown(crossing)} crosses nodes"
        if best is not None and _crossing(of, name, best) is None:
            cause, cure = job.dealt or _distribution(job.step), f"{_blocks(job.step)} keeps it on one"
            cure = "without it ranks fill the nodes" if job.dealt else cure
            yield Finding("groups", job.step.line, says, cause, cure, job.ratio(best))
            return
        if not job.joined and name == TENSOR and _is_outer(job, of):
            yield _outer(job, of, says)
            return
        if not job.joined and (name == TENSOR or name == EXPERT and job.sizes.few_experts(job.placed.per_node or 0)):
            yield _too_wide(job, of, says, name)
            return
    mixed = _mixed(job, mesh, best)
    if mixed is not None:
        yield mixed


def _shown(ranks: tuple[int, ...]) -> str:
    return "{%s}" % (",".join(map(str, ranks[:8])) + (" ..." if len(ranks) > 8 else ""))


def _crossing(mesh: Mesh, name: str, placed: Placement) -> tuple[int, ...] | None:
    """Return the first group of an axis that is on several nodes."""
    return next((group for group in mesh.groups(name) if len({placed.node_of(rank) for rank in group}) > 1), None)


def _as_blocks(placed: Placement) -> Placement | None:
    """Return the same ranks filling one node after the other, None where nodes have different numbers of them."""
    return placement.block(placed.nodes, placed.per_node) if placed.per_node else None


def _too_wide(job: Job, of: Mesh, says: str, name: str) -> Finding:
    """Return that an axis has more parts than a node has ranks, or parts that do not divide them."""
    size, each = of.size(name), job.placed.per_node or 0
    fits = max((parts for parts in range(1, size + 1) if each and each % parts == 0 and size % parts == 0), default=1)
    cause = f"{size} parts on {each} ranks a node" if each else f"{size} parts"
    if fits < 2:
        return Finding("groups", job.step.line, says, cause)
    if name == EXPERT:
        return Finding("groups", job.step.line, says, cause, f"{fits} parts stay on a node")
    pipeline = of.size(PIPELINE) * size // fits
    other = job.sizes._replace(sizes={**job.sizes.sizes, TENSOR: fits, PIPELINE: pipeline}).dense(len(job.placed.seats))
    ratio = job.ratio(job.placed, mesh=other) if other is not None else None
    cure = f"{fits} parts stay on a node, with a pipeline of {pipeline}"
    return Finding("groups", job.step.line, says, cause, cure, ratio)


def _is_outer(job: Job, of: Mesh) -> bool:
    """Return whether a tensor axis that fits on a node has other axes inside."""
    size, each = of.size(TENSOR), job.placed.per_node or 0
    inner = [axis for axis in of.axes if axis.size > 1]
    return bool(each) and each % size == 0 and bool(inner) and inner[0].name != TENSOR


def _outer(job: Job, of: Mesh, says: str) -> Finding:
    """Return that the tensor axis is not the innermost one."""
    inner = Mesh(tuple(sorted(of.axes, key=lambda axis: axis.name != TENSOR)))
    order = ", ".join(axis.name for axis in reversed(of.axes) if axis.size > 1)
    ratio = job.ratio(job.placed, mesh=inner)
    return Finding("groups", job.step.line, says, f"the mesh ({order}), whose last dimension runs fastest",
                   f"{TENSOR} as the last dimension stays on a node", ratio)  # fmt: skip


def _mixed(job: Job, mesh: Mesh, best: Placement | None) -> Finding | None:
    """Return that ranks are dealt in another order than the axes count on, though no one group shows it."""
    if best is None or job.placed.how == "block" or not job.sizes.framework:
        return None
    ratio = job.ratio(best)
    if ratio is None or ratio < _NOTED:
        return None
    order = "-".join(axis.name for axis in mesh.axes if axis.size > 1)
    says = f"ranks are not dealt as the order {order} counts on"
    cause, cure = job.dealt or _distribution(job.step), f"{_blocks(job.step)} deals them so"
    return Finding("groups", job.step.line, says, cause, "leave it out" if job.dealt else cure, ratio)


def _blocks(step: Step) -> str:
    """Return the word that lets ranks fill one node after the other."""
    turned = step.links[0].option("map-by", "rank-by", "bynode") is not None
    return "--map-by slot" if step.links[0].name == "mpiexec" and turned else "-m block"


def _distribution(step: Step) -> str:
    """Return what deals the tasks to nodes, as it is written."""
    outer = step.links[0]
    for name in ("distribution", "map-by", "rank-by", "launch-distribution", "rr", "bynode", "ppn", "hostfile", "f"):
        option = outer.option(name)
        if option is not None:
            value = option.value.raw.decode("utf-8", "replace") if option.value is not None else ""
            return f"{option.spelling.decode('utf-8', 'replace')} {value}".strip()
    return "the distribution of the job" if outer.name == "srun" else ""


def _of_leaves(job: Job, mesh: Mesh) -> Iterator[Finding]:
    """Yield that the job's nodes are taken in an order that goes back and forth between leaves."""
    network, nodes = job.machine.network, job.placed.nodes
    leaves = network.leaves[:nodes]
    order = sorted(range(len(leaves)), key=lambda node: (leaves.index(leaves[node]), node))
    if len(leaves) < nodes or order == list(range(nodes)):
        return
    other = job.machine._replace(network=network._replace(leaves=tuple(leaves[node] for node in order)))
    ratio = job.ratio(job.placed, other)
    crossing = next((name for name in AXES if _wider(mesh, name, job.placed, job.machine, other)), "")
    if ratio is not None and ratio < _NOTED or ratio is None and not crossing:
        return
    what = "blocks" if network.block else "leaf switches"
    group = f"{CALLED[crossing]} groups cross" if crossing else "neighbours cross"
    says = f"nodes are taken to and fro between {len(set(leaves))} {what}, so {group} them"
    yield Finding("leaves", job.step.line, says, cure="take the hosts of a leaf one after the other", ratio=ratio)


def _wider(mesh: Mesh, name: str, placed: Placement, machine: Machine, other: Machine) -> bool:
    """Return whether groups of an axis go through the upper levels here and not there."""
    if mesh.size(name) < 2:
        return False
    first = [placed.seats[rank] for rank in mesh.groups(name)[0]]
    return machine.widest(first) == ALL and other.widest(first) != ALL
