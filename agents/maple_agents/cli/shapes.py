"""The shapes of what `maple check` and `maple plan` print with `--json`; what is unknown is null.

`make docs` writes `docs/json/` and the blocks of docs/json.md from these classes. Text behind a type names its values.
"""

from __future__ import annotations

from typing import Annotated, Optional, TypedDict, Union


class FileLine(TypedDict):
    """A line of another file that the script calls or reads, and what it should be; Maple never changes it."""

    file: str
    line: int
    was: str
    becomes: str


class Finding(TypedDict):
    """What a rule says. *line*, *column*: null where it has no place there. *asks_for*: the slot that it wants."""

    code: str
    line: Optional[int]
    column: Optional[int]
    says: str
    safety: Annotated[str, "safe|ask|tell"]
    proven: bool
    asks_for: Optional[str]
    elsewhere: list[FileLine]


class Group(TypedDict):
    """A world: what rendezvouses."""

    nodes: Optional[int]
    ranks_per_node: Optional[int]
    world_size: Optional[int]
    master: Optional[str]


class Process(TypedDict):
    """One process that would start."""

    node: Optional[int]
    task: Optional[int]
    local_rank: Optional[int]
    rank: Optional[int]
    world_size: Optional[int]
    master: Optional[str]
    port: Optional[str]
    gpus: Optional[list[str]]
    cpus: Optional[int]


class GroupOfProcesses(Group):
    """A world with its processes. *complete*: they are all there."""

    complete: bool
    processes: list[Process]


class StepHead(TypedDict):
    """A launch line, with its launchers from outside in."""

    line: int
    launchers: list[str]
    nodes: Optional[int]
    tasks_per_node: Optional[int]
    workers_per_task: Optional[int]


class Step(StepHead):
    """A launch line and what it starts. *unknown*: what could not be known of it, in phrases."""

    groups: list[Group]
    unknown: list[str]


class PlannedStep(StepHead):
    """A launch line, every process that it starts, and the words of its program."""

    groups: list[GroupOfProcesses]
    unknown: list[str]
    program: list[str]


class Steps(TypedDict):
    """The launch lines of a script."""

    steps: list[Step]


class Changed(TypedDict):
    """Why a line is another."""

    line: int
    because: str


class Rewritten(TypedDict):
    """A script and submit command in place of those that were written."""

    script: str
    argv: list[str]
    diff: str
    edits: list[Changed]


class Offer(Rewritten):
    """One of several ways, and what it comes to in sentences."""

    says: list[str]


class HeldBack(TypedDict):
    """A fix that is not taken, and why."""

    code: str
    why: str


class Check(TypedDict):
    """`maple check` of one script. *repaired*: what mode `repair` submits; *offered*: with every offer accepted."""

    site: str
    site_known_by: str
    scheduler: str
    mode: str
    verdict: Annotated[str, "clean|repaired|findings|unread"]
    findings: list[Finding]
    plan: Steps
    repaired: Optional[Rewritten]
    offered: Optional[Rewritten]
    offers: list[Offer]
    held_back: list[HeldBack]


class NamedCheck(Check):
    """One of several scripts."""

    script: str


class Unreadable(TypedDict):
    """A script that could not be read."""

    script: str
    error: str


class Checks(TypedDict):
    """`maple check` of several scripts."""

    scripts: list[Union[NamedCheck, Unreadable]]


class Allocation(TypedDict):
    """What the scheduler grants."""

    nodes: Optional[int]
    tasks: Optional[int]
    tasks_per_node: Optional[int]
    cpus_per_task: Optional[int]
    gpus_per_node: Optional[int]
    gpus_per_task: Optional[int]
    node_kinds: list[str]
    partition: Optional[str]


class UnreadLine(TypedDict):
    """What of a script could not be understood."""

    line: int
    says: str


class Plan(TypedDict):
    """`maple plan`: every process that would start."""

    site: str
    site_known_by: str
    scheduler: str
    allocation: Optional[Allocation]
    steps: list[PlannedStep]
    unread: list[UnreadLine]
