"""What every part of the grammar hands on: a value, where it stands, and how surely it was said."""

from __future__ import annotations

from typing import NamedTuple

FAINT, WEAK, SAID, NAMED = 0, 1, 2, 3  # perhaps; by its shape alone; by its words; by its key ("nodes: 4", --nodes=4)
OPEN = "open"  # the name of a reading whose value is a complaint: what stands there cannot be one value
WISH = "wish"
RANKS = "ranks"  # of the whole job: no slot, but it has to agree with the others
GPUS = "gpus"  # a number of GPUs of which nobody said whether it is a node's or the job's
FROM = "from"  # the cluster that something comes from


class Reading(NamedTuple):
    """A value read from the characters *start* to *end*. *name*: a slot, or one of the names above."""

    name: str
    value: int | str
    start: int
    end: int
    strength: int = SAID
