"""A drafted site beside the lab that it was drafted from, fact by fact."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from maple_agents.ask.sites.model import Node, PartitionTable, SiteFile
from maple_agents.base.quantities import of_clock as seconds

from tests.lab.processes import version
from tests.lab.shape import NodeGroup, PartitionShape, Shape


class Fact(NamedTuple):
    """One fact. *drafted* None: left out."""

    what: str
    where: str
    true: object
    drafted: object

    @property
    def verdict(self) -> str:
        """Return `equal`, `left out` or `WRONG`."""
        return "equal" if self.drafted == self.true else "left out" if self.drafted is None else "WRONG"


def facts(shape: Shape, file: SiteFile) -> Iterator[Fact]:
    """Yield every fact of the lab that a draft can know, with what the draft says of it."""
    yield Fact("cluster", "", shape.cluster_name, file.detection.cluster_name if file.detection else None)
    yield Fact("version", "", "%d.%02d" % version(), file.scheduler.version[:5] or None)
    default = next((one.name for one in shape.partitions if one.default), "")
    yield Fact("default", "", default, file.scheduler.default_partition or (None if default else ""))
    yield Fact("partitions", "", {one.name for one in shape.partitions}, set(file.partition))
    yield Fact("QOS", "", set(), set(file.qos))  # a lab has no accounting, so Slurm knows of none
    told = has_gres(shape)
    for one in shape.partitions:
        table = file.partition.get(one.name, PartitionTable(source=["?"]))
        yield from _limits(one, table)
        groups = [group for group in shape.groups if group.name in one.groups]
        yield from _nodes(one.name, groups, [file.node[kind] for kind in table.node_kinds], told)


def has_gres(shape: Shape) -> bool:
    """Return True where Slurm knows of GPUs; where it does not, a draft cannot know of any either."""
    return any(group.gpus and group.gres for group in shape.groups)


def _limits(true: PartitionShape, table: PartitionTable) -> Iterator[Fact]:
    yield Fact("max nodes", true.name, true.max_nodes, table.max_nodes)
    yield Fact("min nodes", true.name, true.min_nodes if true.min_nodes > 1 else None, table.min_nodes)
    walltime = None if true.max_time is None else max(1, true.max_time // 60) * 60
    yield Fact("max time", true.name, walltime, seconds(table.max_walltime))
    usual = min(true.default_time, true.max_time or 86400) // 60 * 60 or 60
    yield Fact("default time", true.name, usual, seconds(table.default_walltime))
    yield Fact("shared", true.name, not true.exclusive, table.shared)


def _nodes(where: str, groups: list[NodeGroup], kinds: list[Node], gres: bool) -> Iterator[Fact]:
    """Yield what the nodes behind a partition have: of all of them together, for a kind may span groups."""
    yield Fact("nodes", where, sum(len(group.hosts()) for group in groups), sum(kind.count or 0 for kind in kinds))
    told = [kind.gpus for kind in kinds]
    true = sorted({group.gpus for group in groups})
    yield Fact("GPUs", where, true, None if None in told else sorted(set(filter_none(told))))
    yield Fact(
        "GPU types", where, {one.gpu_type for one in groups if one.gpus} - {""}, {k.gpu_type for k in kinds} - {""}
    )
    yield Fact("cores", where, {group.cores for group in groups}, {kind.cores for kind in kinds})
    yield Fact("threads", where, {one.threads_per_core for one in groups}, {one.threads_per_core for one in kinds})
    yield Fact("memory", where, {group.memory_gib for group in groups}, {kind.memory_gib for kind in kinds})
    yield Fact("features", where, {frozenset(one.features) for one in groups}, {frozenset(k.features) for k in kinds})


def filter_none(told: list[int | None]) -> list[int]:
    """Return the numbers."""
    return [one for one in told if one is not None]
