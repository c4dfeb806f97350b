"""Where a job goes: the partitions, queues or QOS that take it, and the kinds of node behind each.

Which kinds of node were asked for, and how one of them is selected.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from typing import TYPE_CHECKING, Literal, NamedTuple

from maple_submit_filter.cures.places import open_to, route
from maple_submit_filter.site.facts import NodeKind, Partition

from ...base.quantities import clock, of_clock
from ...base.slots import Missing, Refused, Slots
from ...templates.cluster import Cluster
from .layouts import Fitted, Misfit, Numbers, fit

if TYPE_CHECKING:
    from ...ask.sites.model import PartitionTable

Selector = Literal["partition", "queue", "qos"]

# A place whose name has one of these words is for a purpose: nobody is sent there who did not ask for it.
_PURPOSES = {
    "debug": ("debug", "dev", "devel", "develop", "development", "test", "testing", "scaling", "short"),
    "interactive": ("interactive", "interact", "jupyter", "vis", "visualization"),
    "preempt": ("preempt", "preemptable", "preemptible", "preemptive", "scavenge", "scavenger", "backfill", "spot"),
    "premium": ("premium", "urgent", "express", "high", "realtime", "demand", "reserved"),
    "cheap": ("overrun", "low", "idle", "free", "standby"),
}
_PURPOSE = {word: purpose for purpose, words in _PURPOSES.items() for word in words}


class Spot(NamedTuple):
    """A place that takes the job, with the kinds of node behind it that do, and the layout there.

    *row*: None where the site file does not know the place, or knows none.
    """

    row: Partition | None
    kinds: tuple[NodeKind, ...]
    fitted: Fitted


class Job(NamedTuple):
    """What decides about the place. *walltime*: in seconds. *kinds*: names of those that will do, () any.

    *part*: a node of which the job uses a part will do where whole ones are given.
    """

    numbers: Numbers
    walltime: int | None = None
    kinds: tuple[str, ...] = ()
    part: bool = False


def selector(cluster: Cluster) -> Selector:
    """Return by what the site places jobs; a Slurm site that lists no partition does it by QOS."""
    if cluster.site.scheduler == "pbs":
        return "queue"
    rows = {row.selector for row in cluster.site.partitions}
    return "qos" if "qos" in rows and "partition" not in rows else "partition"


def named(asked: Slots, cluster: Cluster) -> str:
    """Return the place that was said, "" where none was. People call a partition a queue, and a QOS as well.

    Raises `Refused` where two are named.
    """
    own = selector(cluster)
    slots: tuple[Selector, ...] = (own, "partition", "queue")  # a QOS beside a partition is one of its own
    names = list(dict.fromkeys(asked.text(name) for name in slots if asked.text(name)))
    if len(names) > 1:
        raise Refused("two places are named: %s; name one" % " and ".join(names))
    return names[0] if names else ""


def purpose(name: str) -> str:
    """Return what a place is for, by the words of its name; "" where it is for ordinary jobs."""
    words = re.split(r"[^a-z]+", name.lower())
    return next((_PURPOSE[word] for word in words if word in _PURPOSE), "")


def rows(cluster: Cluster) -> tuple[Partition, ...]:
    """Return every place that a job may name there, and that anybody may use."""
    own = selector(cluster)
    return tuple(
        row
        for row in cluster.site.partitions
        if row.selector == own and not row.routed and row.sure and not _table(row, cluster, "access")
    )


def unnamed(cluster: Cluster) -> tuple[str, ...]:
    """Return a sentence for a job that names no place, where the site file does not know which one it gets then."""
    own, site = selector(cluster), cluster.site
    known = [row.name for row in rows(cluster)]
    if not known or (site.default_qos if own == "qos" else site.default_partition):
        return ()
    word = "QOS" if own == "qos" else own
    return (f"No {word} is named: the scheduler's default decides. At {site.id} there are {', '.join(known)}.",)


def unlisted(name: str, cluster: Cluster) -> tuple[str, ...]:
    """Return a sentence for a place that was named and that the site file does not know."""
    own, site = selector(cluster), cluster.site
    known = {row.name for row in site.partitions if row.selector == own}
    unknown = [part.strip() for part in name.split(",") if part.strip() not in known]
    if not known or not unknown:
        return ()
    there = ", ".join(row.name for row in rows(cluster))
    return (f"{own} {', '.join(unknown)}: Maple does not know it at {site.id} (known: {there}).",)


def spots(job: Job, among: tuple[Partition, ...], cluster: Cluster) -> tuple[list[Spot], list[str]]:
    """Return where the job fits among these rows, and why not elsewhere, a line each."""
    open_spots: list[Spot] = []
    reasons: list[str] = []
    for row in among:
        try:
            spot = _spot(job, row, cluster)
        except Misfit as error:
            reasons.append("%s: %s" % (row.name, error))
            continue
        if spot is not None:
            open_spots.append(spot)
    return open_spots, reasons


def _spot(job: Job, row: Partition, cluster: Cluster) -> Spot | None:
    """Return the row with those of its kinds that take the job; None where it has none with GPUs, or another kind.

    Raises `Misfit` where a kind would do, and the numbers do not fit.
    """
    kinds = [kind for name in row.node_kinds if (kind := cluster.site.kind(name)) is not None and kind.gpus]
    kinds = [kind for kind in kinds if not job.kinds or kind.name in job.kinds]
    if not kinds:
        return None
    fits: list[tuple[NodeKind, Fitted]] = []
    wrong: Misfit | None = None
    for kind in kinds:
        try:
            fits.append((kind, _fitted(job, row, kind, cluster)))
        except Misfit as error:
            wrong = wrong or error
    if not fits:
        raise wrong or Misfit("no kind of node fits")
    first = fits[0][1]
    return Spot(row, tuple(kind for kind, fitted in fits if fitted.numbers == first.numbers), first)


def _fitted(job: Job, row: Partition, kind: NodeKind, cluster: Cluster) -> Fitted:
    has = kind.gpus or 0
    most = has if row.gpus_per_node is None else min(has, row.gpus_per_node)
    whole = whole_nodes(row, cluster)
    fitted = fit(job.numbers, most, cards(kind, cluster), whole, "%s nodes" % kind.name)
    if whole and not job.part and cluster.site.gpu_request.style != "whole-node" and fitted.gpus_per_node < has:
        raise Misfit("whole nodes only, and %s nodes have %d GPUs" % (kind.name, has))
    there = cluster.file.node[kind.name].count if cluster.file is not None and kind.name in cluster.file.node else None
    if there is not None and fitted.nodes is not None and fitted.nodes > there:
        raise Misfit("%d nodes, and there are %d %s nodes" % (fitted.nodes, there, kind.name))
    _within(fitted, job.walltime, row, cluster)
    return fitted


def _within(fitted: Fitted, walltime: int | None, row: Partition, cluster: Cluster) -> None:
    nodes = fitted.nodes
    if nodes is not None and row.max_nodes is not None and nodes > row.max_nodes:
        raise Misfit("%d nodes, and at most %d are given" % (nodes, row.max_nodes))
    if nodes is not None and row.min_nodes is not None and nodes < row.min_nodes:
        raise Misfit("%d nodes, and at least %d are wanted" % (nodes, row.min_nodes))
    if nodes is not None and row.max_gpus is not None and nodes * fitted.gpus_per_node > row.max_gpus:
        raise Misfit("%d GPUs, and at most %d are given" % (nodes * fitted.gpus_per_node, row.max_gpus))
    most = longest(row, nodes, cluster)
    if walltime is not None and most is not None and walltime > most:
        raise Misfit("%s, and at most %s is given" % (clock(walltime), clock(most)))
    leads = route(cluster.site)
    if leads is not None and leads.name == row.name and not open_to(cluster.site, nodes, walltime):
        wanted = "so many nodes" if nodes is None else "%d nodes" % nodes
        wanted += " for %s" % clock(walltime) if walltime is not None else ""
        names = ", ".join(place.name for place in open_to(cluster.site, None, None))
        raise Misfit("%s, and none of the queues behind it takes that (%s)" % (wanted, names))
    least = of_clock(str(_table(row, cluster, "min_walltime") or ""))
    if walltime is not None and least is not None and walltime < least:
        raise Misfit("%s, and at least %s is wanted" % (clock(walltime), clock(least)))


def longest(row: Partition, nodes: int | None, cluster: Cluster) -> int | None:
    """Return the longest walltime of a job of so many nodes there, in seconds; None not known."""
    bins = _table(row, cluster, "size_bins") or []
    if nodes is None or not isinstance(bins, list):
        return row.max_walltime
    fitting = [of_clock(size.max_walltime) for size in bins if size.min_nodes <= nodes <= size.max_nodes]
    return min([limit for limit in (*fitting, row.max_walltime) if limit is not None], default=None)


def whole_nodes(row: Partition, cluster: Cluster) -> bool:
    """Tell whether a job there gets whole nodes: it is said so, or another place is the one that shares nodes."""
    if row.shared is not None:
        return not row.shared
    return (
        any(partition.shared for partition in cluster.site.partitions) or cluster.site.gpu_request.style == "whole-node"
    )


def cards(kind: NodeKind, cluster: Cluster) -> int | None:
    """Return how many cards such a node has where a card counts as several devices, else None."""
    node = cluster.file.node.get(kind.name) if cluster.file is not None else None
    return node.gpus if node is not None and node.gpus and node.devices not in (None, node.gpus) else None


def asked_for(row: Partition, wishes: Set[str]) -> bool:
    """Tell whether the request asks for such a place: for an ordinary one, where it says nothing."""
    wanted = {_PURPOSE[wish] for wish in wishes if wish in _PURPOSE}
    return purpose(row.name) in wanted if wanted else not purpose(row.name)


def _table(row: Partition, cluster: Cluster, key: str) -> object:
    """Return what the site file says of a place under *key*, None where it says nothing."""
    partition_table = next(_tables(row, cluster), None)
    return getattr(partition_table, key, None) if partition_table is not None else None


def _tables(row: Partition, cluster: Cluster) -> Iterator[PartitionTable]:
    if cluster.file is not None:
        tables = {"partition": cluster.file.partition, "qos": cluster.file.qos, "queue": cluster.file.queue}
        if row.name in tables[row.selector]:
            yield tables[row.selector][row.name]


def kinds_wanted(slots: Slots, cluster: Cluster, gpu_kinds: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the kinds that will do, () any. Raises `Refused` where the site has no such kind."""
    name = slots.text("gpu")
    if not cluster.site.kinds or not name:
        return gpu_kinds
    if cluster.site.kind(name) is None:
        known = ", ".join(kind.name for kind in cluster.site.kinds if kind.gpus)
        raise Refused("%s has no kind of node %s; with GPUs there are %s" % (cluster.site.id, name, known or "none"))
    return (name,)


def kinds_missing(kinds: tuple[NodeKind, ...], cluster: Cluster) -> Missing | None:
    """Return the question which kind it is, where the GPUs are asked for by their type and there are several."""
    types = dict.fromkeys(kind.gpu_type for kind in kinds)
    if "{type}" not in cluster.site.gpu_request.form or len(types) < 2:
        return None
    says = next(
        (demand.says for demand in cluster.site.demands if "gpus" in demand.options), "say the type of the GPUs"
    )
    return Missing("gpu", says, tuple(kind.name for kind in kinds))


def feature_of(kind: NodeKind | None, among: tuple[NodeKind, ...]) -> str:
    """Return the feature that tells *kind* from the others behind the same place, "" where none does or none has to."""
    others = {feature for each in among if kind is not None and each.name != kind.name for feature in each.features}
    return (
        next((feature for feature in kind.features if feature not in others), "") if kind is not None and others else ""
    )
