"""The figures that an administrator's page shows, as /figures.json and `maple admin report --json` have them too."""

from __future__ import annotations

from typing import Optional, TypedDict, Union

from ..install.report.audit import Late, Memory, OfPartition, OfRule, Seen


class Submissions(TypedDict):
    """*weeks*: by the Monday that begins each, submissions by what was done. *users*: how many, None where unknown.

    *ms*: time to the hand-over where something was found, by percentile.
    """

    weeks: dict[str, dict[str, int]]
    rules: list[OfRule]
    partitions: list[OfPartition]
    users: Optional[int]
    ms: dict[str, Optional[int]]
    late: list[Late]


class Failures(TypedDict):
    """Ends of jobs that failed: by week and kind, by kind, by the node they ran on, by the hour (UTC) they ended at.

    *classes*: by the class that maple-fix found or the scheduler named, "" for those that nobody looked into;
    *class_weeks*: by week and class; *class_nodes*: of the nodes of *nodes*, by class.
    """

    weeks: dict[str, dict[str, int]]
    kinds: dict[str, int]
    nodes: dict[str, int]
    hours: list[int]
    classes: dict[str, int]
    class_weeks: dict[str, dict[str, int]]
    class_nodes: dict[str, dict[str, int]]


class Foretold(TypedDict):
    """The newest runs played again, each forecast from those that had ended before.

    *told*: how many had a forecast. *twice*: share of these within a factor of two; *under*: share that ran longer;
    *held*: share that stayed below the bound that nine of ten should.
    """

    runs: int
    told: int
    twice: float
    under: float
    held: float


class Contradicted(TypedDict):
    """What a rule's changes came to, with the site key or template that spoke with it; users are a number."""

    code: str
    fact: str
    users: int
    ran: int
    failed: int


class AsWritten(TypedDict):
    """Jobs that ran or failed just as a rule had found them: it may be wrong here, or the fact behind it."""

    code: str
    ran: int
    failed: int


class HeldBack(TypedDict):
    """A change that a rule had and that was not made, and why: of so many scripts of so many users, the newest ones."""

    code: str
    why: str
    scripts: int
    users: int


class Refused(TypedDict):
    """Submissions of a partition ("" none said) that became no job; of *unseen* Maple had found nothing wrong."""

    partition: str
    submissions: int
    unseen: int


class Proof(TypedDict):
    """When a way of training was last seen to run here, and where."""

    paradigm: str
    on: str
    result: str
    where: str
    launch: str


class Health(TypedDict):
    """One check of the installation, as `maple admin doctor` has it."""

    name: str
    state: str
    says: str
    todo: str


class Window(TypedDict):
    """All of it. *made*: when, UTC. *silent*: what could not be read, and why; None stands in its place."""

    made: str
    since: str
    site: str
    submissions: Optional[Submissions]
    failures: Optional[Failures]
    forecasts: Optional[Foretold]
    facts: Optional[list[Contradicted]]
    as_written: Optional[list[AsWritten]]
    refused: Optional[list[Refused]]
    held_back: Optional[list[HeldBack]]
    proofs: list[Proof]
    health: list[Health]
    silent: list[str]


class Looked(TypedDict):
    """*window*: what `maple admin serve` shows."""

    window: Window


class Remembered(Looked):
    """`maple admin report --config`."""

    memory: Memory


class OfAudit(Seen, Looked):
    """`maple admin report` of an installation without a service that remembers."""


class Both(Seen, Remembered):
    """`maple admin report` of an installation with its service."""


Report = Union[OfAudit, Remembered, Both]


def reported(seen: Optional[Seen], memory: Optional[Memory], window: Window) -> Report:
    """Return what there is of both; one is there at least."""
    if memory is None:
        assert seen is not None
        return OfAudit(**seen, window=window)
    remembered = Remembered(memory=memory, window=window)
    return remembered if seen is None else Both(**seen, **remembered)
