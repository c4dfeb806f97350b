"""What a request or a script says of a job, slot by slot, each with the place it was read from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

Name = Literal[
    "site", "nodes", "gpus_per_node", "gpus_total", "ranks_per_node", "gpu", "paradigm", "launcher", "model", "program",
    "account", "partition", "queue", "qos", "filesystems", "walltime", "container", "array", "environment",
    "variables", "memory", "cpus_per_task", "cpus_per_node", "job_name", "output", "mail", "mail_on", "dependency",
]  # fmt: skip
NAMES: tuple[Name, ...] = Name.__args__  # type: ignore[attr-defined]
INTEGERS: frozenset[Name] = frozenset(
    ("nodes", "gpus_per_node", "gpus_total", "ranks_per_node", "cpus_per_task", "cpus_per_node")
)
PARADIGMS = ("ddp", "fsdp", "zero2", "zero3", "accelerate-ddp", "3d", "jax", "single")
LAUNCHERS = ("srun", "torchrun", "accelerate", "deepspeed", "mpiexec", "ibrun")
# Wishes that are no slot, and that change what is written.
RANK_A_GPU = "rank-a-gpu"  # it counts where a program has one process on a node otherwise
GPUS_EACH = "gpus-each"  # GPUs beside nodes of which nobody knows what they have: what was taken is told
By = Literal["request", "script", "option", "prompt", "earlier", "model", "site", "template", "derived"]


class Origin(NamedTuple):
    """Where a slot was read. *by* is who says so; *where* shows it to people: the words, the line, the key path.

    *start*, *end*: characters of the request, or bytes of the script; both 0 for what stands in neither.
    """

    by: By
    where: str = ""
    start: int = 0
    end: int = 0


class Slot(NamedTuple):
    """One value in normal form: an int for `INTEGERS`, else text.

    walltime is HH:MM:SS (hours may exceed 99), filesystems `eagle:home`, site and gpu the site file's own names (the
    id, the kind of node), paradigm one of `PARADIGMS` or the word said, program the command with its arguments as said,
    variables `NAME=value NAME=value`, memory (of a node) `200G`, mail_on `BEGIN,END,FAIL`, dependency `afterok:4711`.
    """

    name: Name
    value: int | str
    origin: Origin


class Slots(Mapping[str, Slot]):
    """The slots that were said, by name; at most one of each. Unchangeable."""

    __slots__ = ("_by_name",)

    def __init__(self, slots: Iterable[Slot] = ()) -> None:
        """Of two slots of one name the later stands."""
        self._by_name: dict[str, Slot] = {slot.name: slot for slot in slots}

    def __getitem__(self, name: str) -> Slot:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(name for name in NAMES if name in self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def number(self, name: Name) -> int | None:
        """Return the value of a slot of `INTEGERS`, None where it was not said."""
        value = self._by_name[name].value if name in self._by_name else None
        return value if isinstance(value, int) else None

    def text(self, name: Name) -> str:
        """Return the value of any other slot, "" where it was not said."""
        value = self._by_name[name].value if name in self._by_name else ""
        return value if isinstance(value, str) else str(value)

    def with_more(self, more: Iterable[Slot]) -> Slots:
        """Return these slots and *more*; where both say one, these stand."""
        return Slots([*more, *self._by_name.values()])

    def replaced(self, newer: Iterable[Slot]) -> Slots:
        """Return these slots and *newer*; where both say one, the newer stands."""
        return Slots([*self._by_name.values(), *newer])

    def as_json(self) -> dict[str, int | str]:
        """Return the values by name, in the order of `NAMES`."""
        return {name: self[name].value for name in self}


# What a request lacks, what was taken by default, what nobody read, and what cannot be had.


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


class Unread(NamedTuple):
    """*text*: as it stands in the request. *slot*, *value*: what it is on this site, "" where it is nothing there.

    *stops*: no script is written before somebody has said what it means.
    """

    text: str
    slot: str = ""
    value: str = ""
    stops: bool = False


class Lacking(NamedTuple):
    """What is missing, all of it, so that it is asked for once; and what was settled so far."""

    missing: tuple[Missing, ...]
    assumed: tuple[Assumed, ...] = ()
    advice: tuple[str, ...] = ()


class Refused(ValueError):
    """What was asked for cannot be had; one clear line. Nothing is written."""
