"""Which of the places it is: the one that was said, the site's default, or the only one that takes the job."""

from __future__ import annotations

from collections.abc import Mapping, Set
from difflib import get_close_matches

from maple_submit_filter.site.facts import NodeKind, Partition

from ...base.slots import Assumed, Missing, Refused, Slots
from ...templates.cluster import Cluster
from . import places
from .layouts import Fitted, Misfit, Numbers, fit
from .places import Job, Spot


def settle(
    job: Job, slots: Slots, cluster: Cluster, wishes: Set[str], earlier: Mapping[str, str]
) -> tuple[Spot | None, tuple[Assumed, ...], tuple[Missing, ...]]:
    """Return the place with its layout, what was assumed for it, and what is missing to know it.

    Raises `Refused` where the cluster has no place that takes the job.
    """
    if not cluster.site.kinds:
        return _undescribed(job, cluster)
    wishes = wishes & _OF_PLACES
    _within_qos(job, slots.text("qos"), cluster)
    name = places.named(slots, cluster)
    if name:
        return _named(name, job, cluster)
    return _derived(job, cluster, wishes, earlier)


_OF_PLACES = frozenset(("debug", "interactive", "preempt", "shared"))
MOST_ON_ONE = 8  # GPUs: nodes with more are rare, and the scheduler refuses at once what a node does not have


def _undescribed(
    job: Job, cluster: Cluster, row: Partition | None = None
) -> tuple[Spot | None, tuple[Assumed, ...], tuple[Missing, ...]]:
    """A cluster, or a place of one, that nobody has described: the GPUs of a node are the user's to say.

    A few GPUs in all stand on one node.
    """
    numbers = job.numbers
    each = numbers.gpus_per_node or numbers.ranks_per_node
    if each is None and numbers.nodes is None and 0 < (numbers.gpus_total or 0) <= MOST_ON_ONE:
        each = numbers.gpus_total
    if each is None:
        what = "this cluster is not described" if row is None else "nobody has described the nodes of %s" % row.name
        says = "%s: give the number of GPUs per node, or name the cluster (--site)" % what
        return None, (), (Missing("gpus_per_node", says),)
    return Spot(row, (), _fit(job, each, None, cluster)), (), ()


def _fit(job: Job, most: int, kind: NodeKind | None, cluster: Cluster) -> Fitted:
    cards = places.cards(kind, cluster) if kind is not None else None
    whole = cluster.site.gpu_request.style == "whole-node"
    try:
        return fit(job.numbers, most, cards, whole, "%s nodes" % kind.name if kind is not None else "its nodes")
    except Misfit as error:
        raise Refused(str(error)) from error


def _named(name: str, job: Job, cluster: Cluster) -> tuple[Spot | None, tuple[Assumed, ...], tuple[Missing, ...]]:
    own = places.selector(cluster)
    names = [part.strip() for part in name.split(",")]
    rows = [row for row in cluster.site.partitions if row.selector == own and row.name in names]
    _refused(name, own, cluster)
    unknown = [unlisted for unlisted in names if unlisted not in {row.name for row in rows}]
    if unknown:
        return _unknown(unknown[0], own, job, cluster)
    spots, reasons = places.spots(job, tuple(rows), cluster)
    spots = spots or places.spots(job._replace(part=True), tuple(rows), cluster)[0]
    if not spots and all(_unknown_gpus(row, cluster) for row in rows):
        return _undescribed(job, cluster, rows[0])
    if not spots:
        why = reasons[0] if reasons else "%s: none of its nodes has the GPUs that are asked for" % name
        raise Refused("%s on %s" % (_as_sentence(why), cluster.site.id))
    first = spots[0]
    kinds = tuple(
        dict.fromkeys(kind for spot in spots for kind in spot.kinds if spot.fitted.numbers == first.fitted.numbers)
    )
    return Spot(first.row if len(rows) == 1 else None, kinds, first.fitted), (), ()


def _unknown_gpus(row: Partition, cluster: Cluster) -> bool:
    """Tell whether nobody knows how many GPUs the nodes there have."""
    return any((kind := cluster.site.kind(name)) is not None and kind.gpus is None for name in row.node_kinds)


def _refused(name: str, own: str, cluster: Cluster) -> None:
    """Raise `Refused` where the site says that such a place is not to be named."""
    for demand in cluster.site.refusals:
        if demand.effect == "refused" and own in demand.options and any(_is(name, value) for value in demand.values):
            raise Refused("%s %s: %s" % (own, name, demand.says))


def _is(name: str, pattern: str) -> bool:
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern


