"""What each process of a node runs on: CPUs, GPU, network ports.

One picture for all words that bind: a value is a set, or not known, and a finding needs what it speaks of to be known.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from maple_submit_filter.launchers.registry import AGENTS
from maple_submit_filter.types.launch_plan import Allocation, Link, Process, Step

from .. import topology
from ..topology import Hardware
from . import bindings
from .bindings import Binding
from .cpu_lists import Cpus

PORTS = "MPICH_OFI_NIC_MAPPING"
POLICY = "MPICH_OFI_NIC_POLICY"
SAID = (PORTS, POLICY, "SLURM_CPU_BIND", "I_MPI_PIN_PROCESSOR_LIST")
_DEVICE = re.compile(rb"cxi(\d{1,2})\Z")
_PORTS = re.compile(r"(\d+):(\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*)\Z")


class Task(NamedTuple):
    """One task of a node. *gpus*: the device of each rank that it is or starts, None not known; *chosen*: the line
    itself gives it that device. *cpus*, *ports*: None not known."""

    cpus: Cpus | None
    gpus: tuple[int | None, ...]
    chosen: bool = False
    ports: Cpus | None = None


class NodeTasks(NamedTuple):
    """The tasks of one node, by their number on it. *binding*: what binds them, None where nothing does, or nobody
    knows; *free*: surely nothing does. *policy*: how Cray MPICH takes a network port, "" its own way."""

    tasks: tuple[Task, ...]
    binding: Binding | None
    free: bool = False
    policy: str = ""


def of_node(
    step: Step, given: Allocation, hardware: Hardware, values: Mapping[str, str] | None = None
) -> NodeTasks | None:
    """Return what the tasks of the first node run on, None where it is not known which these are.

    *values*: the script's own values of the variables in `SAID`.
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
    values = values or {}
    tasks = bindings.tasks(processes, given.cpus_per_task or 0, given.shared is False, values)
    bound = bindings.binding(step.links, tasks, hardware)
    hidden = given.gpus_per_task is not None and not _is_unbound(step.links)
    gpus = _of_agents(processes) if _is_agent(step) else _of_ranks(step, processes, hardware, hidden)
    meet = all(each[0].master is not None for each in processes)  # an ensemble's members may sit where they like
    chosen = _is_agent(step) or meet and _are_chosen(step, processes)
    of = bound.of if bound is not None else (None,) * len(processes)
    near = _ports(values.get(PORTS, "")) or _devices(processes)
    made = [Task(of[at], gpus[at], chosen, near.get(at)) for at in range(len(processes))]
    return NodeTasks(tuple(made), bound, bindings.is_free(step.links, tasks), values.get(POLICY, "").upper())


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


def _devices(processes: Sequence[Sequence[Process]]) -> dict[int, Cpus]:
    """Return the port that each task names for itself, as a wrapper tells it; nothing where all name the same."""
    named = [_DEVICE.match(dict(each[0].placing).get(b"FI_CXI_DEVICE_NAME", b"")) for each in processes]
    made = {at: Cpus((int(match[1]),)) for at, match in enumerate(named) if match is not None}
    return made if len(set(made.values())) > 1 else {}


def nearest(gpus: Sequence[int | None], hardware: Hardware) -> str:
    """Return the list of PALS that binds each rank of a node near its GPU, "" where that is not known."""
    near = hardware.near
    if not near or len(set(gpus)) < len(gpus) or any(gpu is None or gpu >= len(near) for gpu in gpus):
        return ""
    return ":".join(some(sorted(near[gpu])) for gpu in gpus if gpu is not None)


def shares(gpus: Sequence[int | None], hardware: Hardware) -> list[Cpus]:
    """Return cores of its own for each rank of a node, near its GPU; [] where not all of that is known."""
    near = hardware.near
    if not near or len(set(gpus)) < len(gpus) or any(gpu is None or gpu >= len(near) for gpu in gpus):
        return []
    beside = [near[gpu] for gpu in gpus if gpu is not None]
    made = []
    for at, cores in enumerate(beside):
        free, count = sorted(cores - hardware.reserved), beside.count(cores)
        each, before = len(free) // count, beside[:at].count(cores)
        made.append(Cpus(free[before * each : before * each + each]))
    return made if all(made) else []


def some(numbers: Sequence[int]) -> str:
    """Return numbers as `0-7,16`."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(f"{low}" if low == high else f"{low}-{high}" for low, high in runs)
