"""What each process of a node runs on: CPUs, GPU, network ports; and what of that does not go together.

One picture for all words that bind: a value is a set, or not known, and a finding needs what it speaks of to be known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from maple_submit_filter.launchers.registry import AGENTS
from maple_submit_filter.types.launch_plan import Allocation, Link, Process, Step

from . import bindings, topology
from .bindings import Binding, Cpus
from .topology import Hardware

_PORTS = re.compile(r"(\d+):(\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*)\Z")


class Task(NamedTuple):
    """One task of a node. *gpus*: the device of each rank that it is or starts, None not known; *chosen*: the line
    itself gives it that device. *cpus*, *ports*: None not known."""

    cpus: Cpus | None
    gpus: tuple[int | None, ...]
    chosen: bool = False
    ports: Cpus | None = None


class NodeTasks(NamedTuple):
    """The tasks of one node, by their number on it. *binding*: what binds them, None where nothing does."""

    tasks: tuple[Task, ...]
    binding: Binding | None


class Flaw(NamedTuple):
    """*kind*: "cores", "far" or "network". *ranks*: the local ranks that it is about. *says*: a sentence."""

    kind: str
    ranks: tuple[int, ...]
    says: str


def of_node(step: Step, given: Allocation, hardware: Hardware, ports: str = "") -> NodeTasks | None:
    """Return what the tasks of the first node run on, None where it is not known which these are.

    *ports*: MPICH_OFI_NIC_MAPPING, "" not set.
    """
    here = [process for group in step.groups for process in group.processes if process.node == 0]
    by_task: dict[int, list[Process]] = {}
    for process in here:
        by_task.setdefault(process.task or 0, []).append(process)
    if not by_task or step.tasks_per_node and len(by_task) != step.tasks_per_node:
        return None
    processes = [by_task[task] for task in sorted(by_task)]
    if not _is_agent(step) and any(len(each) > 1 for each in processes):
        return None
    tasks = bindings.tasks(processes, given.cpus_per_task or 0, given.shared is False)
    bound = bindings.binding(step.links, tasks, hardware)
    hidden = given.gpus_per_task is not None and not _is_unbound(step.links)
    gpus = _of_agents(processes) if _is_agent(step) else _of_ranks(step, processes, hardware, hidden)
    meet = all(each[0].master is not None for each in processes)  # an ensemble's members may sit where they like
    chosen = _is_agent(step) or meet and _are_chosen(step, processes)
    of = bound.of if bound is not None else (None,) * len(processes)
    near = _ports(ports)
    made = [Task(of[at], gpus[at], chosen, near.get(at)) for at in range(len(processes))]
    return NodeTasks(tuple(made), bound)


def _is_agent(step: Step) -> bool:
    return bool(step.links) and step.links[-1].name in AGENTS


def _of_agents(processes: Sequence[Sequence[Process]]) -> list[tuple[int | None, ...]]:
    """Return the device of each worker: of those that it sees, the one of its local rank."""
    return [tuple(_seen(process, process.local_rank) for process in each) for each in processes]


def _of_ranks(
    step: Step, processes: Sequence[Sequence[Process]], hardware: Hardware, hidden: bool
) -> list[tuple[int | None, ...]]:
    """Return the device of each task that is a rank: the one that is given to it, else that of its number.

    *hidden*: the scheduler chooses which device a task may see, and which that is differs by site.
    """
    given = _given(step.links)
    hidden = hidden or any(link.option("gpu-bind", "gpus-per-task") is not None for link in step.links)
    hidden = hidden and not _is_unbound(step.links)
    whole_cards = hardware.cards == len(processes) != hardware.gpus  # of cards of two devices either may be counted
    made: list[tuple[int | None, ...]] = []
    for at, each in enumerate(processes):
        if given:
            made.append((given[at % len(given)],))
        elif hidden or whole_cards and not _are_chosen(step, processes):
            made.append((None,))
        else:
            made.append((_seen(each[0], at),))
    return made


def _seen(process: Process, local: int | None) -> int | None:
    if process.gpus is None or local is None:
        return local
    seen = process.gpus
    device = seen[0] if len(seen) == 1 else seen[local] if local < len(seen) else b""
    return int(device) if device.isdigit() and len(device) < 4 else None


def _given(links: Sequence[Link]) -> list[int]:
    """Return the devices that `--gpu-bind=map_gpu:3,2,1,0` or `mask_gpu:0x8,0x4` give to the tasks in turn."""
    words = [option for link in links if (option := link.option("gpu-bind")) is not None and option.value is not None]
    text = words[-1].value.raw.decode("ascii", "replace") if words and words[-1].value is not None else ""
    kind, _, listed = text.rpartition("verbose,")[2].partition(":")
    try:
        if kind in ("map_gpu", "map"):
            return [int(entry, 0) for entry in listed.split(",")]
        if kind in ("mask_gpu", "mask"):
            masks = [int(entry, 16) for entry in listed.split(",")]
            return [mask.bit_length() - 1 for mask in masks] if all(mask.bit_count() == 1 for mask in masks) else []
    except ValueError:
        pass
    return []


def _is_unbound(links: Sequence[Link]) -> bool:
    """Return whether `--gpu-bind=none` leaves every task all devices of its node."""
    options = [option for link in links if (option := link.option("gpu-bind")) is not None]
    return bool(options) and all(option.value is not None and option.value.raw == b"none" for option in options)


def _are_chosen(step: Step, processes: Sequence[Sequence[Process]]) -> bool:
    """Return whether the line itself, or a wrapper, gives each task one device of its own."""
    each = [process[0].gpus for process in processes]
    single = all(gpus is not None and len(gpus) == 1 for gpus in each) and len(set(each)) == len(each) > 1
    return bool(_given(step.links)) or single


def _ports(text: str) -> dict[int, Cpus]:
    """Return the network port of each local rank as Cray MPICH is told: `0:0-3; 1:4-7`, ports before ranks."""
    made: dict[int, Cpus] = {}
    for entry in filter(None, re.split(r"\s*;\s*", text.strip())):
        match = _PORTS.match(entry)
        if match is None:
            return {}
        for rank in topology.cores(match[2]):
            made[rank] = Cpus((int(match[1]),))
    return made


def flaws(node: NodeTasks, hardware: Hardware) -> Iterator[Flaw]:
    """Yield what does not go together: tasks on the same cores, too few of them, or far from GPU and network port."""
    bound = node.binding
    if bound is not None:
        found = list(_shared(bound, node, hardware)) or list(_narrow(bound, node))
        yield from found or _far(bound, node, hardware) or _split(bound, node, hardware)
    yield from _far_ports(node, hardware)


def _shared(bound: Binding, node: NodeTasks, hardware: Hardware) -> Iterator[Flaw]:
    """Yield the first tasks that are on the same cores and should not be."""
    if not bound.listed:
        return  # a policy knows what it does
    share = 0 if any(len(task.gpus) > 1 for task in node.tasks) else bound.share
    parts = len(set(hardware.near))
    for at, first in enumerate(bound.of):
        others = [other for other, cpus in enumerate(bound.of) if other != at and cpus and first and cpus & first]
        if not first or not others:
            continue
        if bound.wide and (parts < 2 or (len(others) + 1) * parts < len(bound.of) + parts):
            continue  # a domain is there for all ranks whose GPUs are near it
        enough = len(first) >= len(bound.of) and len(first) > share if bound.own else len(first) == hardware.cores
        if not bound.wide and bound.alike and enough:
            continue
        common = sorted(first & (bound.of[others[0]] or first))
        what = f"the same node of memory ({some(common)})" if bound.domains else f"the same cores ({some(common)})"
        yield Flaw("cores", (at, *others), f"local ranks {some((at, *others))} are bound to {what}")
        return


def _narrow(bound: Binding, node: NodeTasks) -> Iterator[Flaw]:
    """Yield a task whose workers are more than the cores that they have together."""
    for at, task in enumerate(node.tasks):
        count = len(task.cpus) if task.cpus is not None and not bound.domains else bound.room
        if count and len(task.gpus) > max(count, 1):
            few = f"{count} cores" if count > 1 else "one core"
            yield Flaw("cores", (at,), f"{len(task.gpus)} workers of a node are bound to {few} together")
            return


def _far(bound: Binding, node: NodeTasks, hardware: Hardware) -> list[Flaw]:
    """Return one flaw with every rank of a node that is bound near another GPU, and not near its own."""
    near, far = hardware.near, []
    if len(set(near)) < 2 or bound.domains or not bound.listed and not all(task.chosen for task in node.tasks):
        return []
    if bound.alike and len(node.tasks) > 1:
        return []
    ranks = [(task, gpu) for task in node.tasks for gpu in task.gpus]
    for local, (task, gpu) in enumerate(ranks):
        own = near[gpu] if gpu is not None and gpu < len(near) else Cpus()
        folded = _folded(task.cpus, hardware)
        if own and folded and not folded & own and any(folded & other for other in near):
            far.append((local, gpu, folded))
    if not far:
        return []
    local, gpu, folded = far[0]
    closest = next(index for index, other in enumerate(near) if folded & other)
    says = f"local rank {local} drives GPU {gpu}, and is bound to cores near GPU {closest}"
    more = f"; {len(far)} of {len(ranks)} ranks of a node are" if len(far) > 1 else ""
    return [Flaw("far", tuple(rank for rank, _, _ in far), says + more)]


def _split(bound: Binding, node: NodeTasks, hardware: Hardware) -> list[Flaw]:
    """Return that a rank's listed cores run on from one socket into the next, while those of others do not."""
    sockets = hardware.of_sockets()
    if not bound.listed or len(sockets) < 2 or len(node.tasks) < 2 or bound.domains or len(set(hardware.near)) < 2:
        return []
    over = []
    for at, task in enumerate(node.tasks):
        folded = _folded(task.cpus, hardware)
        if any(max(socket) in folded and max(socket) + 1 in folded for socket in sockets[:-1]):
            over.append((at, folded))
    if not over or len(over) == len(node.tasks) or any(len(task.gpus) > 1 for task in node.tasks):
        return []
    at, folded = over[0]
    return [Flaw("far", (at,), f"local rank {at} is bound to cores of two sockets ({some(sorted(folded))})")]


