"""What the site demands of a request, and what of it is still unsaid."""

from __future__ import annotations

from collections.abc import Mapping, Set

from maple_submit_filter.site.facts import Demand

from ...base.missing import Missing
from ...base.slots import NAMES, Name
from ...templates.cluster import Cluster

# Which slot a directive says, by its long name.
_SLOT: Mapping[str, Name] = {
    "account": "account", "partition": "partition", "queue": "queue", "qos": "qos", "time": "walltime",
    "walltime": "walltime", "nodes": "nodes", "select": "nodes", "filesystems": "filesystems", "array": "array",
}  # fmt: skip
# What every script of ours says in the site's own form, once its layout is known.
_ALWAYS = frozenset(("ntasks", "ntasks-per-node", "gpus", "gpus-per-node", "gpus-per-task", "gres", "mpiprocs"))


def unsaid(
    cluster: Cluster, known: Set[str], place: str, earlier: Mapping[str, str], placed: bool = True
) -> tuple[Missing, ...]:
    """Return what the site demands and no slot of *known* says. *place*: the partition or queue, "" not known.

    *placed*: the place is settled, so that a demand for one needs no question.
    """
    found = [one for one in cluster.site.demands if one.applies in ("always", "gpu", place)]
    asked = [(slot, one) for one in found if (slot := _slot(one, cluster, known, placed)) is not None]
    first = {slot: one for slot, one in reversed(asked)}
    return tuple(_missing(slot, first[slot], cluster, earlier) for slot in NAMES if slot in first)


def _slot(demand: Demand, cluster: Cluster, known: Set[str], placed: bool) -> Name | None:
    """Return the slot to ask for, None where the demand is met or no slot would meet it."""
    slots = [_SLOT[one] for one in demand.options if one in _SLOT]
    if not slots or any(slot in known for slot in slots) or not _ALWAYS.isdisjoint(demand.options):
        return None
    return None if slots[0] in ("partition", "queue", "qos") and placed else slots[0]


def _missing(slot: Name, demand: Demand, cluster: Cluster, earlier: Mapping[str, str]) -> Missing:
    return Missing(slot, demand.says, _choices(slot, cluster), earlier.get(slot, ""))


def _choices(slot: Name, cluster: Cluster) -> tuple[str, ...]:
    """Return the file systems that the site file lists; of other slots nobody knows all values."""
    if slot != "filesystems" or cluster.file is None:
        return ()
    listed = next((one.value for one in cluster.file.path if one.name == "filesystems values"), "")
    return tuple(name.strip() for name in listed.split(",") if name.strip())
