"""What a request lacks, what was taken by default, and what cannot be had."""

from __future__ import annotations

from typing import NamedTuple

from .slots import Name


class Assumed(NamedTuple):
    """A value that nobody said: *because* names the site's key, the template, or what it was derived from."""

    slot: Name
    value: int | str
    because: str


class Missing(NamedTuple):
    """What the site demands and nobody said. *says*: in the site's own words. *default*: the user's earlier value."""

    slot: Name
    says: str
    choices: tuple[str, ...] = ()
    default: str = ""


class Lacking(NamedTuple):
    """What is missing, all of it, so that it is asked for once; and what was settled so far."""

    missing: tuple[Missing, ...]
    assumed: tuple[Assumed, ...] = ()
    advice: tuple[str, ...] = ()


class Refused(ValueError):
    """What was asked for cannot be had; one clear line. Nothing is written."""
