"""What synthesis speaks in: the layout of the ranks, what was taken by default, what is missing."""

from __future__ import annotations

from typing import NamedTuple

from maple_submit_filter.site import NodeKind, Partition, Site

from ..repository.environments import Environment
from ..repository.model_facts import Family, Member
from ..repository.paradigms import Paradigm
from ..sites.model import SiteFile
from ..slots import Name, Slots
from ..templates import LaunchFile


class Cluster(NamedTuple):
    """A site with all that people wrote of it. *file* and *environment* None: nobody has described it yet."""

    site: Site
    file: SiteFile | None = None
    environment: Environment | None = None


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


class Layout(NamedTuple):
    """Which ranks go where. *tasks_per_node*: what the outer launcher starts on a node, 1 where another fans out."""

    nodes: int
    gpus_per_node: int
    ranks_per_node: int
    tasks_per_node: int
    cpus_per_task: int | None = None  # None: not known here, so not asked for

    @property
    def ranks(self) -> int:
        """The size of the world."""
        return self.nodes * self.ranks_per_node


class Plan(NamedTuple):
    """All that a script is made of, decided: what was said, what was assumed, and the parts that fit."""

    cluster: Cluster
    said: Slots
    assumed: tuple[Assumed, ...]
    layout: Layout
    kind: NodeKind | None
    place: Partition | None  # the partition or queue it goes to
    paradigm: Paradigm
    launch: LaunchFile
    model: tuple[Family, Member] | None = None
    advice: tuple[str, ...] = ()


class Lacking(NamedTuple):
    """What is missing, all of it, so that it is asked for once; and what was settled so far."""

    missing: tuple[Missing, ...]
    assumed: tuple[Assumed, ...] = ()
    advice: tuple[str, ...] = ()


class Refused(ValueError):
    """What was asked for cannot be had; one clear line. Nothing is written."""
