"""From what was said to a plan of the job, or to what is missing."""

from __future__ import annotations

from collections.abc import Mapping, Set

from ..slots import Slots
from .values import Cluster, Lacking, Plan


def decide_plan(
    said: Slots, cluster: Cluster, wishes: Set[str] = frozenset(), earlier: Mapping[str, str] = {}
) -> Plan | Lacking:
    """Return the plan that *said* gives on *cluster*, or all that is missing for one.

    *wishes*: words of the request that change what is needed ("lora", "qlora", "8bit", "frozen", "inference",
    "debug"). *earlier*: the user's own earlier values by slot; only defaults of questions, never taken unasked.
    Raises `Refused` with one clear line where numbers contradict each other, or the cluster cannot do it.
    """
    raise NotImplementedError
