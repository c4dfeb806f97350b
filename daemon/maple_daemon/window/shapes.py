"""The figures that an administrator's page shows, as `maple admin serve` gives them at /figures.json too."""

from __future__ import annotations

from typing import Optional, TypedDict

from ..install.report.shapes import Late, OfPartition, OfRule


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
    """Ends of jobs that failed: by week and kind, by kind, by the node they ran on, by the hour (UTC) they ended at."""

    weeks: dict[str, dict[str, int]]
    kinds: dict[str, int]
    nodes: dict[str, int]
    hours: list[int]


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
    proofs: list[Proof]
    health: list[Health]
    silent: list[str]
