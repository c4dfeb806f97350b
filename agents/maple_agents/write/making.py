"""The whole way from slots to a script that may be handed over."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import NamedTuple

from ..base.missing import Assumed, Lacking
from ..base.slots import Slots
from ..templates.cluster import Cluster
from .checked import checked
from .compose.composing import compose
from .decide.deciding import decide_plan
from .values import Plan


class Made(NamedTuple):
    """A script that passes `maple check`, the plan that it was made of, and what to know."""

    script: bytes
    plan: Plan
    advice: tuple[str, ...] = ()


def make(
    said: Slots,
    cluster: Cluster,
    wishes: Set[str] = frozenset(),
    earlier: Mapping[str, str] = {},
    ranks: int | None = None,
    gpu_kinds: tuple[str, ...] = (),
    hints: tuple[Assumed, ...] = (),
) -> Made | Lacking:
    """Return the script for what was said, or what is missing for one. Arguments are those of `decide_plan`.

    Raises `Refused` with one line where it cannot be had, `Mistaken` where the script made breaks a rule.
    """
    plan = decide_plan(said, cluster, wishes, earlier, ranks, gpu_kinds, hints)
    if isinstance(plan, Lacking):
        return plan
    script = compose(plan)
    checked(script, cluster)
    return Made(script, plan, plan.advice)
