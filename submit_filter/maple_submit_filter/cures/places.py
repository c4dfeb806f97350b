"""Where else a request fits: the partitions, QOS or queues of the site that take what the chosen one refuses.

Queues of PBS as the site's tables have them: those one may name, and those that only a routing queue leads to.
"""

from __future__ import annotations

from typing import Iterator, List, NamedTuple, Optional, Tuple

from ..request.scheduler_words import is_pbs, option
from ..request.slurm import values
from ..site.facts import Partition, Site
from ..types.edits import Fix, Safety
from ..types.job import Job, Setting
from .option_edits import Change, restate, say

# Rows for a purpose that no job of this kind states: they end sooner, may be taken away, or cost more.
_FOR_A_PURPOSE = (
    "debug",
    "dev",
    "interactive",
    "preempt",
    "test",
    "premium",
    "realtime",
    "overrun",
    "urgent",
    "vis",
    "demand",
)


class Needs(NamedTuple):
    """What a job needs: GPUs of one node, nodes, seconds; None where nobody said."""

    gpus: Optional[int]
    nodes: Optional[int]
    seconds: Optional[int]


def needs_of(job: Job, gpus: Optional[int]) -> Needs:
    """Return what a job of Slurm asks for, with so many GPUs on a node."""
    nodes = values.nodes(job.settings.value("nodes") or b"")
    return Needs(gpus, nodes[1] if nodes is not None else 1, values.seconds(job.settings.value("time") or b""))


def elsewhere(site: Site, selector: str, needs: Needs, kinds: Tuple[str, ...] = ()) -> Tuple[str, ...]:
    """Return the names that take the request, in the order of the site file. *kinds*: one of these nodes is wanted."""
    rows = (row for row in usual(site, selector) if row.sure and _takes(row, site, needs, kinds))
    return tuple(dict.fromkeys(row.name for row in rows))


def usual(site: Site, selector: str) -> Tuple[Partition, ...]:
    """Return the rows that one may name and that are for no purpose of their own."""
    return tuple(row for row in site.partitions if row.selector == selector and not row.routed and _is_usual(row))


def moves(job: Job, site: Site, needs: Needs, kinds: Tuple[str, ...], why: str, selector: str = "") -> Iterator[Fix]:
    """Yield the fixes that choose another partition, or QOS, that takes the request."""
    selector = selector or ("queue" if is_pbs(job) else "partition")
    setting = job.settings.get(selector)
    for name in elsewhere(site, selector, needs, kinds):
        if setting is None:
            made: Optional[Change] = say(job, b"--%s=%s" % (selector.encode(), name.encode()), why)
        else:
            made = restate(job, setting, name.encode(), why)
        if made is not None:
            yield made.fix(Safety.ASK, option(job, selector, name))


def _is_usual(row: Partition) -> bool:
    return not for_a_purpose(row)


def for_a_purpose(row: Partition) -> bool:
    """Return whether a row is there for trials, ends sooner, may be taken away, or costs more."""
    return any(word in row.name.lower() for word in _FOR_A_PURPOSE)


def has_a_price(row: Partition) -> bool:
    """Return whether a row costs more than others, or may take the job away again."""
    return any(word in row.name.lower() for word in ("preempt", "premium", "realtime", "urgent", "overrun", "demand"))


def alike(site: Site, row: Partition) -> List[Partition]:
    """Return the other rows that one may name for the same nodes, given in the same way."""
    return [
        other
        for other in site.partitions
        if other.sure and other.name != row.name and not other.routed and not other.constraint
        and (other.selector, other.node_kinds, other.shared) == (row.selector, row.node_kinds, row.shared)
    ]  # fmt: skip


def _takes(row: Partition, site: Site, needs: Needs, kinds: Tuple[str, ...]) -> bool:
    """Return whether the row surely takes it; of what it does not say only the time is believed to do."""
    node_kinds = [site.kind(name) for name in row.node_kinds]
    if not node_kinds or (kinds and not set(kinds) & set(row.node_kinds)):
        return False
    if any(kind is None or (kind.gpus or 0) < (needs.gpus or 0) for kind in node_kinds):
        return False
    nodes = needs.nodes or 1
    return (
        (row.gpus_per_node is None or needs.gpus is None or row.gpus_per_node >= needs.gpus)
        and (row.max_gpus is None or needs.gpus is None or row.max_gpus >= needs.gpus * nodes)
        and (row.max_nodes is None or nodes <= row.max_nodes)
        and (row.min_nodes is None or nodes >= row.min_nodes)
        and (row.max_walltime is None or needs.seconds is None or needs.seconds <= row.max_walltime)
    )


def queues(site: Site) -> Tuple[Partition, ...]:
    """Return the rows of queues that the site is sure of."""
    return tuple(partition for partition in site.partitions if partition.selector == "queue" and partition.sure)


def route(site: Site) -> Optional[Partition]:
    """Return the queue that leads to those behind a route: the only one that takes all that any of them takes."""
    behind = [partition for partition in queues(site) if partition.routed]
    partitions = [
        partition
        for partition in queues(site)
        if not partition.routed and behind and all(_routes_to(partition, other) for other in behind)
    ]
    return partitions[0] if len(partitions) == 1 else None


def _routes_to(queue: Partition, other: Partition) -> bool:
    own = (queue.min_nodes, queue.max_nodes, queue.max_walltime)
    its = (other.min_nodes, other.max_nodes, other.max_walltime)
    if None in own or None in its:
        return False
    (least, most, longest), (lower, upper, long) = ((bound or 0 for bound in bounds) for bounds in (own, its))
    return least <= lower and most >= upper and longest >= long


def open_to(site: Site, nodes: Optional[int], seconds: Optional[int]) -> List[Partition]:
    """Return the queues behind the route that may take a job of so many nodes and so much time; None is unknown.

    One that the site is not sure of may take anything.
    """
    behind = [partition for partition in site.partitions if partition.selector == "queue" and partition.routed]
    return [partition for partition in behind if not partition.sure or _fits(partition, nodes, seconds)]


def takes(row: Partition, nodes: int, seconds: int) -> bool:
    """Return whether a row surely takes so many nodes for so long; what is said of sizes of jobs counts."""
    longest = [size.max_walltime for size in row.sizes if size.min_nodes <= nodes <= size.max_nodes]
    most = max(longest) if longest else row.max_walltime
    return most is not None and seconds <= most and _fits(row, nodes, None)


def _fits(queue: Partition, nodes: Optional[int], seconds: Optional[int]) -> bool:
    if nodes is not None and queue.max_nodes is not None and nodes > queue.max_nodes:
        return False
    if nodes is not None and queue.min_nodes is not None and nodes < queue.min_nodes:
        return False
    return not (seconds is not None and queue.max_walltime is not None and seconds > queue.max_walltime)


def through_route(setting: Setting, job: Job, site: Site, why: str) -> Optional[Fix]:
    """Return the fix that names the routing queue in place of one behind it."""
    leads = route(site)
    made = restate(job, setting, leads.name.encode(), why) if leads is not None else None
    if made is None or leads is None:
        return None
    return made.fix(Safety.ASK, "%s, which leads there" % option(job, "queue", leads.name))
