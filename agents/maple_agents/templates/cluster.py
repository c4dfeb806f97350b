"""A site with all that people wrote of it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from maple_submit_filter.site.facts import Site

if TYPE_CHECKING:  # they need pydantic, which costs a quarter of a second; `write.clusters` stands in for them
    from ..ask.sites.launch_templates import LaunchFile
    from ..ask.sites.model import SiteFile
    from .environments import Environment
    from .model_facts import Family
    from .paradigms import Paradigm


class Cluster(NamedTuple):
    """A site with all that people wrote of it. *file* and *environment* None: nobody has described it yet.

    *paradigms*, *families*: the whole repository. *launches*: by paradigm, the launch templates that fit the site,
    the best first.
    """

    site: Site
    file: SiteFile | None = None
    environment: Environment | None = None
    paradigms: Mapping[str, Paradigm] = MappingProxyType({})
    launches: Mapping[str, tuple[LaunchFile, ...]] = MappingProxyType({})
    families: tuple[Family, ...] = ()
