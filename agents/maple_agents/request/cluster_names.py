"""What was said of GPUs, partitions and queues, in the names of one cluster."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from maple_submit_filter.site.facts import NodeKind, Partition, Site, kinds_with

from ..base.slots import GPUS_EACH, Name, Origin, Slot, Slots
from . import counts
from .language.vocabulary import listed, texts
from .phrases import KIND_X
from .unread import Asked, is_account
from .weights import INDEX

if TYPE_CHECKING:
    from ..templates.cluster import Cluster

_WORDS = texts("cluster_names")
_PLACES = ("partition", "queue", "qos")
_GENERIC = listed(_WORDS["generic"])


def resolved(asked: Asked, cluster: Cluster) -> Asked:
    """Return *asked* in the names of *cluster*."""
    return _indexed(_gpus_of_nodes(_kinds(_places(asked, cluster.site), cluster), cluster.site), cluster.site)


def _indexed(asked: Asked, site: Site) -> Asked:
    """Write "<task id>" in the program of an array as the scheduler's variable."""
    program = asked.slots.get("program")
    if program is None or "array" not in asked.slots or not INDEX.search(str(program.value)):
        return asked
    index = "$PBS_ARRAY_INDEX" if site.scheduler == "pbs" else "$SLURM_ARRAY_TASK_ID"
    slot = program._replace(value=INDEX.sub(lambda _: index, str(program.value)))
    return asked._replace(slots=asked.slots.replaced([slot]))


def _places(asked: Asked, site: Site) -> Asked:
    """A queue that is a partition or a QOS here becomes one; a word alone that only a partition can mean is one."""
    slots = dict(asked.slots)
    wrong = list(asked.contradictions)
    for name in _PLACES:
        if name in asked.slots and asked.slots[name].origin.by == "request":
            slot = slots.pop(name)
            row = _row(site, str(slot.value), name) or _named_in_part(site, str(slot.value))
            if row is not None:
                slots.setdefault(row.selector, slot._replace(name=row.selector, value=row.name))  # type: ignore[arg-type]
            elif str(slot.value).lower() in _GENERIC and site.partitions:
                continue
            elif "account" not in slots and is_account(str(slot.value), site):  # "ai partition abc123-gpu"
                slots["account"] = slot._replace(name="account")
            elif name != "qos" and site.partitions_complete:
                wrong.append(_no_place(site, name, str(slot.value)))
            else:
                own = name if name == "qos" else "queue" if site.scheduler == "pbs" else "partition"
                slots.setdefault(own, slot._replace(name=own))  # type: ignore[arg-type]
    if not any(name in slots for name in _PLACES):
        slots.update(_alone(asked, site))
    return asked._replace(slots=Slots(slots.values()), contradictions=tuple(wrong))


def _row(site: Site, value: str, words: str) -> Partition | None:
    rows = [row for row in site.partitions if row.name.lower() == value.lower()]
    return next((row for row in rows if row.selector == words), rows[0] if rows else None)


def _named_in_part(site: Site, value: str) -> Partition | None:
    """Return the place with GPUs that a word means as a part of its name: "the dev queue" is gpu-a100-dev.

    Of several that, whose name all the others end with: gpu-shared beside nairr-gpu-shared.
    """
    with_gpus = {kind.name for kind in site.kinds if kind.gpus != 0}
    rows = [
        row
        for row in site.partitions
        if value.lower() in row.name.lower().split("-") and not row.routed and with_gpus.intersection(row.node_kinds)
    ]
    return next((row for row in rows if all(other.name.endswith(row.name) for other in rows)), None)


def _no_place(site: Site, name: str, value: str) -> str:
    known = ", ".join(row.name for row in site.partitions if row.selector != "qos") or "none"
    return "%s has no %s %r; there are %s" % (site.id, name, value, known)


def _alone(asked: Asked, site: Site) -> dict[str, Slot]:
    """Return the partition whose very name stands in the request without a key word ("on gpuA100x4")."""
    rows = {row.name: row for row in site.partitions if not row.routed and re.search(r"\d|[a-z][A-Z]|-", row.name)}
    for left in asked.left:
        if (row := rows.get(left.text)) is not None and not left.aside and not left.denied:
            return {row.selector: Slot(row.selector, row.name, Origin("request", row.name, left.start, left.end))}  # type: ignore[arg-type]
    return {}


def _kinds(asked: Asked, cluster: Cluster) -> Asked:
    """The GPU said becomes the node kind that has it. Several stand in `gpu_kinds`; none is a contradiction."""
    slot = asked.slots.get("gpu")
    kinds = [kind for kind in cluster.site.kinds if kind.gpus != 0]
    if slot is None or slot.origin.by != "request" or not kinds:
        return asked
    fitting = [kind for kind in kinds if _fits(kind, str(slot.value), cluster)]
    counted = KIND_X.match(str(slot.value))
    if not fitting and counted:
        return _kinds(_with_count(asked, slot, counted.group(1), int(counted.group(2))), cluster)
    rest = Slots(slot for name, slot in asked.slots.items() if name != "gpu")
    if not fitting:
        by_feature = kinds_with(str(slot.value), {kind.name: kind.features for kind in kinds})
        fitting = [kind for kind in kinds if by_feature and kind.name in by_feature]
    if not fitting:
        known = ", ".join(dict.fromkeys(kind.gpu_model or kind.name for kind in kinds))
        wrong = "%s has no %s; its GPUs are %s" % (cluster.site.id, slot.value, known)
        return asked._replace(slots=rest, contradictions=(*asked.contradictions, wrong))
    fitting = _narrowed(fitting, asked, cluster.site)
    if len(fitting) == 1:
        return asked._replace(slots=rest.with_more([slot._replace(value=fitting[0].name)]))
    return asked._replace(slots=rest, gpu_kinds=tuple(kind.name for kind in fitting))


