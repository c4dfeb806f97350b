"""What synthesis speaks in: the layout of the ranks, what was taken by default, what is missing.

What carrying a script gives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from maple_submit_filter.site.facts import NodeKind, Partition

from ..base.slots import Assumed, Name, Slots

if TYPE_CHECKING:
    from ..ask.sites.launch_templates import LaunchFile
    from ..templates.cluster import Cluster
    from ..templates.model_facts import Family, Member
    from ..templates.paradigms import Paradigm


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
    slots: Slots
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
        if name in self.slots:
            return self.slots[name].value
        return next((assumed.value for assumed in self.assumed if assumed.slot == name), None)

    def text(self, name: Name) -> str:
        """Return the value of a slot as text, "" where it is neither said nor assumed."""
        value = self.value(name)
        return "" if value is None else str(value)


class Carried(NamedTuple):
    """*script*: for the new cluster; it passes `maple check`. *plan*: what its parts were made of; None where the
    script stays, but for small repairs, and something that it does not say could not be decided.

    *advice*: what was left out, and what to look at, a sentence each with the line of the old script. *unchanged*: the
    script was right as it stood.
    """

    script: bytes
    plan: Plan | None
    advice: tuple[str, ...] = ()
    unchanged: bool = False