def _far_ports(node: NodeTasks, hardware: Hardware) -> Iterator[Flaw]:
    """Yield ranks whose network port is beside another GPU than their own."""
    beside = hardware.gpu_ports
    far = [
        (at, gpu, task.ports)
        for at, task in enumerate(node.tasks)
        for gpu in task.gpus
        if task.ports and gpu is not None and gpu < len(beside) and beside[gpu] not in task.ports
    ]
    if far:
        at, gpu, ports = far[0]
        says = f"local rank {at} drives GPU {gpu} beside network port {beside[gpu]}, and uses {some(sorted(ports))}"
        more = f"; {len(far)} of {len(node.tasks)} ranks of a node use a far one" if len(far) > 1 else ""
        yield Flaw("network", tuple(rank for rank, _, _ in far), says + more)


def _folded(cpus: Cpus | None, hardware: Hardware) -> Cpus:
    """Return cores for CPUs: the second thread of core c is numbered c plus all cores (Linux, on the sites known)."""
    count = hardware.cores or 0
    return Cpus(cpu % count for cpu in cpus or ()) if count else cpus or Cpus()


def nearest(gpus: Sequence[int | None], hardware: Hardware) -> str:
    """Return the list of PALS that binds each rank of a node near its GPU, "" where that is not known."""
    near = hardware.near
    if not near or len(set(gpus)) < len(gpus) or any(gpu is None or gpu >= len(near) for gpu in gpus):
        return ""
    return ":".join(some(sorted(near[gpu])) for gpu in gpus if gpu is not None)


def some(numbers: Sequence[int]) -> str:
    """Return numbers as `0-7,16`."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(f"{low}" if low == high else f"{low}-{high}" for low, high in runs)