def _unknown(
    name: str, own: str, job: Job, cluster: Cluster
) -> tuple[Spot | None, tuple[Assumed, ...], tuple[Missing, ...]]:
    """A place that the site file does not know: there may be others, unless the file lists all."""
    known = [row.name for row in cluster.site.partitions if row.selector == own and not row.routed]
    lower = {place.lower(): place for place in known}
    near = [lower[match] for match in get_close_matches(name.lower(), lower, 1, 0.8)]
    near = near or [place for place in known if name.lower() in place.lower().split("-")]  # the dev queue: gpu-a100-dev
    if cluster.site.partitions_complete or near:
        meant = "did you mean %s?" % " or ".join(near) if near else "there are %s" % ", ".join(known)
        raise Refused("there is no %s %s on %s; %s" % (own, name, cluster.site.id, meant))
    kinds = [kind for kind in cluster.site.kinds if kind.gpus and (not job.kinds or kind.name in job.kinds)]
    counts = {kind.gpus for kind in kinds}
    if len(counts) == 1 or job.numbers.gpus_per_node is not None:
        most = max((kind.gpus or 0 for kind in kinds), default=1)
        return Spot(None, tuple(kinds), _fit(job, most, kinds[0] if len(kinds) == 1 else None, cluster)), (), ()
    says = "say how many GPUs a node of %s has: the site file does not know it" % name
    return None, (), (Missing("gpus_per_node", says),)


def _derived(
    job: Job, cluster: Cluster, wishes: Set[str], earlier: Mapping[str, str]
) -> tuple[Spot | None, tuple[Assumed, ...], tuple[Missing, ...]]:
    rows, own = places.rows(cluster), places.selector(cluster)
    fitting, reasons = places.spots(job, rows, cluster)
    wanted = [spot for spot in fitting if spot.row is not None and places.asked_for(spot.row, wishes)]
    wanted = _with_all(wanted) or wanted if job.numbers == Numbers(nodes=job.numbers.nodes) else wanted
    default = cluster.site.default_qos if own == "qos" else cluster.site.default_partition
    for spot in wanted:
        if spot.row is not None and spot.row.name == default:
            because = "scheduler.default_%s of the site file" % ("qos" if own == "qos" else "partition")
            return spot, (Assumed(own, default, because),), ()
    spots = [spot for spot in wanted if spot.row is not None and spot.row.name.lower() in wishes]
    if len(spots) == 1 and spots[0].row is not None:
        return spots[0], (Assumed(own, spots[0].row.name, "the %s of that name" % own),), ()
    if not wanted and len(fitting) == 1 and fitting[0].row is not None:
        because = "the only %s that takes the job; there is none of the kind that was wished for" % own
        return fitting[0], (Assumed(own, fitting[0].row.name, because),), ()
    if len(wanted) == 1 and wanted[0].row is not None:
        ordinary = not wishes and len(fitting) > 1  # others would take it: queues for tests, of jobs that may be ended
        because = "the only %s%s that takes %s" % (
            "such " if wishes else "", own + (" for ordinary jobs" if ordinary else ""), "it" if ordinary else "the job"
        )  # fmt: skip
        return wanted[0], (Assumed(own, wanted[0].row.name, because),), ()
    if (
        len(wanted) > 1
        and not wishes
        and len({(spot.kinds, spot.fitted.numbers) for spot in wanted}) == 1
        and not _demand(own, cluster)
    ):
        return wanted[0]._replace(row=None), (), ()  # the scheduler's own default decides
    if not fitting:
        raise Refused(_nowhere(reasons, own, job, cluster))
    return None, (), (_missing(own, [spot.row for spot in wanted or fitting if spot.row], cluster, earlier),)


def _with_all(spots: list[Spot]) -> list[Spot]:
    """Return those that give all GPUs of a node: a part of a node is for who asks for a part."""
    return [spot for spot in spots if all(spot.fitted.gpus_per_node == kind.gpus for kind in spot.kinds)]


def _demand(own: str, cluster: Cluster) -> str:
    """Return the site's words by which it wants a place named, "" where it does not."""
    return next((demand.says for demand in cluster.site.demands if own in demand.options), "")


def _missing(own: places.Selector, rows: list[Partition], cluster: Cluster, earlier: Mapping[str, str]) -> Missing:
    names = tuple(row.name for row in rows)
    says = _demand(own, cluster) or "name a %s: %s" % (
        own,
        "several take the job" if len(names) > 1 else "none is for all",
    )
    last = earlier.get(own, "")
    return Missing(own, says, names, last if last in names else "")


def _nowhere(reasons: list[str], own: str, job: Job, cluster: Cluster) -> str:
    if not reasons:
        has = ", ".join(kind.name for kind in cluster.site.kinds if kind.gpus)
        return "%s has no such nodes; with GPUs there are %s" % (cluster.site.id, has or "none")
    ordinary = [reason for reason in reasons if not places.purpose(reason.partition(":")[0])]
    return "no %s of %s takes the job; %s" % (own, cluster.site.id, _as_sentence((ordinary or reasons)[0]))


def _within_qos(job: Job, name: str, cluster: Cluster) -> None:
    """Raise `Refused` where the QOS that was said beside a partition does not take the job."""
    rows = tuple(row for row in cluster.site.partitions if row.selector == "qos" and row.name == name and row.sure)
    if places.selector(cluster) == "qos" or not rows:
        return
    spots, reasons = places.spots(job, rows, cluster)
    if not spots and reasons:
        raise Refused("%s on %s" % (reasons[0], cluster.site.id))


def _as_sentence(reason: str) -> str:
    name, _, why = reason.partition(": ")
    return "%s: %s" % (name, why) if why else name
