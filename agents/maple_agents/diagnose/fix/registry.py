"""What a typed fix is made from, and the register by which a remedy finds it.

Which steps the evidence is of: a fix of launch lines leaves alone those that ran another program.

What only the site's whole file tells, beyond the facts that the submit path knows.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from maple_submit_filter.site.facts import Site
from maple_submit_filter.types.edits import Fix
from maple_submit_filter.types.job import Job
from maple_submit_filter.types.launch_plan import LaunchPlan, Step

from ...ask.sites import whole_files
from ...templates.knowledge.entries import Fact
from ..diagnosis import filled
from ..values import Case, Cause, Digest, Event

if TYPE_CHECKING:
    from ...ask.sites.model import SiteFile

# Files by whose names a step is known in a log: its program, and where its output goes.
_FILE = re.compile(r"[\w.+-]+\.(?:py|sh|jl|R|out|log|err|txt)(?![\w.-])")

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
        return filled(str(self.give.get(name, "")), self.cause.values)

    def word(self, name: str) -> str:
        """Return an argument that may stand in a script. Raises `Unfit` where the log named something that may not."""
        value = str(self.give.get(name, ""))
        if not all(PLAIN.match(self.caught(name)) for name in _NAMES.findall(value)):
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
        of = (near for near in self.digest.events if near.place.file == at.file)
        return next((near for near in of if at.line == near.place.line or at.line in near.unit_at), None)

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


def concerned(given: Given) -> tuple[Step, ...]:
    """Return the steps that the evidence can be of: those whose files it names, or all where it names none's."""
    files = _files_named(given)
    named = tuple(step for step in given.plan.steps if files & _names(given, step))
    return named or given.plan.steps


def _files_named(given: Given) -> set[str]:
    """Return the files that the evidence speaks of, and the one that it stands in, without their folders."""
    event = given.event()
    lines = [*(event.unit if event is not None else ()), *(evidence.text for evidence in given.cause.evidence)]
    files = {os.path.basename(evidence.file) for evidence in given.cause.evidence}
    return files | {name for line in lines for name in _FILE.findall(line)}


def _names(given: Given, step: Step) -> set[str]:
    """Return the files that a step's lines name, what they redirect to as well."""
    source = given.job.source
    end = source.find(b"\n", step.span.end)
    text = source[step.span.start : len(source) if end < 0 else end] + b" " + b" ".join(step.program)
    return set(_FILE.findall(text.decode("utf-8", "replace")))


def whole(site: Site) -> SiteFile | None:
    """Return the site's file, None where it has none that can be read: then nothing more is known."""
    return whole_files.whole(site.id)
