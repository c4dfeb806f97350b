"""The best order of ranks for a mapping, by trying all: orders of axes, ways of dealing, nodes as given or by leaf.

On regular machines these few hold the best one; nothing is searched beyond them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import NamedTuple

from . import costs, groups, placement
from .costs import Capacity, Exchange, Traffic
from .groups import Mesh
from .language import Mapping, Mistake
from .placement import Placement
from .topology import BUS, NIC, PORT, Hardware, Machine, Network

_KINDS = {"allreduce": "allreduce", "p2p": "chain", "alltoall": "alltoall"}
MOST = 512  # ranks


class Trial(NamedTuple):
    """One way: its statements, the estimate of a step's exchanges in seconds, and whether Megatron has the order."""

    order: tuple[str, ...]
    how: str
    by: str
    seconds: float
    megatron: bool

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


def as_written(mapping: Mapping, leaves: Sequence[str] = ()) -> float:
    """Return the estimate of the mapping as it stands."""
    assert mapping.mesh is not None
    return _seconds(mapping, mapping.mesh, mapping.placement(), leaves)


def _ways(mapping: Mapping, leaves: Sequence[str]) -> Iterator[Trial]:
    sizes = {axis.name: axis.size for axis in mapping.mesh.axes if axis.size > 1} if mapping.mesh is not None else {}
    known = [tuple(name for name in order if name in sizes)
             for order in (groups.MEGATRON, groups.MEGATRON_PIPELINE_FIRST)]  # fmt: skip
    by_leaf = sorted(range(len(leaves)), key=lambda node: (leaves.index(leaves[node]), node))
    networks = [("as-given", tuple(leaves))]
    if leaves and by_leaf != list(range(len(leaves))):
        networks.append(("by leaf", tuple(leaves[node] for node in by_leaf)))
    for order in permutations(sizes):
        for how, placed in _dealt(mapping):
            for by, network in networks:
                seconds = _seconds(mapping, groups.mesh(order, sizes), placed, network)
                yield Trial(order, how, by, seconds, order in known)


def _dealt(mapping: Mapping) -> Iterator[tuple[str, Placement]]:
    yield "block", placement.block(mapping.nodes, mapping.each)
    for width in (width for width in range(1, mapping.each) if mapping.each % width == 0):
        made = mapping._replace(how="plane", width=width)
        yield ("cyclic" if width == 1 else f"plane {width}"), made.placement()


def _seconds(mapping: Mapping, mesh: Mesh, placed: Placement, leaves: Sequence[str]) -> float:
    flows = [Traffic(flow.axis, flow.size, flow.rounds, _KINDS[flow.kind]) for flow in mapping.flows]
    made: list[list[Exchange]] = costs.programs(mesh, flows, placed)
    return costs.seconds(made, _capacity(mapping, placed, leaves))


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
