"""A site with its checked file and its environment part, read from the disk."""

from __future__ import annotations

from typing import NamedTuple

from maple_submit_filter.site.facts import Site

from ..ask import sites
from ..ask.sites import files
from ..ask.sites.model import SiteFile
from . import environments
from .environments import Environment


class Described(NamedTuple):
    """All that is written of a cluster. *environment* None: it has no such part yet."""

    site: Site
    file: SiteFile
    environment: Environment | None


def described(site_id: str) -> Described:
    """Return what is written of a site. Raises `ValueError` with a line for each mistake, `OSError`."""
    path = sites.path(site_id)
    with open(path, "rb") as file:
        checked = files.parse(file.read(), path)
    return Described(sites.load(site_id), checked, environments.load(site_id))
