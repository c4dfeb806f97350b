"""To which CPUs a launch line binds the tasks of a node: by list, by NUMA domain, by policy, by a word in front.

Read: srun's --cpu-bind, PALS' --cpu-bind with --depth, --bind-to and --map-by of Open MPI and Hydra, and the pins of
taskset and numactl as their wrapper came to them when it was played. The innermost word counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from maple_submit_filter.types.launch_plan import Link, Process

from .. import topology
from ..topology import Hardware
from . import cpu_lists
from .cpu_lists import Cpus

_NODE = "node "
_WORDS = re.compile(r"(?:(?:v(?:erbose)?|q(?:uiet)?),)*([a-z_]+)(?::([0-9a-fA-Fx,:*-]+))?\Z", re.IGNORECASE)


class Binding(NamedTuple):
    """*of*: the CPUs of each task of a node, in order; None not known. *written*: its words.

    *room*: how many CPUs each has where they are not known. *listed*: somebody chose them one by one. *share*: CPUs
    that a task asks for, 0 not known. *wide*: to whole NUMA domains, which several may share; *domains*: *of* are the
    numbers of these, whose cores are not known. *own*: the word stands in front of the program, not on its launcher.
    """

    of: tuple[Cpus | None, ...]
    written: str
    listed: bool = False
    room: int | None = None
    share: int = 0
    wide: bool = False
    domains: bool = False
    own: bool = False

    @property
    def alike(self) -> bool:
        """Whether all tasks have the same CPUs."""
        return len(set(self.of)) == 1


class Tasks(NamedTuple):
    """The tasks of one node. *pins*: what a word in front of each one's program binds it to. *cpus*: that each asks
    for, 0 not known. *whole*: the job has the node for itself. *variables*: those that bind in a launcher's place."""

    pins: tuple[str | None, ...]
    cpus: int
    whole: bool
    variables: Mapping[str, str] = {}

    @property
    def number(self) -> int:
        """How many there are."""
        return len(self.pins)


def tasks(
    processes: Sequence[Sequence[Process]], cpus: int, whole: bool, values: Mapping[str, str] | None = None
) -> Tasks:
    """Return the tasks of a node, each with its processes. *cpus*: what the job asks for each, 0 not known."""
    pins = tuple(each[0].pinned.decode("ascii", "replace") if each[0].pinned else None for each in processes)
    if not any(pins):
        pins = tuple(cpu_lists.of_openmp(dict(each[0].placing)) for each in processes)
    return Tasks(pins, min(each[0].cpus or cpus for each in processes), whole, values or {})


def binding(links: Sequence[Link], of: Tasks, hardware: Hardware) -> Binding | None:
    """Return to what the tasks are bound, None where nothing binds them or it is not known to what."""
    if any(of.pins):
        return _by_pins(of, hardware)
    for link in reversed(links):
        option = link.option("cpu-bind")
        if option is not None and option.value is not None:
            text = option.value.raw.decode("ascii", "replace")
            match = _WORDS.match(text)
            made = _by_word(match[1].lower(), match[2] or "", link, of, hardware) if match is not None else None
            return made._replace(written=f"--{option.name}={text}") if made is not None else None
        if link.option("bind-to") is not None:
            return _by_mpi(link, of, hardware)
        named = _by_variable(link, of, hardware)
        if named is not None:
            return named
        if link.name == "srun" and link.option("hint") is None:
            return _shares(link, of, hardware, automatic=True)
    return None


def is_free(links: Sequence[Link], of: Tasks) -> bool:
    """Return whether surely nothing binds the tasks: the launcher is told so, and no word stands in front of them."""
    option = next((option for link in reversed(links) if (option := link.option("cpu-bind")) is not None), None)
    free = option is not None and option.value is not None and option.value.raw.rpartition(b",")[2] == b"none"
    return free and not any(of.pins)


_VARIABLES = {"SLURM_CPU_BIND": "srun", "I_MPI_PIN_PROCESSOR_LIST": "mpiexec"}


def _by_variable(link: Link, of: Tasks, hardware: Hardware) -> Binding | None:
    """Return what a variable binds to where the line itself says nothing."""
    for name, value in of.variables.items():
        if _VARIABLES.get(name) != link.name:
            continue
        if name == "SLURM_CPU_BIND":
            match = _WORDS.match(value)
            made = _by_word(match[1].lower(), match[2] or "", link, of, hardware) if match is not None else None
        else:
            each = cpu_lists.one_each(value)
            made = Binding(tuple(each[task % len(each)] for task in range(of.number)), "", True) if each else None
        if made is not None:
            return made._replace(written=f"{name}={value}")
    return None


def _by_pins(of: Tasks, hardware: Hardware) -> Binding | None:
    """Return the CPUs that taskset or numactl give each task."""
    if None in of.pins:
        return None
    pins = [pin for pin in of.pins if pin is not None]
    try:
        if any(pin.startswith(_NODE) for pin in pins):
            made = _of_domains([topology.cores(pin[len(_NODE) :]) for pin in pins], of, hardware)
        else:
            made = Binding(tuple(topology.cores(pin) for pin in pins), "", True)
    except ValueError:
        return None
    return made._replace(
        written="taskset, numactl or OpenMP, " + ":".join(dict.fromkeys(pins)), share=of.cpus, own=True
    )


