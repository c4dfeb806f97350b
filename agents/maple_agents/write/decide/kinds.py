"""Which kinds of node were asked for, and how one of them is selected."""

from __future__ import annotations

from maple_submit_filter.site.facts import NodeKind

from ...base.slots import Missing, Refused, Slots
from ...templates.cluster import Cluster


def wanted(said: Slots, cluster: Cluster, gpu_kinds: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the kinds that will do, () any. Raises `Refused` where the site has no such kind."""
    name = said.text("gpu")
    if not cluster.site.kinds or not name:
        return gpu_kinds
    if cluster.site.kind(name) is None:
        known = ", ".join(kind.name for kind in cluster.site.kinds if kind.gpus)
        raise Refused("%s has no kind of node %s; with GPUs there are %s" % (cluster.site.id, name, known or "none"))
    return (name,)


def missing(kinds: tuple[NodeKind, ...], cluster: Cluster) -> Missing | None:
    """Return the question which kind it is, where the GPUs are asked for by their type and there are several."""
    types = dict.fromkeys(kind.gpu_type for kind in kinds)
    if "{type}" not in cluster.site.gpu_request.form or len(types) < 2:
        return None
    says = next((one.says for one in cluster.site.demands if "gpus" in one.options), "say the type of the GPUs")
    return Missing("gpu", says, tuple(kind.name for kind in kinds))


def feature(kind: NodeKind | None, among: tuple[NodeKind, ...]) -> str:
    """Return the feature that tells *kind* from the others behind the same place, "" where none does or none has to."""
    others = {one for each in among if kind is not None and each.name != kind.name for one in each.features}
    return next((one for one in kind.features if one not in others), "") if kind is not None and others else ""
