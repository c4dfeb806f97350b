"""How much of a GPU's memory a model needs while it is trained."""

from __future__ import annotations

import re
from collections.abc import Set
from typing import TYPE_CHECKING

from maple_submit_filter.site.facts import NodeKind

from ...templates.cluster import Cluster

if TYPE_CHECKING:
    from ...templates.model_facts import Family, Member
    from ...templates.paradigms import Paradigm

BYTES = {"parameters": 2, "gradients": 2, "optimizer": 12}
"""Bytes for each parameter: mixed precision with Adam, as section 3.1 of the ZeRO paper (arXiv 1910.02054) counts.

Weights and gradients in 16 bits, and in 32 bits the weights once more with Adam's two moments.
"""
LIGHTER = frozenset((
    "lora", "qlora", "dora", "peft", "adapter", "adapters", "8bit", "4bit", "quantized", "frozen", "linear-probe",
    "inference", "evaluation", "generate", "offload", "cpu-offload", "sgd", "adafactor",
))  # fmt: skip
"""Wishes under which the formula does not hold: not every parameter is trained, or not with Adam in memory."""
_SIZE = re.compile(r"(?<![A-Za-z0-9.])(\d+(?:\.\d+)?) ?([BbMm])(?![A-Za-z])")
_UNITS = {"b": 10**9, "m": 10**6}


def known(model: str, cluster: Cluster) -> tuple[Family, Member] | None:
    """Return the family and member of a model's normal name, its hub name or any other name of its own."""
    wanted = _plain(model)
    for family in cluster.families:
        for member in family.members:
            if wanted in {_plain(one) for one in (member.name, member.hub, *member.phrases) if one}:
                return family, member
    return None


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]+", "-", name.strip().lower())


def parameters(model: str, found: tuple[Family, Member] | None) -> int | None:
    """Return how many parameters a model has: by its facts, else by the size in its name ("7B"); None not known."""
    if found is not None:
        return found[1].parameters
    sizes = _SIZE.findall(re.sub(r"[_-]", " ", model))
    return int(float(sizes[-1][0]) * _UNITS[sizes[-1][1].lower()]) if sizes else None


def lighter(wishes: Set[str]) -> bool:
    """Tell whether the request says something by which less memory is needed than the formula says."""
    return not LIGHTER.isdisjoint(wish.lower().replace("_", "-").replace("-bit", "bit") for wish in wishes)


def gigabytes(count: int, paradigm: Paradigm, ranks: int) -> float:
    """Return the GB (10^9 bytes) that weights, gradients and optimizer states take on each GPU, without activations.

    What *paradigm* divides is divided by *ranks*, the rest is there whole. For tensor and pipeline parallelism with
    data parallel replicas this is the least that it can be.
    """
    each = sum(size / ranks if part in paradigm.divides else size for part, size in BYTES.items())
    return count * each / 1e9


def fewest_ranks(count: int, paradigm: Paradigm, memory: float) -> int | None:
    """Return on how many ranks a model of *count* parameters fits, with *memory* GB each; None on no number."""
    whole = sum(size for part, size in BYTES.items() if part not in paradigm.divides) * count / 1e9
    shared = sum(size for part, size in BYTES.items() if part in paradigm.divides) * count / 1e9
    if not shared:
        return 1 if whole <= memory else None
    return max(1, int(-(-shared // (memory - whole)))) if whole < memory else None


def of_device(cluster: Cluster, kinds: tuple[NodeKind, ...]) -> float | None:
    """Return the memory of one device in GB (10^9 bytes), of the smallest of *kinds*; None where one is not known.

    Where a card counts as several devices, each has its part of the card's memory.
    """
    found = [_of_kind(cluster, kind) for kind in kinds]
    return min((one for one in found if one is not None), default=None) if None not in found else None


def _of_kind(cluster: Cluster, kind: NodeKind) -> float | None:
    node = cluster.file.node.get(kind.name) if cluster.file is not None else None
    if node is None or node.gpu_memory_gib is None:
        return None
    shares = node.devices / node.gpus if node.devices and node.gpus else 1
    return node.gpu_memory_gib / shares * 2**30 / 1e9
