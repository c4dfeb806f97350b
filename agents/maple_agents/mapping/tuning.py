"""The best order of ranks for a mapping, by trying all: orders of axes, ways of dealing, nodes as given or by leaf.

On regular machines these few hold the best one. Where leaves have unlike numbers of the job's nodes, orders of nodes
are searched from the best of them: two nodes of unlike leaves change places as long as that is better.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, permutations
from typing import NamedTuple

from . import costs, groups, placement, steps
from .costs import Capacity, Exchange, Traffic
from .groups import Mesh
from .language import Mapping, Mistake
from .placement import Placement
from .topology import BUS, NIC, PORT, Hardware, Machine, Network

_KINDS = {"allreduce": "allreduce", "p2p": "chain", "alltoall": "alltoall"}
MOST = 512  # ranks
SEARCHED = 300  # estimates of orders of nodes, of which fewer are made where each takes long
_MESSAGES, _WORK = 6_000, 400_000  # of an estimate by steps, and of all that are made of orders of nodes
_GAIN = 0.01  # of the time, below which another order of nodes is not worth its list of hosts


class Trial(NamedTuple):
    """One way: its statements, the estimate of a step's exchanges in seconds, and whether Megatron has the order.

    *nodes*: the order in which nodes are taken, by their numbers, where it was searched for.
    """

    order: tuple[str, ...]
    how: str
    by: str
    seconds: float
    megatron: bool
    nodes: tuple[int, ...] = ()

    @property
    def statements(self) -> str:
        """The lines of the mapping that say it."""
        nodes = f" ; nodes {self.by}" if self.by != "as-given" else ""
        return f"order {' < '.join(self.order)} ; map {self.how}{nodes}"


def trials(mapping: Mapping, leaves: Sequence[str] = ()) -> list[Trial]:
    """Return every way with its estimate, the best and simplest first; raises `Mistake` where no traffic is said."""
    if mapping.mesh is None or not mapping.flows:
        raise Mistake("nothing is said of axes or traffic; write: traffic tp allreduce 64MiB x32")
    if mapping.nodes * mapping.each > MOST:
        raise Mistake(f"more than {MOST} ranks are not estimated; name a smaller cluster of the same shape")
    made = [*_ways(mapping, leaves)]
    return sorted(made, key=lambda trial: (round(trial.seconds, 9), not trial.megatron, trial.how != "block", trial.by))


def is_irregular(leaves: Sequence[str]) -> bool:
    """Return whether leaves have unlike numbers of the job's nodes, so that no rule gives the best order of them."""
    return len(set(Counter(leaves).values())) > 1


def searched(mapping: Mapping, leaves: Sequence[str], start: Trial, hosts: Sequence[str], seed: int = 0) -> Trial:
    """Return the best that changing places of nodes finds from *start*; *start* where none is better by a hundredth.

    The same seed finds the same.
    """
    made = costs.programs(groups.mesh(start.order, _sizes(mapping)), _flows(mapping), dict(_dealt(mapping))[start.how])
    each = steps.messages(steps.merged(made))
    most = min(SEARCHED, _WORK // max(each, 1)) if each <= _MESSAGES else SEARCHED
    seconds, nodes = min(islice(climbed(mapping, leaves, start, seed), most))
    if seconds >= start.seconds * (1 - _GAIN):
        return start
    return start._replace(by="list " + ",".join(hosts[node] for node in nodes), seconds=seconds, nodes=nodes)


def climbed(
    mapping: Mapping, leaves: Sequence[str], start: Trial, seed: int
) -> Iterator[tuple[float, tuple[int, ...]]]:
    """Yield, after each estimate, the best so far and its order of nodes; without an end."""
    mesh, placed = groups.mesh(start.order, _sizes(mapping)), dict(_dealt(mapping))[start.how]
    nodes = _by_leaf(leaves) if start.by == "by leaf" else list(range(len(leaves)))
    chance, best = random.Random(seed), start.seconds
    pairs = [(place, other) for place in range(len(nodes)) for other in range(place)]
    while True:
        place, other = chance.choice([pair for pair in pairs if leaves[nodes[pair[0]]] != leaves[nodes[pair[1]]]])
        nodes[place], nodes[other] = nodes[other], nodes[place]
        seconds = _seconds(mapping, mesh, placed, [leaves[node] for node in nodes])
        if seconds > best:
            nodes[place], nodes[other] = nodes[other], nodes[place]
        best = min(best, seconds)
        yield best, tuple(nodes)


def as_written(mapping: Mapping, leaves: Sequence[str] = ()) -> float:
    """Return the estimate of the mapping as it stands."""
    assert mapping.mesh is not None
    return _seconds(mapping, mapping.mesh, mapping.placement(), leaves)


def _ways(mapping: Mapping, leaves: Sequence[str]) -> Iterator[Trial]:
    sizes = _sizes(mapping)
    known = [tuple(name for name in order if name in sizes)
             for order in (groups.MEGATRON, groups.MEGATRON_PIPELINE_FIRST)]  # fmt: skip
    by_leaf = _by_leaf(leaves)
    networks = [("as-given", tuple(leaves))]
    if leaves and by_leaf != list(range(len(leaves))):
        networks.append(("by leaf", tuple(leaves[node] for node in by_leaf)))
    for order in permutations(sizes):
        for how, placed in _dealt(mapping):
            for by, network in networks:
                seconds = _seconds(mapping, groups.mesh(order, sizes), placed, network)
                yield Trial(order, how, by, seconds, order in known)


def _by_leaf(leaves: Sequence[str]) -> list[int]:
    return sorted(range(len(leaves)), key=lambda node: (leaves.index(leaves[node]), node))


def _dealt(mapping: Mapping) -> Iterator[tuple[str, Placement]]:
    yield "block", placement.block(mapping.nodes, mapping.each)
    for width in (width for width in range(1, mapping.each) if mapping.each % width == 0):
        made = mapping._replace(how="plane", width=width)
        yield ("cyclic" if width == 1 else f"plane {width}"), made.placement()


def _seconds(mapping: Mapping, mesh: Mesh, placed: Placement, leaves: Sequence[str]) -> float:
    made: list[list[Exchange]] = costs.programs(mesh, _flows(mapping), placed)
    return steps.estimate(made, _capacity(mapping, placed, leaves), _MESSAGES)


def _flows(mapping: Mapping) -> list[Traffic]:
    return [Traffic(flow.axis, flow.size, flow.rounds, _KINDS[flow.kind]) for flow in mapping.flows]


def _sizes(mapping: Mapping) -> dict[str, int]:
    return {axis.name: axis.size for axis in mapping.mesh.axes if axis.size > 1} if mapping.mesh is not None else {}


def _capacity(mapping: Mapping, placed: Placement, leaves: Sequence[str]) -> Capacity:
    """Return the machine's links at the rates that the mapping says, or usual ones."""
    rates = {level: rate / costs.GIGA for level, (rate, _) in mapping.links.items()}
    hardware = Hardware(domain=mapping.levels.get("gpu"), nics=1, nic_rate=rates.get("node", NIC))
    machine = Machine(hardware, Network(tuple(leaves)))
    own = costs.capacity(machine, placed.seats)
    rates_of = {"port": rates.get("gpu", PORT) * costs.GIGA, "bus": rates.get("numa", BUS) * costs.GIGA}
    if "leaf" in rates:
        rates_of |= {"up": rates["leaf"] * costs.GIGA, "down": rates["leaf"] * costs.GIGA}
    return Capacity(lambda link: rates_of.get(str(link[0])) or own.of(link), own.links)
