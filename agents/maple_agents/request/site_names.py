"""How people call a cluster."""

from __future__ import annotations

from typing import NamedTuple


class SiteNames(NamedTuple):
    """The names of a cluster. *id*: of its site file."""

    id: str
    name: str
    center: str = ""
    aliases: tuple[str, ...] = ()
