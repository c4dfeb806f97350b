"""A first complaint of which the death is a consequence: it is the cause, whatever stands between the two.

What leads to what, how far behind and on which rank, is data: `templates/words/consequences.toml`. Who says of what
class a complaint is: the entries of the knowledge base, else labelled lines that it is like, else its sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import tomllib

from ...templates.knowledge.entries import Entry
from ..recognise.complaint_sentences import reading
from ..recognise.matches import Match
from ..recognise.neighbours import learnt
from ..values import Cause, Digest, Event, Evidence, Place, Severity
from .cause_event import Voter
from .judges import NO_CLASS
from .ranking import of_earlier_run

FILE = "consequences.toml"
MOST = 60  # events before a death that are looked at
ALIKE = 0.6  # strength from which labelled lines say of what class a complaint is


class Lead(NamedTuple):
    """What leads to what: a complaint of one of the classes *before*, of words *complaint*, to a death of one of the
    classes *after*, of *words*. *within*: lines between them at most; *same*: of one rank; *least*: how bad the
    complaint sounds.
    """

    before: frozenset[str]
    after: frozenset[str]
    complaint: re.Pattern[str]
    words: re.Pattern[str]
    within: int
    same: bool
    least: Severity

    def holds(self, first: Event, cause: str, death: Event, lines: str) -> bool:
        """Return whether *first*, of class *cause*, is such a complaint for *death*, which *lines* prove."""
        if cause not in self.before or first.severity < self.least or self.same and first.rank != death.rank:
            return False
        near = 0 < death.place.line - first.place.line <= self.within
        return near and bool(self.complaint.search(first.text) and self.words.search(lines))


class Complaint(NamedTuple):
    """An event that is a first complaint, its class *cause*, and who says that it is of it."""

    event: Event
    cause: str
    voter: str


def first_complaint(
    death: Cause, digest: Digest, matches: Sequence[Match], known: Mapping[str, Entry], voter: Voter
) -> Complaint | None:
    """Return the first complaint in the file of *death* that led to it, None where none is known to."""
    leads = [lead for lead in in_force() if death.cause in lead.after]
    event = _event_of(death.evidence, digest) if leads else None
    if event is None:
        return None
    lines = "\n".join(line.text for line in death.evidence)
    leads = [lead for lead in leads if lead.words.search(lines)]
    classes = _classes(matches, known)
    for first in _before(event, digest) if leads else ():
        for cause, who in _said_of(first, classes, voter):
            if cause != death.cause and any(lead.holds(first, cause, event, lines) for lead in leads):
                return Complaint(first, cause, who)
    return None


def _event_of(evidence: Sequence[Evidence], digest: Digest) -> Event | None:
    """Return the event that the first line of a cause's evidence is of."""
    line = evidence[0] if evidence else None
    events = (event for event in digest.events if line is not None and event.place.file == line.file)
    return next((event for event in events if line and line.line in (event.place.line, *event.unit_at)), None)


def _before(death: Event, digest: Digest) -> list[Event]:
    """Return what sounds bad before *death* in its file and run, the first in time first."""
    same = (event for event in digest.events if event.place.file == death.place.file and event.run == death.run)
    bad = (event for event in same if event.severity >= Severity.WARNING and event.place.line < death.place.line)
    return [event for event in bad if not of_earlier_run(event, digest)][:MOST]


def _classes(matches: Sequence[Match], known: Mapping[str, Entry]) -> dict[Place, tuple[str, ...]]:
    """Return the classes that entries have for events; () where they know it to be no cause."""
    classes: dict[Place, tuple[str, ...]] = {}
    for match in matches:
        entry = known[match.entry]
        own = () if entry.role in ("follows", "harmless") or entry.needs else (entry.cause,)
        classes[match.event.place] = (*classes.get(match.event.place, ()), *own)
    return classes


def _said_of(event: Event, classes: Mapping[Place, Sequence[str]], voter: Voter) -> Iterator[tuple[str, str]]:
    if event.place in classes:
        yield from ((cause, "entries") for cause in classes[event.place])
        return
    vote, sentence = voter(event.text), reading(event.text)
    if vote is not None and vote.strength >= ALIKE:
        yield from [(vote.cause, "lines")] if vote.cause not in NO_CLASS else []
    elif sentence is not None:
        yield sentence.cause, "sentence"


@cache
def in_force() -> tuple[Lead, ...]:
    """Return the leads of the templates in force, none where there are none that can be read."""
    return learnt(FILE, _read, "words") or ()


def _read(data: bytes) -> tuple[Lead, ...]:
    try:
        return tuple(map(_lead, tomllib.loads(data.decode())["leads"]))
    except (KeyError, TypeError, re.error) as error:
        raise ValueError("no leads: %s" % error) from None


def _lead(row: Mapping[str, Any]) -> Lead:
    return Lead(
        frozenset(row["from"]), frozenset(row["to"]), re.compile(row.get("complaint", "")),
        re.compile(row.get("words", "")), row["within"], row["rank"] == "same",
        Severity.WARNING if row.get("level") == "warning" else Severity.ERROR,
    )  # fmt: skip


__all__ = ["Complaint", "first_complaint", "in_force"]
