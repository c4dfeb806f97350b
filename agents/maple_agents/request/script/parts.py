"""What a batch script of any cluster consists of, as spans: the values that reading one gives."""

from __future__ import annotations

from typing import Literal, NamedTuple

from maple_submit_filter.types.edits import Span
from maple_submit_filter.types.job import Job
from maple_submit_filter.types.launch_plan import LaunchPlan, Step

from ...base.slots import Slots

Kind = Literal["directive", "module", "transport", "rendezvous", "command", "launch"]


class Region(NamedTuple):
    """Bytes of the script that are bound to its cluster; all else is the user's. *name*: of the variable, the command.

    directive: a line that the scheduler reads. module: a command of the module system. transport: a variable of the
    network, a proxy. rendezvous: who leads, and who is which rank. command: one of the scheduler's own. launch: the
    words of a launcher.
    """

    kind: Kind
    span: Span
    line: int
    name: bytes = b""


class Words(NamedTuple):
    """The own words of one launcher on a launch line: its name in the plan, where they are written, in which quotes.

    *spans*: the first is where its name stands; more only where it was put together of several places.
    """

    name: str
    spans: tuple[Span, ...]
    quote: bytes


class Launch(NamedTuple):
    """One launch line. *outer*: what starts tasks on nodes; *agent*: what starts the ranks of a node; None: none.

    *program*: its command with arguments as written, where it is written in one piece. *at*: where a line of shell may
    be put in front of all that belongs to it. *small*: one task on one node, with no world around it.
    """

    steps: tuple[Step, ...]
    line: int
    outer: Words | None
    agent: Words | None
    program: Span | None
    quote: bytes
    at: int
    small: bool


class Foreign(NamedTuple):
    """A script as read. *site*: the id of the cluster it was written for, "" unknown. *slots*: what it says.

    *source*: with the line ends of Unix. *plan*: what would start at its own site. *wrong*: codes of what contradicts
    itself there. *notes*: what is worth saying of the reading, a sentence each, with the line.
    """

    source: bytes
    scheduler: str
    site: str
    slots: Slots
    regions: tuple[Region, ...]
    launches: tuple[Launch, ...]
    job: Job
    plan: LaunchPlan
    wrong: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
