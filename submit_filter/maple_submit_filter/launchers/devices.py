"""Which of a node's devices a process sees: the variable that hides the others depends on whose GPUs they are.

CUDA_VISIBLE_DEVICES for NVIDIA (HIP takes it beside its own); ZE_AFFINITY_MASK for Intel, by device or as `card.tile`.
"""

from __future__ import annotations

import re
from typing import Callable, List, Optional, Sequence, Tuple

from ..site.facts import NodeKind
from ..types.text import Text

CUDA, LEVEL_ZERO, HIERARCHY = b"CUDA_VISIBLE_DEVICES", b"ZE_AFFINITY_MASK", b"ZE_FLAT_DEVICE_HIERARCHY"
HIP = b"HIP_VISIBLE_DEVICES"
ROCR = b"ROCR_VISIBLE_DEVICES"  # below the other two, which count in what it leaves
MASKS = (CUDA, LEVEL_ZERO, HIP, ROCR)
PLACING = (b"FI_CXI_DEVICE_NAME", b"OMP_PLACES", b"GOMP_CPU_AFFINITY", b"KMP_AFFINITY")  # ports and cores of libraries
NO_DEVICE = (b"", b"-1", b"none", b"NoDevFiles")  # values by which CUDA sees none
ON_CPU = re.compile(rb"(^|[ =])(gloo|mpi|cpu|--cpu|--no[-_]cuda)( |$)")  # words of a run that uses none
Value = Callable[[bytes], Optional[Text]]
Devices = Optional[Tuple[bytes, ...]]


def mask_of(kinds: Sequence[NodeKind]) -> bytes:
    """Return the variable by which devices are hidden on these kinds of node."""
    return LEVEL_ZERO if any(kind.gpu_vendor == "intel" for kind in kinds) else CUDA


def seen(value: Value, kinds: Sequence[NodeKind], given: Devices) -> Devices:
    """Return the devices that a process sees of those *given*, by the variables that *value* returns; None unknown."""
    name = mask_of(kinds)
    amd = bool(kinds) and all(kind.gpu_vendor == "amd" for kind in kinds)
    if amd and value(ROCR) is not None:
        return _within(visible(value(HIP) or value(name), given), visible(value(ROCR), given))
    if value(HIP) is not None and kinds and all(kind.gpu_vendor == "amd" for kind in kinds):
        return visible(value(HIP), given)
    return _of_tiles(value(name), value(HIERARCHY), given) if name == LEVEL_ZERO else visible(value(name), given)


def visible(value: Optional[Text], given: Devices) -> Devices:
    """Return what is left of *given* by CUDA_VISIBLE_DEVICES; None unknown."""
    if value is None or value.raw == b"\0same:cvd\0":
        return given
    if not value.literal:
        return None
    if value.raw in NO_DEVICE:
        return ()
    entries = tuple(entry.strip() for entry in value.raw.split(b",") if entry.strip())
    return entries if all(entry.isdigit() for entry in entries) else None


def _within(chosen: Devices, left: Devices) -> Devices:
    """Return the devices of *left* whose places in it are *chosen*; all where nothing was chosen of the whole."""
    if left is None or chosen is None or len(chosen) > len(left):
        return left
    places = [int(place) for place in chosen if place.isdigit()]
    return tuple(left[place] for place in places) if all(place < len(left) for place in places) else left


def _of_tiles(value: Optional[Text], hierarchy: Optional[Text], given: Devices) -> Devices:
    """Return the tiles that an Intel mask leaves, numbered through over the cards of two.

    Plain numbers count tiles in the flat hierarchy, which PyTorch wants, and cards in the composite one.
    """
    if value is None or not value.raw:
        return given
    if not value.literal:
        return None
    out: List[bytes] = []
    for entry in value.raw.split(b","):
        card, dot, tile = entry.strip().partition(b".")
        if not card.isdigit() or (dot and tile not in (b"0", b"1")) or len(card) > 4:
            return None
        if not dot and hierarchy is not None and hierarchy.raw != b"FLAT":
            return None
        out.append(b"%d" % (2 * int(card) + int(tile)) if dot else card)
    return tuple(out)
