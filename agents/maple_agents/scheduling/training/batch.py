"""How a total batch is split into GPUs and passes."""

from __future__ import annotations

import math
from typing import NamedTuple

from maple_agents.scheduling.training.application import Application

EDGE = 1e-8  # a quotient this little above a whole number is that number


class Split(NamedTuple):
    """*local*: samples a GPU and pass. *extra*: passes before the one that synchronises."""

    local: int
    extra: int

    def total(self, gpus: int) -> int:
        """Return the total batch size on *gpus*."""
        return gpus * self.local * (self.extra + 1)


def up(value: float) -> int:
    """Return *value* rounded up."""
    return math.ceil(value - EDGE)


def split(application: Application, batch: int, gpus: int, alone: bool = False) -> Split:
    """Return how *batch* is split on *gpus*; the total may differ a little from it.

    One GPU alone takes two passes beyond the first batch size, or always (*alone*), for the variance to be seen.
    """
    each = up(batch / gpus)
    extra = up(each / application.largest_local) - 1
    if gpus == 1 and (alone or batch > application.first_batch):
        extra = max(extra, 1)
    local = up(each / (extra + 1))
    return Split(min(local, application.largest_batch // (gpus * (extra + 1))), extra)
