"""What lines are put together from and into: a line, the unit of an event, the voice of a process."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...values import Severity
from ..literals import Sort
from .prefixes import Prefix
from .tracebacks import Traceback

AT_MOST = 400  # lines of a unit
ASIDE = "Exception in thread "


@dataclass(slots=True)
class Line:
    """A line with what its prefix tells. *words*: from where they begin."""

    number: int
    text: str
    words: str
    told: Prefix
    sort: Sort | None
    key: int = 0


@dataclass
class Unit:
    """Lines of one event. *telling*: which of them tells it."""

    lines: list[Line]
    severity: Severity
    telling: int = 0
    traceback: Traceback | None = None
    chained: int = 0
    rank: int | None = None
    node: str = ""
    at: tuple[float, bool] | None = None
    loose: int = 0
    frames: list[tuple[str, int]] = field(default_factory=list)
    aside: bool = False  # of a thread beside the main one: a program goes on, and ends well, without it

    @property
    def told(self) -> Line:
        return self.lines[self.telling]


@dataclass
class Voice:
    """One process's lines, as far as they can be told from others'."""

    open: list[Unit] = field(default_factory=list)
    current: Unit | None = None
    last: Unit | None = None  # the last traceback that ended
    chains: bool = False
    connector: Line | None = None
    seen: int = 0
    before: Line | None = None
    box: list[Line] | None = None
    ruler: str = ""
    fields: dict[str, str] = field(default_factory=dict)

    @property
    def ignored(self) -> bool:
        """Whether what comes next was raised where Python goes on: in a finalizer."""
        return self.before is not None and self.before.words.startswith("Exception ignored in")
