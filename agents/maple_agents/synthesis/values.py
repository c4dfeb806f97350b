"""What synthesis speaks in: the layout of the ranks, what was taken by default, what is missing."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from maple_submit_filter.site import NodeKind, Partition, Site

from ..slots import Name, Slots

if TYPE_CHECKING:  # they need pydantic, which costs a quarter of a second; `kept` stands in for them
    from ..repository.environments import Environment
    from ..repository.model_facts import Family, Member
    from ..repository.paradigms import Paradigm
    from ..sites.model import SiteFile
    from ..templates import LaunchFile


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
    """All that a script is made of, decided: what was said, what was assumed, and the parts that fit.

    *kinds*: every kind of node that it may land on; *kind*: the only one, None where there are several or none known.
    *place*: the partition or queue (or the QOS, where the site places jobs by it), None where nobody names one.
    """

    cluster: Cluster
    said: Slots
    assumed: tuple[Assumed, ...]
    layout: Layout
    kind: NodeKind | None
    place: Partition | None
    paradigm: Paradigm
    launch: LaunchFile
    model: tuple[Family, Member] | None = None
    advice: tuple[str, ...] = ()
    kinds: tuple[NodeKind, ...] = ()

    def value(self, name: Name) -> int | str | None:
        """Return the value of a slot, said or assumed; None where it is neither."""
        if name in self.said:
            return self.said[name].value
        return next((one.value for one in self.assumed if one.slot == name), None)

    def text(self, name: Name) -> str:
        """Return the value of a slot as text, "" where it is neither said nor assumed."""
        value = self.value(name)
        return "" if value is None else str(value)


class Lacking(NamedTuple):
    """What is missing, all of it, so that it is asked for once; and what was settled so far."""

    missing: tuple[Missing, ...]
    assumed: tuple[Assumed, ...] = ()
    advice: tuple[str, ...] = ()


class Refused(ValueError):
    """What was asked for cannot be had; one clear line. Nothing is written."""
