"""What of a job's ranks is on the wrong hardware: each finding with its cause, its cure, and what it costs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from maple_submit_filter.rules.program_text import is_rank
from maple_submit_filter.types.launch_plan import LaunchPlan, Step

from . import placement, size_files, sizes
from .crossings import Finding, Job, too_large
from .groups import TENSOR, Mesh
from .node import flaws, network_settings, resources
from .node.flaws import Flaw
from .node.network_settings import Use
from .node.resources import NodeTasks
from .placement import Placement, Unplaced
from .size_files import Reads
from .sizes import Sizes
from .topology import SHARED, Hardware, Machine, Network

# What is said of racks whose GPUs are joined by direct links beyond a node.
_RACK = re.compile(rb"MNNVL|\bIMEX\b|NVL\d{2,3}|\bGB[23]00|\bgb[23]00|--segment|NCCL_NVLS_ENABLE=1|nvidia-imex")


class Judged(NamedTuple):
    """One launch line: its groups on its nodes, and what is wrong. *note*: why nothing, or not all, is known."""

    line: int
    placed: Placement | None
    mesh: Mesh | None
    experts: Mesh | None
    findings: tuple[Finding, ...]
    note: str = ""
    sizes: Sizes | None = None


def judged(
    plan: LaunchPlan,
    source: bytes,
    machine: Machine,
    likely: LaunchPlan | None = None,
    read: Reads = size_files.nothing,
) -> tuple[Judged, ...]:
    """Return what is to be said of each launch line of a job. *read*: a file beside the script.

    *likely*: the plan in which nothing that is unread changes anything; it counts for lines that are not known else.
    """
    lines = [_step(step, plan, source, machine, read) for step in plan.steps if step.links]
    known = {line.line for line in lines if line.findings or line.placed is not None and line.sizes is not None}
    others = [_step(step, likely, source, machine, read) for step in likely.steps if step.links] if likely else []
    more = {line.line: _as_likely(line, likely) for line in others if line.findings and line.line not in known}
    lines = [more.pop(line.line, line) for line in lines]
    lines += _one_by_one(plan, source, machine.hardware)
    return tuple(sorted([*lines, *more.values()], key=lambda line: line.line))


def _one_by_one(plan: LaunchPlan, source: bytes, hardware: Hardware) -> list[Judged]:
    """Return lines that start ranks one after the other, where these do not go together."""
    tasks = [(step, tuple(_of_resources(step, plan, source, hardware))) for step in flaws.one_by_one(plan)]
    return [Judged(step.line, None, None, None, findings) for step, findings in tasks if findings]


def _as_likely(line: Judged, plan: LaunchPlan | None) -> Judged:
    """Return what is judged of a line with the reason why it is no more than likely."""
    at, why = next(iter(plan.unread), (0, "")) if plan is not None else (0, "")
    why = f"line {at}, {why}" if at else why or "what is loaded and sourced here is not known"
    return line._replace(findings=tuple(finding._replace(doubt=why) for finding in line.findings))


def _step(step: Step, plan: LaunchPlan, source: bytes, machine: Machine, read: Reads) -> Judged:
    step = flaws.behind_unread(step)
    division = sizes.read(step.program, size_files.of_step(step, plan, source, read))
    placed = placement.placement(step, b"RANK" in plan.assigned, plan.presumes)
    placed = placement.by_host_file(step, plan) or placement.by_rank_file(step, plan) or placed
    method = placement.method(plan, source)
    placed = placement.renumbered(step, placed, method)
    joined = _joined(machine, source)
    tasks = flaws.workers(step, plan, source, read) or step
    hardware = machine.hardware
    if isinstance(placed, Unplaced):
        wide = tuple(too_large(step, division, plan, hardware)) if division is not None and not joined else ()
        wide = wide or tuple(_in_any_order(step, placed, division, machine, joined))
        others = (*_of_resources(tasks, plan, source, hardware), *_of_settings(step, plan, source, hardware))
        return Judged(step.line, None, None, None, wide + others, _why(placed, division), division)
    world = len(placed.seats)
    mesh, experts = (division.dense(world), division.experts(world)) if division is not None else (None, None)
    job = Job(step, placed, machine, division or sizes.sizes_of(""), mesh, experts, joined, _dealt(method, step, plan))
    findings = [
        *job.findings(),
        *_of_resources(tasks, plan, source, hardware),
        *_of_settings(step, plan, source, hardware, _together(mesh, placed) if mesh is not None else 1),
    ]
    return Judged(step.line, placed, mesh, experts, tuple(findings), sizes=division)


def _in_any_order(
    step: Step, placed: Unplaced, division: Sizes | None, machine: Machine, joined: bool
) -> Iterator[Finding]:
    """Yield groups that cross nodes at a rendezvous, where each agent's ranks follow each other.

    Which node comes first is open there, and changes nothing of which ranks share one.
    """
    if not placed.static or division is None or not placement.starts_ranks(step):
        return
    group = step.groups[0]
    if group.nodes and group.ranks_per_node and group.world_size == group.nodes * group.ranks_per_node:
        met = placement.block(group.nodes, group.ranks_per_node)
        world = len(met.seats)
        alone = machine._replace(network=Network())
        yield from Job(step, met, alone, division, division.dense(world), division.experts(world), joined).findings()


def _joined(machine: Machine, source: bytes) -> bool:
    """Return whether direct links go beyond a node, as in a rack of NVL72; where no facts tell, whether the script
    speaks of such a rack.
    """
    hardware = machine.hardware
    if hardware.domain and hardware.gpus:
        return hardware.domain > hardware.gpus
    return not hardware.gpus and _RACK.search(source) is not None


def _why(unplaced: Unplaced, division: Sizes | None) -> str:
    """Return why ranks are not known; where they would be with static rendezvous and it matters, how."""
    if unplaced.static and division is not None:
        return unplaced.why + "; with --node-rank=$SLURM_NODEID, --master-addr and --master-port it is static"
    return unplaced.why


def _dealt(method: int | None, step: Step, plan: LaunchPlan) -> str:
    """Return what numbers the ranks beside the launcher: Cray MPICH, or the script's own count of RANK."""
    if method in (0, 2):
        return f"{placement.NAME}={method}"
    own = [process.rank != process.task for group in step.groups for process in group.processes]
    agent = step.workers_per_task is not None
    return "RANK as the script counts it" if b"RANK" in plan.assigned and any(own) and not agent else ""


