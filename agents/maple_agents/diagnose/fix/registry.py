"""What a typed fix is made from, and the register by which a remedy finds it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from maple_submit_filter.site.facts import Site
from maple_submit_filter.types.edits import Fix
from maple_submit_filter.types.job import Job
from maple_submit_filter.types.launch_plan import LaunchPlan

from ...templates.knowledge.conditions import Fact
from ..diagnosis import said
from ..values import Case, Cause, Digest, Event

# What a log named may stand in a script only where it is one plain word: no expansion, no quote, no blank.
PLAIN = re.compile(r"[A-Za-z0-9_.,:/=+@%^-]{1,300}\Z")
_NAMES = re.compile(r"\{(\w+)\}")


class Unfit(ValueError):
    """A value that a log named may not stand in a script."""


@dataclass(frozen=True, slots=True)
class Given:
    """*job*, *plan*: of the script that is to be changed. *first*: the job as it was submitted: what a request is
    raised from, so that making a fix twice does not raise it twice.

    *cause*: its values are what the log's words named: hostile text. *give*: the remedy's arguments, as they are
    written in the knowledge base.
    """

    case: Case
    job: Job
    first: Job
    plan: LaunchPlan
    site: Site
    digest: Digest
    facts: Mapping[str, Fact]
    cause: Cause
    give: Mapping[str, str | int | float]

    def text(self, name: str) -> str:
        """Return an argument with what the log named in it: for comparing, never for a script. "" if not given."""
        return said(str(self.give.get(name, "")), self.cause.values)

    def word(self, name: str) -> str:
        """Return an argument that may stand in a script. Raises `Unfit` where the log named something that may not."""
        value = str(self.give.get(name, ""))
        if not all(PLAIN.match(self.caught(one)) for one in _NAMES.findall(value)):
            raise Unfit(name)
        return self.text(name)

    def number(self, name: str, default: float) -> float:
        """Return an argument as a number."""
        value = self.give.get(name, default)
        return float(value) if isinstance(value, (int, float)) else default

    def caught(self, name: str) -> str:
        """Return what the log named, "" for nothing. It is hostile text."""
        return self.cause.values.get(name, "")

    def event(self) -> Event | None:
        """Return the event that proves the cause, None where it is known by no words."""
        if not self.cause.evidence:
            return None
        at = self.cause.evidence[0]
        of = (one for one in self.digest.events if one.place.file == at.file)
        return next((one for one in of if at.line == one.place.line or at.line in one.unit_at), None)

    @property
    def own(self) -> bool:
        """Whether the job is one's own: only then is anything looked for among the user's files."""
        return self.job.submission.uid == os.getuid()


Maker = Callable[[Given], "Fix | None"]
MADE: dict[str, Maker] = {}


def fix(name: str) -> Callable[[Maker], Maker]:
    """Register a typed fix under the name that remedies call it by.

    It returns edits of the given script, or None where it cannot be made there; whether they cure is checked by others.
    """

    def registered(maker: Maker) -> Maker:
        def made(given: Given) -> Fix | None:
            try:
                return maker(given)
            except Unfit:
                return None

        MADE[name] = made
        return maker

    return registered
