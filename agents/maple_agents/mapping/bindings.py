"""Which cores each rank of a node is bound to, where a launch line lists them, and what is wrong with that.

Also where taskset or numactl in front of a program binds each task, as its wrapper came to it when it was played.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from maple_submit_filter.launchers.registry import AGENTS
from maple_submit_filter.types.launch_plan import Step

from .placement import Placement
from .topology import Hardware, cores

_NODE = b"node "
_LIST = re.compile(r"(?:v(?:erbose)?,|q(?:uiet)?,)?(list|map_cpu|mask_cpu):([0-9a-fA-Fx,:*-]+)\Z")


class Binding(NamedTuple):
    """*of*: the cores of each rank of a node, by local rank. *said*: as it is written. *alike*: all have the same.

    *share*: CPUs that one rank asks for, 0 not known. *nodes*: *of* are numbers of the memory's nodes, not cores.
    """

    of: tuple[frozenset[int], ...]
    said: str
    alike: bool = False
    share: int = 0
    nodes: bool = False


class Flaw(NamedTuple):
    """*kind*: "shared" or "far". *ranks*: the local ranks that it is about. *says*: a sentence."""

    kind: str
    ranks: tuple[int, ...]
    says: str


def binding(step: Step, placed: Placement, cpus: int = 0) -> Binding | None:
    """Return the cores that a launch line lists for its ranks, None where it leaves them to the launcher.

    *cpus*: what the job asks for each task, 0 not known.
    """
    each = placed.per_node
    if not each:
        return None
    for link in step.links:
        option = link.option("cpu-bind")
        text = option.value.raw.decode("ascii", "replace") if option is not None and option.value is not None else ""
        match = _LIST.match(text)
        if match is not None and option is not None:
            listed = _listed(match[1], match[2])
            words = f"--{option.name}={text}"
            return Binding(tuple(listed[rank % len(listed)] for rank in range(each)), words) if listed else None
    return _by_pin(step, placed, each, cpus)


def _listed(kind: str, text: str) -> list[frozenset[int]]:
    """Return the entries of `map_cpu:0,8`, `mask_cpu:0xff,0xff00` or PALS' `list:0-7:8-15`."""
    try:
        if kind == "list" and ":" not in text.strip(":"):
            return []  # `list:0,8,16,24` is also written for a core each
        if kind == "list":
            return [cores(entry) for entry in text.strip(":").split(":")]
        if kind == "map_cpu":
            return [frozenset((int(entry, 0),)) for entry in _repeated(text)]
        return [_mask(entry) for entry in _repeated(text)]
    except ValueError:
        return []


def _repeated(text: str) -> Iterator[str]:
    """Yield the entries of a list of srun, where `0xff*4` stands for four of them."""
    for entry in filter(None, text.split(",")):
        value, _, times = entry.partition("*")
        yield from [value] * min(int(times or 1), 1024)


def _mask(text: str) -> frozenset[int]:
    number = int(text, 16)
    return frozenset(bit for bit in range(number.bit_length()) if number >> bit & 1)


def _by_pin(step: Step, placed: Placement, each: int, cpus: int) -> Binding | None:
    """Return the cores that words in front of the program give each rank; an agent's hold for all its workers."""
    first = placed.seats[0].node
    here = [process for process in step.groups[0].processes if process.node == first]
    here.sort(key=lambda process: (process.task or 0, process.local_rank or 0))
    pins = [process.pinned for process in here if process.pinned is not None]
    if len(pins) < each or len(here) != each:
        return None
    try:
        of = tuple(_pinned_to(pin.decode("ascii", "replace")) for pin in pins)
    except ValueError:
        return None
    agent = step.workers_per_task is not None or step.links[-1].name in AGENTS
    share = 0 if agent else min(process.cpus or cpus for process in here)
    words = "taskset or numactl, " + ":".join(dict.fromkeys(pin.decode("ascii", "replace") for pin in pins))
    return Binding(of, words, len(set(of)) == 1, share, pins[0].startswith(_NODE))


def _pinned_to(text: str) -> frozenset[int]:
    """Return the cores of `0-15`; of `node 1` the node alone. Raises `ValueError` for what cannot be read."""
    return cores(text[len(_NODE) :] if text.startswith(_NODE.decode()) else text)


def flaws(bound: Binding, placed: Placement, hardware: Hardware) -> Iterator[Flaw]:
    """Yield ranks that share cores, and ranks whose cores are near another GPU than their own."""
    several = len(set(hardware.near)) > 1
    shared = _shared(bound) if several or not bound.nodes else None
    if shared is not None:
        yield shared
    elif not bound.alike and not bound.nodes:
        yield from _far(bound, placed, hardware)


def _shared(bound: Binding) -> Flaw | None:
    for local, first in enumerate(bound.of):
        others = [rank for rank, listed in enumerate(bound.of) if rank != local and listed & first]
        if first and others and (not bound.alike or len(first) < len(bound.of) or len(first) <= bound.share):
            ranks = (local, *others)
            common = sorted(first & bound.of[others[0]])
            what = f"the same node of memory ({_some(common)})" if bound.nodes else f"the same cores ({_some(common)})"
            return Flaw("shared", ranks, f"local ranks {_some(ranks)} are bound to {what}")
    return None


def _far(bound: Binding, placed: Placement, hardware: Hardware) -> Iterator[Flaw]:
    """Yield one flaw with every rank of a node that is bound near another GPU, and not near its own."""
    near = hardware.near
    seats = [seat for seat in placed.seats if seat.node == 0]  # by rank, and so by task; all may call themselves 0
    gpus = dict(enumerate(seat.gpu for seat in seats))
    if len({seat.local for seat in seats}) == len(seats):
        gpus = {seat.local: seat.gpu for seat in seats}
    known = len(near) > 1 and len(set(near)) > 1
    far = []
    for local, listed in enumerate(bound.of if known else ()):
        gpu = gpus.get(local)
        own = near[gpu] if gpu is not None and gpu < len(near) else frozenset()
        folded = _folded(listed, hardware)
        if own and folded and not folded & own and any(folded <= other for other in near):
            far.append((local, gpu, folded))
    if far:
        local, gpu, folded = far[0]
        closest = next(index for index, other in enumerate(near) if folded <= other)
        says = f"local rank {local} drives GPU {gpu}, and is bound to cores near GPU {closest}"
        more = f"; {len(far)} of {len(bound.of)} ranks of a node are" if len(far) > 1 else ""
        yield Flaw("far", tuple(rank for rank, _, _ in far), says + more)


def _folded(listed: frozenset[int], hardware: Hardware) -> frozenset[int]:
    """Return cores for CPUs: the second thread of core c is numbered c plus all cores (Linux, on the sites known)."""
    count = hardware.cores or 0
    return frozenset(cpu % count for cpu in listed) if count else listed


def nearest(placed: Placement, hardware: Hardware) -> str:
    """Return the list of PALS that binds each rank of a node near its GPU, "" where that is not known."""
    near = hardware.near
    gpus = [seat.gpu for seat in placed.seats if seat.node == 0]
    if not near or any(gpu is None or gpu >= len(near) for gpu in gpus) or len(set(gpus)) < len(gpus):
        return ""
    return ":".join(_some(sorted(near[gpu])) for gpu in gpus if gpu is not None)


def _some(numbers: tuple[int, ...] | list[int]) -> str:
    """Return numbers as `0-7,16`."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(f"{low}" if low == high else f"{low}-{high}" for low, high in runs)