def _of_resources(step: Step, plan: LaunchPlan, source: bytes, hardware: Hardware) -> Iterator[Finding]:
    """Yield what of a node's CPUs, GPUs and network ports does not go together for the ranks on it."""
    unread = placement.behind_wrapper(step) and any(each.pinned for group in step.groups for each in group.processes)
    if step.maybe or step.unknown or not is_rank(step) and not unread:
        return
    node = tasks_of(step, plan, source, hardware)
    if node is not None:
        doubt = f"what {step.program[0].decode('utf-8', 'replace')} does is not known" if unread else ""
        values = {name: network_settings.value(plan, source, name.encode()) for name in resources.SAID}
        for flaw in flaws.flaws(node, hardware):
            yield _told(flaw, node, step, values, hardware)._replace(doubt=doubt)


def tasks_of(step: Step, plan: LaunchPlan, source: bytes, hardware: Hardware) -> NodeTasks | None:
    """Return what the tasks of a launch line's first node run on, None where that is not known."""
    values = {name: network_settings.value(plan, source, name.encode()) for name in resources.SAID}
    return resources.of_node(step, plan.allocation, hardware, {name: value for name, value in values.items() if value})


def _told(flaw: Flaw, node: NodeTasks, step: Step, values: Mapping[str, str], hardware: Hardware) -> Finding:
    """Return a flaw with what makes it, and what to write instead."""
    if flaw.kind == "network":
        names = [name for name in (resources.PORTS, resources.POLICY) if values[name]] or ["FI_CXI_DEVICE_NAME"]
        cure = f"{resources.POLICY}=GPU finds the near one"
        cure = "bind each rank to cores of one" if node.policy == "NUMA" else cure
        cure = "leave it out: the near one is found" if names[0].startswith("FI_") else cure
        return Finding(
            "network", step.line, flaw.says, "=".join((names[0], values.get(names[0], ""))).rstrip("="), cure
        )
    near = resources.nearest([gpu for task in node.tasks for gpu in task.gpus], hardware)
    cure = f"near their GPUs: {near}" if near and len(near) < 120 else "give each rank cores of its own"
    if "workers" in flaw.says:
        by_mpi = step.links[0].name == "mpiexec"
        cure = "--bind-to none leaves them all cores" if by_mpi else "--cpus-per-task gives the task more"
    words = node.binding.written if node.binding is not None else ""
    return Finding(flaw.kind, step.line, flaw.says, words if len(words) < 80 else words[:77] + "...", cure)


def _of_settings(
    step: Step, plan: LaunchPlan, source: bytes, hardware: Hardware, together: int = 1
) -> Iterator[Finding]:
    """Yield settings of the network that contradict the site's nodes. *together*: tensor-parallel ranks on a node."""
    if step.maybe or step.unknown or not is_rank(step) and not placement.behind_wrapper(step):
        return
    each = step.groups[0].ranks_per_node if len(step.groups) == 1 else None
    use = Use(step.nodes or 1, together, (each if step.workers_per_task else step.tasks_per_node) or 0)
    for contradiction in network_settings.contradictions(source, plan.assigned, hardware, use):
        yield Finding("network", contradiction.line, contradiction.says, cure=contradiction.cure)
    for name, value in network_settings.handed(step.links):
        judged = network_settings.judged(name, value, hardware, use)
        if judged is not None:
            yield Finding("network", step.line, f"{name}={value}: {judged[0]}", cure=judged[1])


def _together(mesh: Mesh, placed: Placement) -> int:
    """Return the most ranks of one tensor-parallel group that are on one node."""
    return max(Counter(placed.node_of(rank) for rank in mesh.groups(TENSOR)[0]).values())


def widest(mesh: Mesh, placed: Placement, machine: Machine) -> dict[str, tuple[str, int]]:
    """Return, for each axis, the widest thing that any of its groups crosses, and how many groups do."""
    crossings: dict[str, tuple[str, int]] = {}
    for axis in mesh.axes:
        if axis.size < 2:
            continue
        crossed = [machine.widest([placed.seats[rank] for rank in group]) for group in mesh.groups(axis.name)]
        most = max(crossed, key=SHARED.index)
        crossings[axis.name] = (most, crossed.count(most))
    return crossings
