"""Cray MPICH's own numbering of ranks, which counts where a program takes its rank from MPI.

`MPICH_RANK_REORDER_METHOD` (intro_mpi, Cray MPICH 8): 0 deals ranks to the nodes in turn, 1 fills them, 2 goes to and
fro, 3 reads the file MPICH_RANK_ORDER.
"""

from __future__ import annotations

import re

from maple_submit_filter.types.launch_plan import LaunchPlan, Step

from . import placement
from .placement import Placement, Unplaced

NAME = "MPICH_RANK_REORDER_METHOD"
_VALUE = re.compile(rb"=[\"']?([0-3])[\"']?\Z")


def method(plan: LaunchPlan, source: bytes) -> int | None:
    """Return the method that the script sets, once and as a number; None where it sets none, or RANK itself."""
    spans = plan.assigned.get(NAME.encode(), ())
    if len(spans) != 1 or b"RANK" in plan.assigned:
        return None
    match = _VALUE.search(source[spans[0].start : spans[0].end])
    return int(match[1]) if match else None


def renumbered(step: Step, placed: Placement | Unplaced, chosen: int | None) -> Placement | Unplaced:
    """Return where MPI's ranks run under a method; unknown where the program may take others."""
    if isinstance(placed, Unplaced) or chosen in (None, 1) or not placed.per_node or placed.how != "block":
        return placed
    if not any(b"mpi" in word.lower() for word in step.program):
        return Unplaced("whether the program takes MPI's ranks, which %s orders, is not known" % NAME)
    if chosen == 3:
        return Unplaced("the file MPICH_RANK_ORDER orders MPI's ranks")
    nodes, each = placed.nodes, placed.per_node
    if chosen == 0:
        return placement.cyclic(nodes, each)
    rounds = [range(nodes) if turn % 2 == 0 else reversed(range(nodes)) for turn in range(each)]
    return placement.on([node for turn in rounds for node in turn])