def _with_count(asked: Asked, slot: Slot, kind: str, number: int) -> Asked:
    """Take "A100x2" for two of a kind, where no node is called that."""
    more = [slot._replace(value=kind)]
    if not {"gpus_total", "gpus_per_node"} & set(asked.slots):
        name: Name = "gpus_per_node" if (asked.slots.number("nodes") or 1) > 1 else "gpus_total"
        more.append(slot._replace(name=name, value=number))
    rest = Slots(other for name, other in asked.slots.items() if name != "gpu")
    return asked._replace(slots=rest.with_more(more))


def _fits(kind: NodeKind, gpu: str, cluster: Cluster) -> bool:
    """Tell whether every word of the GPU gpu ("A100 80GB") is true of a kind of node."""
    if gpu.lower() == kind.name.lower() or gpu.lower() == kind.gpu_type.lower():
        return True
    memory = re.search(r"(?i)(\d{2,3}) ?g(?:i?b)?\b", gpu)
    table = cluster.file.node.get(kind.name) if cluster.file is not None else None
    if memory and table is not None and table.gpu_memory_gib and table.gpu_memory_gib != int(memory.group(1)):
        return False
    words = re.findall(
        r"[a-z]+\d+[a-z]*|\d+|[a-z]{3,}",
        re.sub(
            r"(?i)[ -]?\d{2,3} ?g(?:i?b)?\b|nvidia|amd|intel|tesla|instinct|geforce|gpus?\b|sxm\d?|pcie|nvl|hbm\d?e?",
            " ",
            gpu,
        ).lower(),
    )
    about = " ".join((kind.gpu_model, kind.gpu_type, kind.name)).lower()
    own = re.findall(r"[a-z]+\d+[a-z]*|\d+|[a-z]{3,}", re.sub(r"\([^)]*\)", " ", about))
    return all(_same(word, own) for word in words) and bool(words or memory)


def _same(word: str, own: list[str]) -> bool:
    other = {
        "pvc": "max",
        "ponte": "max",
        "vecchio": "max",
        "grace": "gh200",
        "hopper": "gh200",
        "max1550": "1550",
    }.get(word, word)
    return any(part in (word, other) or re.fullmatch(re.escape(other) + r"x\d+", part) for part in own)


def _narrowed(fitting: list[NodeKind], asked: Asked, site: Site) -> list[NodeKind]:
    """Return the kinds that the partition and the GPUs of a node said leave; all where they would leave none."""
    place = _place(asked, site)
    if place is not None and place.node_kinds:
        fitting = [kind for kind in fitting if kind.name in place.node_kinds] or fitting
    return [kind for kind in fitting if _enough(kind, asked)] or fitting


def _place(asked: Asked, site: Site) -> Partition | None:
    """Return the row of the partition, queue or QOS that stands in the slots."""
    places = [(name, asked.slots[name].value) for name in _PLACES if name in asked.slots]
    return next((row for row in site.partitions if (row.selector, row.name) in places), None)


def _enough(kind: NodeKind, asked: Asked) -> bool:
    number = asked.slots.number("gpus_per_node")
    return number is None or kind.gpus is None or kind.gpus >= number


_MOST_GPUS = 8  # that a node has, as a rule; more are the job's


def _gpus_of_nodes(asked: Asked, site: Site) -> Asked:
    """A bare number of GPUs beside a number of nodes is what fills whole nodes here: each node's, or the job's.

    Where nobody knows what a node has, it is each node's, as people mean it.
    """
    slot, nodes = asked.slots.get("gpus_total"), asked.slots.number("nodes")
    if not asked.gpus_open or slot is None or nodes is None or "gpus_per_node" in asked.slots:
        return asked
    named = asked.gpu_kinds or tuple(str(asked.slots[name].value) for name in ("gpu",) if name in asked.slots)
    whole = {kind.gpus for kind in site.kinds if kind.gpus and (not named or kind.name in named)}
    number = int(slot.value)
    open_ = not whole and 1 < number <= _MOST_GPUS and "ranks_per_node" not in asked.slots
    each = number in whole and number // nodes not in whole or open_ or not whole and 1 < number <= nodes
    if not each:
        return asked
    rest = Slots(slot for name, slot in asked.slots.items() if name != "gpus_total")
    more = asked._replace(slots=rest.with_more([slot._replace(name="gpus_per_node")]))
    more = more._replace(wishes=more.wishes | {GPUS_EACH}) if open_ and number % nodes == 0 else more
    ranks = counts.Counts(nodes, number, None, asked.slots.number("ranks_per_node"), asked.ranks)
    return more._replace(contradictions=(*more.contradictions, *counts.contradictions(ranks)))
