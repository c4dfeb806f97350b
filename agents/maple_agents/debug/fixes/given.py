"""What a typed fix is made from, and the register by which a remedy finds it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from maple_submit_filter.edits import Fix
from maple_submit_filter.job import Job
from maple_submit_filter.launch import LaunchPlan
from maple_submit_filter.site import Site

from ..knowledge.conditions import Fact
from ..values import Case, Digest


@dataclass(frozen=True, slots=True)
class Given:
    """*job*, *plan*: of the script that is to be changed. *caught*: what the log's words named: hostile text.

    *give*: the remedy's arguments, what was caught put in its places. *facts*: by the names of conditions.
    """

    case: Case
    job: Job
    plan: LaunchPlan
    site: Site
    digest: Digest
    facts: Mapping[str, Fact]
    caught: Mapping[str, str]
    give: Mapping[str, str | int | float]

    def word(self, name: str) -> str:
        """Return an argument as text, "" where it is not given."""
        return str(self.give.get(name, ""))

    def number(self, name: str, default: float) -> float:
        """Return an argument as a number."""
        value = self.give.get(name, default)
        return float(value) if isinstance(value, (int, float)) else default


Maker = Callable[[Given], "Fix | None"]
MADE: dict[str, Maker] = {}


def fix(name: str) -> Callable[[Maker], Maker]:
    """Register a typed fix under the name that remedies call it by.

    It returns edits of the given script, or None where it cannot be made there; whether they cure is checked by others.
    """

    def registered(maker: Maker) -> Maker:
        MADE[name] = maker
        return maker

    return registered
