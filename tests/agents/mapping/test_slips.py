"""A sample of slips of placement is found about as often as it was, and no twin is accused."""

from __future__ import annotations

import random

from tests.agents.mapping import slips

FLOOR = 0.8


def test_slips_of_placement_are_found_and_their_twins_are_not() -> None:
    """`make bench-mapping` says which are missed, of all and in four scripts each."""
    chosen = random.Random(27).sample(slips.SLIPS, 14)
    rows = [row for slip in chosen for row in slips.made(slip, 1)]
    assert not [row for row in rows if row.accused]
    assert sum(bool(row.found) for row in rows) >= FLOOR * len(rows), slips.table(rows)
