"""The hardware below ranks: nodes with their GPUs and cores, the network above them, and where two ranks meet."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from xml.etree import ElementTree

from ..ask.schedulers.slurm.jobs import expand
from ..ask.sites.files import devices
from ..ask.sites.model import Node, SiteFile
from .placement import Seat

DIRECT, NODE, LEAF, ALL = "gpu", "node", "leaf", "cluster"  # what two ranks share, closest first
SHARED = (DIRECT, NODE, LEAF, ALL)
CROSSED = {DIRECT: "links of GPUs", NODE: "the node's own bus", LEAF: "the network", ALL: "the network's upper levels"}
# GB/s of one port by what its maker calls it; a number of Gb/s in the site's own words counts first.
_RATES = (("ndr", 50.0), ("hdr100", 12.5), ("hdr", 25.0), ("edr", 12.5), ("slingshot", 25.0), ("omni-path", 12.5))
_SOCKETS = re.compile(r"([1-8])x ")  # "2x AMD EPYC 7763"
_GBIT = re.compile(r"(\d{2,4})\s*Gb/s")
_MOST_CORES = 1 << 16
PORT, BUS, NIC = 250.0, 20.0, 25.0  # GB/s where nobody says: NVLink of an A100, PCIe, a port of 200 Gb/s


class Hardware(NamedTuple):
    """One kind of node. *near*: the cores next to each GPU, () not known. *domain*: GPUs joined by direct links.

    *cards*: GPUs as they are bought, where ranks may count these too. *numa*: the cores of each NUMA domain;
    *reserved*: cores that no job gets; *gpu_ports*: the network port beside each GPU.
    """

    name: str = ""
    gpus: int | None = None
    domain: int | None = None
    near: tuple[frozenset[int], ...] = ()
    nics: int | None = None
    network: str = ""  # in the site's own words
    cores: int | None = None
    threads: int | None = None
    nic_rate: float = NIC
    cards: int | None = None
    sockets: int | None = None
    numa: tuple[frozenset[int], ...] = ()
    reserved: frozenset[int] = frozenset()
    gpu_ports: tuple[int, ...] = ()
    threads_default: int | None = None

    def of_sockets(self) -> tuple[frozenset[int], ...]:
        """Return the cores of each socket, () where it is not known how many there are."""
        each = self.cores // self.sockets if self.cores and self.sockets else 0
        return tuple(frozenset(range(socket * each, (socket + 1) * each)) for socket in range(self.sockets or 0))

    def domain_of(self, gpu: int) -> int:
        """Return which set of directly joined GPUs one is in."""
        return gpu // self.domain if self.domain else 0


class Network(NamedTuple):
    """*leaves*: the switch, or block, of each node of the job; () not known. *block*: they are blocks."""

    leaves: tuple[str, ...] = ()
    block: bool = False


class Machine(NamedTuple):
    """What a job runs on."""

    hardware: Hardware = Hardware()
    network: Network = Network()

    def shared(self, seat: Seat, other: Seat) -> str:
        """Return the closest thing that two ranks share."""
        if seat.node == other.node:
            here, there = seat.gpu if seat.gpu is not None else seat.local, other.gpu
            there = there if there is not None else other.local
            return DIRECT if self.hardware.domain_of(here) == self.hardware.domain_of(there) else NODE
        leaves = self.network.leaves
        known = seat.node < len(leaves) and other.node < len(leaves)
        return ALL if known and leaves[seat.node] != leaves[other.node] else LEAF

    def widest(self, seats: Sequence[Seat]) -> str:
        """Return the widest thing that a group of ranks has to cross."""
        first = seats[0]
        met = [self.shared(first, seat) for seat in seats[1:]]
        met += [self.shared(seat, other) for seat, other in zip(seats, seats[1:])]
        return max(met, key=SHARED.index, default=DIRECT)


def hardware_of(file: SiteFile, kinds: Sequence[str]) -> Hardware:
    """Return the node that a job gets, as the site file has it; what its possible kinds differ in is not known."""
    known = [_hardware(name, file.node[name]) for name in kinds if name in file.node]
    if not known or len(known) < len(kinds):
        return Hardware()
    merged = {field: getattr(known[0], field) for field in Hardware._fields}
    default = Hardware()
    for other in known[1:]:
        for field in merged:
            if getattr(other, field) != merged[field]:
                merged[field] = getattr(default, field)
    return Hardware(**merged)


def _hardware(name: str, node: Node) -> Hardware:
    near = tuple(cores(text) for text in node.gpu_cores) if node.sure else ()
    sockets = _SOCKETS.match(node.cpu)
    return Hardware(
        name=name,
        gpus=devices(node),
        domain=node.gpu_domain,
        near=near,
        nics=node.nics,
        network=node.interconnect,
        cores=node.cores,
        threads=node.threads_per_core,
        nic_rate=rate(node.interconnect),
        cards=node.gpus,
        sockets=int(sockets[1]) if sockets and node.sure else None,
        numa=tuple(cores(text) for text in node.numa_cores),
        reserved=cores(node.reserved_cores),
        gpu_ports=tuple(node.gpu_nics),
        threads_default=node.threads_default,
    )


def rate(words: str) -> float:
    """Return the GB/s of one port of a network, by what the site calls it."""
    bits = _GBIT.search(words)
    if bits:
        return int(bits[1]) / 8
    return next((rate for name, rate in _RATES if name in words.lower()), NIC)


def cores(text: str) -> frozenset[int]:
    """Return the numbers of `0-3,8`; raises `ValueError` where these are none, or beyond any processor."""
    numbers: set[int] = set()
    for part in filter(None, text.split(",")):
        low, _, high = part.partition("-")
        if int(high or low) > _MOST_CORES:
            raise ValueError("%s is the number of no core" % (high or low))
        numbers.update(range(int(low), int(high or low) + 1))
    return frozenset(numbers)


# Slurm's topology: what `scontrol show topology` prints, topology.conf (as Topograph writes it too), topology.yaml.

_SWITCH = re.compile(r"^\s*SwitchName=(\S+)\s(?:.*?\s)?Nodes=(\S+)", re.MULTILINE | re.IGNORECASE)
_LEVEL = re.compile(r"\sLevel=(\d+)", re.IGNORECASE)
_BLOCK = re.compile(r"^\s*BlockName=(\S+)\s(?:.*?\s)?Nodes=(\S+)", re.MULTILINE | re.IGNORECASE)


def leaves_of(text: str) -> tuple[dict[str, str], bool]:
    """Return the leaf switch, or the block, of each host that a topology names; raises `ValueError` where none is."""
    leaves: dict[str, str] = {}
    for name, hosts in _BLOCK.findall(text):
        leaves.update({host: name for host in expand(hosts)})
    if leaves:
        return leaves, True
    for match in _SWITCH.finditer(text):
        level = _LEVEL.search(match[0])
        if level is None or level[1] == "0":
            leaves.update({host: match[1] for host in expand(match[2])})
    if not leaves:
        leaves, blocks = _of_yaml(text)
        return leaves, blocks
    return leaves, False


def _of_yaml(text: str) -> tuple[dict[str, str], bool]:
    import yaml

    try:
        tables = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError("this is no topology of Slurm: %s" % " ".join(str(error).split())) from error
    leaves, blocks = {}, False
    for table in tables if isinstance(tables, list) else []:
        for name, key, kind in (("block", "blocks", "block"), ("tree", "switches", "switch")):
            rows = (table.get(name) or {}).get(key) if isinstance(table, dict) else None
            for row in rows or []:
                if row.get("nodes"):
                    leaves.update({host: str(row[kind]) for host in expand(str(row["nodes"]))})
                    blocks = blocks or kind == "block"
    if not leaves:
        raise ValueError("no switch and no block with nodes stands in it")
    return leaves, blocks


def network_of(text: str, hosts: Sequence[str]) -> Network:
    """Return the leaf of each of a job's hosts, in their order; nothing where one of them is not in the topology."""
    leaves, block = leaves_of(text)
    short = {host.split(".")[0]: leaf for host, leaf in leaves.items()}
    of_hosts = tuple(short.get(host.split(".")[0], "") for host in hosts)
    return Network(of_hosts, block) if all(of_hosts) else Network()


