"""Chunks of a request, and the hosts they are given."""

from __future__ import annotations

import re
from typing import Mapping, NamedTuple, Sequence

from tests.pbs_lab.request import Refused
from tests.pbs_lab.shape import Host, PbsShape

ILLEGAL = "qsub: Illegal attribute or resource value"
JOB_WIDE = ("walltime", "filesystems", "place", "select", "nodes", "cput", "software")
NUMBERS = ("ncpus", "ngpus", "mpiprocs", "ompthreads")
UNITS = {"": 1, "b": 1, "kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30, "tb": 1 << 40, "w": 8}


class Chunk(NamedTuple):
    """One chunk as it was asked for: its resources by name."""

    resources: Mapping[str, str]

    def number(self, name: str, otherwise: int = 0) -> int:
        """Return a resource that is a number."""
        return int(self.resources.get(name, otherwise))


class Placed(NamedTuple):
    """A chunk and the index of the host it got."""

    host: int
    chunk: Chunk


class NeverRuns(Exception):
    """The request was accepted, and no host of this cluster can ever take it; the text is the scheduler's comment."""


def chunks(resources: Mapping[str, str]) -> list[Chunk]:
    """Return every chunk of a request, one by one. Raises `Refused` for what is no request."""
    if "select" in resources:
        return _select(resources["select"])
    if "nodes" in resources:
        return _nodes(resources["nodes"])
    mine = {name: value for name, value in resources.items() if name in (*NUMBERS, "mem", "host")}
    return [Chunk({"ncpus": "1", **mine})]


def _select(text: str) -> list[Chunk]:
    found: list[Chunk] = []
    for part in text.split("+"):
        first, *rest = part.split(":")
        if first.isdigit():
            count = int(first)
        else:
            count, rest = 1, [first, *rest]
        found += [_chunk(rest, part)] * count
        if not count:
            raise Refused(ILLEGAL, 166)
    return found


def _chunk(words: Sequence[str], part: str) -> Chunk:
    resources: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not re.fullmatch(r"[A-Za-z][\w-]*", name) or not value:
            raise Refused(f"{ILLEGAL} Resource_List.select", 166)
        if name in JOB_WIDE:
            raise Refused(f'qsub: Resource invalid in "select" specification: {name}', 4)
        if name in resources:
            says = f"duplicated resource within a section of a select specification, resource is: {name}"
            raise Refused(f"qsub: {says}", 12)
        if name in NUMBERS and not value.isdigit():
            raise Refused(f"{ILLEGAL} select.{name}", 166)
        resources[name] = value
    return Chunk({"ncpus": "1", **resources})


def _nodes(text: str) -> list[Chunk]:
    """`nodes=2:ppn=4` is `select=2:ncpus=4:mpiprocs=4` with place=scatter."""
    found: list[Chunk] = []
    for part in text.split("+"):
        first, *rest = part.split(":")
        each = {name: value for name, _, value in (word.partition("=") for word in rest)}
        ppn = each.pop("ppn", "1")
        if any(name not in ("ncpus", "mem") for name in each) or not ppn.isdigit():
            raise Refused("qsub: node(s) specification error", 241)
        if not first.isdigit():
            raise Refused(f"qsub: Unknown resource: {first}", 187)
        found += [Chunk({"ncpus": ppn, "mpiprocs": ppn, **each})] * int(first)
    return found


def placed(resources: Mapping[str, str], shape: PbsShape) -> list[Placed]:
    """Return the host of each chunk, in the order of the node file. Raises `Refused` or `NeverRuns`."""
    wanted = chunks(resources)
    default = "scatter" if "nodes" in resources else "free" if "select" in resources else "pack"
    words = resources.get("place", default).split(":")
    way = next((word for word in words if word in ("scatter", "pack", "free", "vscatter")), default)
    spread = shape.whole_nodes or way in ("scatter", "vscatter")
    if spread and len(wanted) > len(shape.hosts):
        raise NeverRuns("Can Never Run: Not enough total nodes available")
    if way == "pack" and not shape.whole_nodes:
        return _packed(wanted, shape.hosts)
    found: list[Placed] = []
    for chunk in wanted:
        found.append(Placed(_first_fit(chunk, found, shape.hosts, spread, shape.whole_nodes), chunk))
    return sorted(found, key=lambda one: one.host)


def _packed(wanted: Sequence[Chunk], hosts: Sequence[Host]) -> list[Placed]:
    for index in range(len(hosts)):
        found: list[Placed] = []
        for chunk in wanted:
            if _lacks(chunk, index, found, hosts):
                break
            found.append(Placed(index, chunk))
        else:
            return found
    raise NeverRuns("Can Never Run: Insufficient amount of resource: " + _most_wanted(wanted, hosts))


def _most_wanted(wanted: Sequence[Chunk], hosts: Sequence[Host]) -> str:
    gpus = sum(chunk.number("ngpus") for chunk in wanted)
    return "ngpus " if gpus > max(host.gpus for host in hosts) else "ncpus "


def _first_fit(chunk: Chunk, taken: Sequence[Placed], hosts: Sequence[Host], spread: bool, whole: bool) -> int:
    lacking = "nodes"
    for index in range(len(hosts)):
        if spread and any(one.host == index for one in taken):
            continue
        lacking = _lacks(chunk, index, [] if whole else taken, hosts)
        if not lacking:
            return index
    if lacking == "nodes":
        raise NeverRuns("Can Never Run: Not enough total nodes available")
    raise NeverRuns(f"Not Running: Insufficient amount of resource: {lacking} ")


def _lacks(chunk: Chunk, index: int, taken: Sequence[Placed], hosts: Sequence[Host]) -> str:
    """Return the resource of which this host has not enough left, or ""."""
    host, here = hosts[index], [one.chunk for one in taken if one.host == index]
    if chunk.resources.get("host", host.name) != host.name:
        return "host"
    for name, has in (("ncpus", host.cpus), ("ngpus", host.gpus)):
        if chunk.number(name) + sum(one.number(name) for one in here) > has:
            return name
    memory = sum(_bytes(one.resources.get("mem", "0")) for one in (chunk, *here))
    return "mem" if memory > host.memory_gib << 30 else ""


def _bytes(text: str) -> int:
    found = re.fullmatch(r"(\d+)([kmgt]?[bw]?)", text.lower())
    if not found:
        raise Refused(f"{ILLEGAL} select.mem", 166)
    return int(found[1]) * UNITS.get(found[2], UNITS.get(found[2] + "b", 1))


def node_file(found: Sequence[Placed], shape: PbsShape) -> list[str]:
    """Return the lines of PBS_NODEFILE: one for each chunk, or for each of its mpiprocs, host by host."""
    return [shape.hosts[one.host].name for one in found for _ in range(one.chunk.number("mpiprocs", 1))]