def _of_domains(domains: Sequence[Cpus], of: Tasks, hardware: Hardware) -> Binding:
    """Return the cores of each task's NUMA domains; their numbers alone where the cores are not known."""
    numbers = [domains[task % len(domains)] for task in range(of.number)]
    if not hardware.numa and (hardware.sockets or 0) > 1 and set(numbers) == {Cpus((0,))}:
        return Binding((hardware.of_sockets()[0],) * of.number, "", True, wide=True)  # domain 0 is part of socket 0
    if not hardware.numa or any(max(entry, default=0) >= len(hardware.numa) for entry in numbers):
        return Binding(tuple(numbers), "", True, wide=True, domains=True)
    return Binding(
        tuple(Cpus().union(*(hardware.numa[domain] for domain in entry)) for entry in numbers), "", True, wide=True
    )


def _by_word(kind: str, text: str, link: Link, of: Tasks, hardware: Hardware) -> Binding | None:
    """Return what `map_cpu:0,8`, `mask_ldom:0x1,0x2`, `list:0-7:8-15`, `depth` or `cores` bind each task to."""
    if kind == "depth":
        depth = _number(link, "depth", "d") or 1
        if hardware.cores is not None and depth * of.number > hardware.cores:
            return None  # it counts threads then, and which of them share a core is written nowhere
        return Binding(tuple(Cpus(range(task * depth, task * depth + depth)) for task in range(of.number)), "")
    if kind in ("cores", "threads", "ldoms", "sockets"):
        made = _shares(link, of, hardware)
        if made is None and kind in ("cores", "threads") and of.cpus:
            return Binding((None,) * of.number, "", room=of.cpus)
        if made is None or kind in ("cores", "threads"):
            return made
        within = hardware.numa if kind == "ldoms" else hardware.of_sockets()
        return made._replace(of=tuple(_widened(cpus, within) for cpus in made.of), wide=True)
    try:
        entries = cpu_lists.entries(kind, text)
    except ValueError:
        return None
    if not entries:
        return None
    if kind.endswith("_ldom"):
        return _of_domains(entries, of, hardware)
    return Binding(tuple(entries[task % len(entries)] for task in range(of.number)), "", True)


def _widened(cpus: Cpus | None, within: Sequence[Cpus]) -> Cpus | None:
    """Return all cores of the domains that some CPUs are in, None where these are not known."""
    if cpus is None or not within:
        return None
    return Cpus().union(*(domain for domain in within if domain & cpus))


def _shares(link: Link, of: Tasks, hardware: Hardware, automatic: bool = False) -> Binding | None:
    """Return the cores that srun deals to its tasks, each as many as it asks for.

    Known where tasks have the whole node, and sockets leave one way to deal them. *automatic*: without a word of
    binding srun binds only tasks that take up all cores.
    """
    free = sorted(set(range(hardware.cores or 0)) - hardware.reserved)
    each = of.cpus // max(hardware.threads_default or hardware.threads or 1, 1)
    filled = each * of.number == len(free)
    if of.number == 1:
        return None  # a lone task has asked for what it wants of the node
    if not free or not each or each * of.number > len(free) or not (filled or of.whole) or automatic and not filled:
        return None
    blocks = [Cpus(free[task * each : task * each + each]) for task in range(of.number)]
    dealt = [_in_turn(task, each, hardware.of_sockets(), free) for task in range(of.number)]
    return Binding(tuple(blocks), "the shares of srun") if blocks == dealt else None


def _in_turn(task: int, each: int, sockets: Sequence[Cpus], free: Sequence[int]) -> Cpus:
    """Return the cores of a task where tasks go to sockets in turn."""
    if not sockets:
        return Cpus()
    socket = sockets[task % len(sockets)]
    at = task // len(sockets) * each
    return Cpus([core for core in free if core in socket][at : at + each])


def _by_mpi(link: Link, of: Tasks, hardware: Hardware) -> Binding | None:
    """Return what --bind-to binds each task to, as far as --map-by says where they begin."""
    to, _, more = _value(link, "bind-to").partition(":")
    mapped = _value(link, "map-by").split(":")
    options = " ".join(f"--{name} {_value(link, name)}" for name in ("map-by", "bind-to") if _value(link, name))
    unknown: tuple[Cpus | None, ...] = (None,) * of.number
    listed = cpu_lists.of_hydra(more) if to == "user" else []
    if listed:
        return Binding(tuple(listed[task % len(listed)] for task in range(of.number)), options, True)
    if to in ("core", "hwthread"):
        asked = next((part[3:] for part in mapped if part.startswith("pe=")), more)
        each = int(asked) if asked.isdigit() and len(asked) < 5 else 1
        straight = to == "core" and mapped[0] in ("ppr", "slot", "core", "node") and hardware.sockets == 1
        straight = straight and (mapped[0] != "ppr" or mapped[2:3] == ["node"])
        known = tuple(Cpus(range(task * each, task * each + each)) for task in range(of.number))
        return Binding(known if straight else unknown, options, room=each)
    within = {"socket": hardware.of_sockets(), "package": hardware.of_sockets(), "numa": hardware.numa}.get(to, ())
    return Binding((within[0],), options, wide=True) if within and of.number == 1 else None


def _value(link: Link, name: str) -> str:
    option = link.option(name)
    return option.value.raw.decode("ascii", "replace").lower() if option is not None and option.value else ""


def _number(link: Link, *names: str) -> int | None:
    option = link.option(*names)
    text = option.value.raw if option is not None and option.value is not None else b""
    return int(text) if text.isdigit() and len(text) < 5 else None