def of_lstopo(xml: str) -> Hardware:
    """Return a node as `lstopo --of xml` writes it: its GPUs with the cores near them, its network ports."""
    try:
        root = ElementTree.fromstring(xml)
    except ElementTree.ParseError as error:
        raise ValueError("this is no output of lstopo --of xml: %s" % error) from error
    gpus: dict[str, frozenset[int]] = {}
    nics = 0
    for device, cpuset, address in _devices(root, "", ""):
        if device.get("osdev_type") in ("1", "5") and re.match(
            r"cuda|rsmi|nvml|ze|card|renderD", device.get("name", "")
        ):
            gpus.setdefault(address or device.get("name", ""), _of_mask(cpuset))
        nics += device.get("osdev_type") == "3"
    near = tuple(gpus[address] for address in sorted(gpus))
    return Hardware("this node", len(gpus) or None, None, near, nics or None)


def _devices(item: ElementTree.Element, cpuset: str, address: str) -> Iterator[tuple[Mapping[str, str], str, str]]:
    """Yield each device with the CPUs of what it hangs below, and its place on the bus."""
    cpuset, address = item.get("cpuset") or cpuset, item.get("pci_busid") or address
    if item.get("type") == "OSDev":
        yield item.attrib, cpuset, address
    for below in item:
        yield from _devices(below, cpuset, address)


def _of_mask(mask: str) -> frozenset[int]:
    """Return the CPUs of hwloc's mask: 32 bits a word, the last word first."""
    number = 0
    for word in mask.split(","):
        number = (number << 32) | int(word or "0", 16)
    return frozenset(bit for bit in range(number.bit_length()) if number >> bit & 1)
