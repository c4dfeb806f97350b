"""The way from a script that was read to one for another cluster."""

from __future__ import annotations

from ...extraction.script_parts import Foreign
from ...slots import Slots
from ..values import Cluster, Lacking
from .values import Carried


def carry(foreign: Foreign, cluster: Cluster, said: Slots = Slots()) -> Carried | Lacking:
    """Return the script for *cluster*, or what is missing for it. What was *said* beside the script wins over it.

    Raises `Refused` with one line, and the line of the script, where it cannot be carried with certainty.
    """
    raise NotImplementedError
