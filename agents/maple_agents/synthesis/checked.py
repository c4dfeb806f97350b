"""Every script that we hand over passes the rules of the submit path."""

from __future__ import annotations

from maple_submit_filter.decide import Decision

from .values import Cluster


class Mistaken(ValueError):
    """A script of ours breaks a rule: our mistake, said in one line. Nothing is written."""


def checked(script: bytes, cluster: Cluster) -> Decision:
    """Return what `maple check` decides of *script* on *cluster*. Raises `Mistaken` where it is not clean."""
    raise NotImplementedError
