"""How long ranks talk to each other: collectives as flows that share links, each group at its own pace.

A rank has a list of exchanges, one after the other. An exchange begins when all its members have come to it, moves at
the rate of its slowest link, and shares each link fairly with what else moves there then. Computing is not in it, nor
what a library overlaps with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import NamedTuple

from .groups import CONTEXT, DATA, EXPERT, PIPELINE, TENSOR, Mesh
from .placement import Placement, Seat
from .topology import ALL, BUS, DIRECT, NODE, PORT, Machine

MOST = 512  # ranks of a world that is simulated; larger ones have the same shape
GIGA = 1e9
_UPLINKS = 2  # nodes of a leaf for each uplink's worth of one
Link = tuple[Hashable, ...]
Links = Callable[[int, int], "tuple[tuple[Link, ...], float]"]  # what a message between two ranks crosses, and how late


class Exchange(NamedTuple):
    """*members* in the order of their ring; *size*: bytes that each of them holds. *kind*: allreduce, chain, alltoall.

    *rounds*: how many such exchanges follow each other.
    """

    members: tuple[int, ...]
    size: float
    kind: str = "allreduce"
    rounds: int = 1


class Capacity(NamedTuple):
    """*of*: bytes a second of each link. *links*: those between two ranks, and the seconds before the first byte."""

    of: Callable[[Link], float]
    links: Links


def seconds(programs: Sequence[Sequence[Exchange]], capacity: Capacity) -> float:
    """Return when the last rank is done. *programs*: of each rank, its exchanges in order."""
    at, now = [0] * len(programs), 0.0
    waiting: dict[Exchange, set[int]] = {}
    moving: dict[Exchange, _Move] = {}
    for rank, program in enumerate(programs):
        _arrive(rank, program, at, waiting)
    while waiting or moving:
        for exchange in [exchange for exchange, there in waiting.items() if len(there) == len(exchange.members)]:
            del waiting[exchange]
            moving[exchange] = _Move(*_volume(exchange, capacity))
        if not moving:
            raise ValueError("ranks wait for each other for ever")
        rates = _rates(moving, capacity)
        step = min(
            move.late if move.late > 0 else max(move.left, 0.0) / rates[exchange] for exchange, move in moving.items()
        )
        now += step
        for exchange in list(moving):
            if moving[exchange].pass_by(step, rates[exchange]):
                del moving[exchange]
                for rank in exchange.members:
                    at[rank] += 1
                    _arrive(rank, programs[rank], at, waiting)
    return now


def _arrive(rank: int, program: Sequence[Exchange], at: list[int], waiting: dict[Exchange, set[int]]) -> None:
    if at[rank] < len(program):
        waiting.setdefault(program[at[rank]], set()).add(rank)


class _Move:
    """An exchange under way: the seconds before its bytes move, then the bytes that each edge still has to move."""

    def __init__(self, late: float, left: float, edges: dict[Link, float]) -> None:
        self.late, self.left, self.edges = late, left if edges else 0.0, edges

    def pass_by(self, step: float, rate: float) -> bool:
        """Let time go by; return whether it is over."""
        if self.late > 0:
            self.late -= step
            if self.late > 1e-12:
                return False
            self.late = 0.0
            return self.left <= 0
        if self.left <= 0:
            return True
        self.left -= rate * step
        return self.left <= 1e-6


def _volume(exchange: Exchange, capacity: Capacity) -> tuple[float, float, dict[Link, float]]:
    """Return the latency of an exchange, the bytes of each of its edges, and how many edges cross each link."""
    members, count = exchange.members, len(exchange.members)
    pairs = list(_edges(exchange))
    shares: dict[Link, float] = {}
    late = 0.0
    for source, target in pairs:
        links, delay = capacity.links(source, target)
        late = max(late, delay)
        for link in links:
            shares[link] = shares.get(link, 0.0) + 1.0
    if exchange.kind == "allreduce":
        steps, each = 2 * (count - 1), 2 * (count - 1) / count * exchange.size
    elif exchange.kind == "alltoall":
        steps, each = count - 1, exchange.size / len(members)
    else:
        steps, each = 1, exchange.size
    return steps * late * exchange.rounds, each * exchange.rounds, shares


def _edges(exchange: Exchange) -> Iterator[tuple[int, int]]:
    """Yield who sends to whom: round the ring, along the chain both ways, or each to each."""
    members = exchange.members
    if exchange.kind == "allreduce":
        if len(members) > 1:
            yield from zip(members, (*members[1:], members[0]))
    elif exchange.kind == "chain":
        yield from zip(members, members[1:])
        yield from zip(members[1:], members)
    else:
        yield from ((source, target) for source in members for target in members if source != target)


def _rates(moving: dict[Exchange, _Move], capacity: Capacity) -> dict[Exchange, float]:
    """Return the bytes a second of each edge of what moves: all grow alike until a link of theirs is full."""
    rates: dict[Exchange, float] = {exchange: 0.0 for exchange, move in moving.items() if move.late > 0}
    open_ = {exchange: move for exchange, move in moving.items() if move.late <= 0}
    room: dict[Link, float] = {}
    for move in open_.values():
        for link in move.edges:
            room.setdefault(link, capacity.of(link))
    for exchange in [exchange for exchange, move in open_.items() if not move.edges]:
        rates[exchange] = float("inf")
        del open_[exchange]
    while open_:
        load: dict[Link, float] = {}
        for move in open_.values():
            for link, edges in move.edges.items():
                load[link] = load.get(link, 0.0) + edges
        full = min(load, key=lambda link: room[link] / load[link])
        rate = max(room[full] / load[full], 1.0)
        for exchange in [exchange for exchange, move in open_.items() if full in move.edges]:
            rates[exchange] = rate
            for link, edges in open_.pop(exchange).edges.items():
                room[link] = max(room[link] - rate * edges, 0.0)
    return rates


# What a training step says over the links.


class Traffic(NamedTuple):
    """One axis: bytes that each member holds, how often a step, and in which manner."""

    axis: str
    size: float
    rounds: int
    kind: str


USUAL = {"layers": 32, "hidden": 4096, "sequence": 4096, "micro_batch": 1}  # of a model about which nothing is said
_MICRO_BATCHES = 8
_HALF = 2  # bytes of a value


def traffic(mesh: Mesh, model: dict[str, int], experts: Mesh | None = None) -> tuple[Traffic, ...]:
    """Return what a transformer of these numbers exchanges in a step: activations, gradients, stages."""
    numbers = {**USUAL, **model}
    layers = max(numbers["layers"] // mesh.size(PIPELINE), 1)
    activations = float(numbers["micro_batch"] * numbers["sequence"] * numbers["hidden"] * _HALF) / mesh.size(CONTEXT)
    weights = 12.0 * numbers["hidden"] ** 2 * layers / mesh.size(TENSOR) * _HALF
    rows = [
        Traffic(TENSOR, activations, 4 * layers * _MICRO_BATCHES, "allreduce"),
        Traffic(CONTEXT, activations / mesh.size(TENSOR), 4 * layers * _MICRO_BATCHES, "chain"),
        Traffic(PIPELINE, activations, 2 * _MICRO_BATCHES, "chain"),
        Traffic(DATA, weights, 1, "allreduce"),
    ]
    if experts is not None:
        rows.insert(1, Traffic(EXPERT, activations, 4 * layers * _MICRO_BATCHES, "alltoall"))
    return tuple(rows)


def programs(
    mesh: Mesh, flows: Sequence[Traffic], placed: Placement, experts: Mesh | None = None
) -> list[list[Exchange]]:
    """Return what each rank exchanges in a step; within a group the ring goes through each node once."""
    made: list[list[Exchange]] = [[] for _ in placed.seats]
    for flow in flows:
        of = experts if flow.axis == EXPERT and experts is not None else mesh
        if of.size(flow.axis) < 2:
            continue
        for group in of.groups(flow.axis):
            ring = tuple(sorted(group, key=lambda rank: (placed.seats[rank].node, rank)))
            members = group if flow.kind == "chain" else ring
            for rank in group:
                made[rank].append(Exchange(members, flow.size, flow.kind, flow.rounds))
    return made


def capacity(machine: Machine, seats: Sequence[Seat]) -> Capacity:
    """Return the links of a machine: a port of each GPU, the bus and network ports of each node, uplinks of leaves."""
    hardware = machine.hardware
    nodes = (hardware.nics or 1) * hardware.nic_rate * GIGA
    sizes = {"port": PORT * GIGA, "bus": BUS * GIGA, "out": nodes, "in": nodes}
    behind = Counter(machine.network.leaves)

    def links(rank: int, other: int) -> tuple[tuple[Link, ...], float]:
        here, there = seats[rank], seats[other]
        shared = machine.shared(here, there)
        if shared == DIRECT:
            return (("port", rank, "out"), ("port", other, "in")), 3e-6
        if shared == NODE:
            return (("bus", here.node),), 5e-6
        crossed: tuple[Link, ...] = (("out", here.node), ("in", there.node))
        if shared == ALL:
            leaves = machine.network.leaves
            crossed += (("up", leaves[here.node]), ("down", leaves[there.node]))
        return crossed, 12e-6 if shared == ALL else 8e-6

    def room(link: Link) -> float:
        kind, of = str(link[0]), str(link[1])
        return nodes * behind[of] / _UPLINKS if kind in ("up", "down") else sizes[kind]

    return Capacity(room, links)


def of_step(
    mesh: Mesh, placed: Placement, machine: Machine, model: dict[str, int], experts: Mesh | None = None
) -> tuple[list[list[Exchange]], Capacity] | None:
    """Return what a step's ranks exchange, over which links; None where the world is too large to be simulated."""
    if len(placed.seats) > MOST or mesh.ranks != len(placed.seats):
        return None
    return programs(mesh, traffic(mesh, model, experts), placed, experts), capacity(machine, placed.seats)
