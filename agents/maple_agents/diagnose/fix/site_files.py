"""What only the site's whole file tells, beyond the facts that the submit path knows."""

from __future__ import annotations

from functools import lru_cache

from maple_submit_filter.site.facts import Site

from ...ask.sites import path
from ...ask.sites.files import parse
from ...ask.sites.model import SiteFile


def whole(site: Site) -> SiteFile | None:
    """Return the site's file, None where it has none that can be read: then nothing more is known."""
    return _read(site.id)


@lru_cache(maxsize=4)
def _read(site_id: str) -> SiteFile | None:
    try:
        filename = path(site_id)
        with open(filename, "rb") as file:
            return parse(file.read(), filename)
    except (OSError, ValueError):
        return None
