"""A request in words -> slots: what it says, what contradicts itself in it, and what was not understood."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..slots import Slots

if TYPE_CHECKING:
    from ..synthesis.values import Cluster


class SiteNames(NamedTuple):
    """How people call a cluster. *id*: of its site file."""

    id: str
    name: str
    center: str = ""
    aliases: tuple[str, ...] = ()


class Asked(NamedTuple):
    """What a request says.

    *slots*: only what stands there, each with the characters it was read from; `gpu`, `partition`, `queue` and `qos`
    as said until `resolve` gives them the site's own names. *contradictions*: one clear line each. *wishes*: see
    `WISHES`. *rest*: the words that were not understood. *ranks*: of the whole job, where they were said.
    *gpu_kinds*: the node kinds of the site that fit the GPU said, where they are several (`resolve`).
    """

    slots: Slots
    contradictions: tuple[str, ...] = ()
    wishes: frozenset[str] = frozenset()
    rest: str = ""
    ranks: int | None = None
    gpu_kinds: tuple[str, ...] = ()


Nearest = Callable[[str], Sequence[tuple[str, str]]]
"""Gives the slots ("paradigm", "model") or wishes ("wish") that a sentence nobody else understood comes nearest to."""


def read(text: str, *, clusters: Sequence[SiteNames] | None = None, nearest: Nearest | None = None) -> Asked:
    """Return what *text* says. *clusters*: those that can be named, None for all that have a site file.

    Raises nothing for odd text.
    """
    raise NotImplementedError


def resolve(asked: Asked, cluster: Cluster) -> Asked:
    """Return *asked* in the names of *cluster*: GPU -> node kind, "queue X" -> the selector that has an X there.

    What the cluster does not have becomes a contradiction.
    """
    raise NotImplementedError


def refusal(text: str) -> str | None:
    """Return in one line why *text* cannot be read as a request, None where it can."""
    raise NotImplementedError
