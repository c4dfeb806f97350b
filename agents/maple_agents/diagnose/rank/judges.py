"""What two voters say together of why a job died, and how sure that is: the entries of the knowledge base, and the
labelled lines that a log's own are most like (`recognise/neighbours.py`).

How much each of what is seen counts is data, `sureness.json`, fitted by `python -m tests.agents.debug.voter --record`
on threads that the second had not learnt from.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from ...templates.knowledge.entries import Entry
from ..recognise.complaint_sentences import reading
from ..recognise.matches import Match
from ..recognise.neighbours import FOLLOWS, Vote, learnt
from ..values import Digest, Event, Place, Severity
from .cause_event import Candidate, Voter, candidates, weights_in_force
from .ranking import of_earlier_run, survived

FILE = "sureness.json"
AGREED = 0.4  # strength from which a vote for the same class counts as one
SURE = 0.965  # confidence from which a cause that both name is more than likely
LEAST = 0.5  # confidence below which lines name no cause: more likely than not
HEARD = 0.4  # the same of an entry: no other class is as likely
DISPUTED = 0.2  # strength of lines of another class from which a mere sign, in words of every day, names nothing
ALONE = 0.84  # strength from which the lines may name a cause that no entry does
OFTEN = 0.75  # share of labelled lines that a reading had right, from which a sentence may name a cause
CONTRADICTED = 0.5  # strength of lines of another class from which it does not
OUTVOTED = 0.8  # strength from which lines of another class outdo an entry whose words say little
NO_CLASS = (FOLLOWS, "none")
OWN_CODE = "code_error"  # what a traceback is called that nobody knows: of unseen ones a fourth had another cause

Weights = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Judgement:
    """*confidence*: the share of such answers that were right, 0 to 1; *likely*: it is no more than likely; *voters*:
    who names the cause, "entries", "lines", "script" or "sentence"; *second*: another class that the lines name, "" for
    none. *outvoted*: the entry's words alone say little, and the lines name another class.
    """

    confidence: float
    likely: bool
    voters: tuple[str, ...]
    second: str = ""
    outvoted: bool = False


@dataclass(frozen=True, slots=True)
class Named:
    """A cause that the labelled lines name by themselves: *event* says it."""

    cause: str
    event: Event
    judgement: Judgement


@cache
def sureness_in_force() -> Weights:
    """Return the weights of the templates in force, none where there are none that can be read."""
    return learnt(FILE, _weights) or {}


def _weights(data: bytes) -> Weights:
    try:
        return {
            voter: {str(name): float(value) for name, value in row.items()} for voter, row in json.loads(data).items()
        }
    except (TypeError, AttributeError) as error:
        raise ValueError("no weights: %s" % error) from None


def of_entry(
    entry: Entry, score: float, lead: float, votes: Sequence[Vote | None], classes: Collection[str] = ()
) -> Judgement:
    """Return how sure a cause is that an entry names. *lead*: of its score over that of the next class; *votes*: what
    the labelled lines say of each line that proves it; *classes*: those that the sentences of those give.
    """
    seen = seen_by_both(entry, score, lead, votes, classes)
    sure = _share(sureness_in_force().get("entries", {}), seen) if not _disputed(entry, seen, votes) else 0.0
    agreed = seen["agree"] >= AGREED
    return Judgement(sure, not (agreed and sure >= SURE), ("entries", "lines") if agreed else ("entries",),
                     _second(entry.cause, votes), _outvoted(entry, seen))  # fmt: skip


def classes_of(lines: Iterable[str]) -> frozenset[str]:
    """Return the classes that the sentences of *lines* give."""
    return frozenset(sentence.cause for sentence in map(reading, lines) if sentence is not None)


def _outvoted(entry: Entry, seen: Mapping[str, float]) -> bool:
    """Return whether lines that know better speak against an entry that is a sign, or whose words are of every day.

    On logs whose entry was left out such votes were right 10 times of 10, the entry never; on others there were none.
    """
    return (entry.role == "symptom" or entry.weight != "strong") and seen["against"] >= OUTVOTED


def _disputed(entry: Entry, seen: Mapping[str, float], votes: Sequence[Vote | None]) -> bool:
    """Return whether a sign in words of every day has no line for it, not even as the next best, and some against it.

    With the class left out such answers were wrong 9 times of 9, with the entry left out 5 of 5; with both known they
    were 2 of 598 right ones.
    """
    sign = entry.role == "symptom" and entry.weight != "strong"
    named = any(vote is not None and vote.second == entry.cause for vote in votes)
    return sign and not named and seen["against"] >= DISPUTED


def seen_by_both(
    entry: Entry, score: float, lead: float, votes: Sequence[Vote | None], classes: Collection[str] = ()
) -> dict[str, float]:
    """Return what the confidence in an entry's cause is made of, each 0 to 1. *votes*: what the labelled lines say of
    each line that proves it; *classes*: those that their sentences give.
    """
    cast = [vote for vote in votes if vote is not None]
    agree = max((vote.strength for vote in cast if vote.cause == entry.cause), default=0.0)
    other = [vote.strength for vote in cast if vote.cause not in (entry.cause, *NO_CLASS)]
    return {
        "one": 1.0,
        "score": min(score, 8.0) / 8,
        "lead": min(max(0.0, lead), 2.0) / 2,
        "symptom": float(entry.role == "symptom"),
        "not strong": float(entry.weight != "strong"),
        "agree": agree,
        "agrees": float(agree > 0),
        "against": 0.0 if agree else max(other, default=0.0),
        "alike, of no class": 0.0 if agree else max((vote.likeness for vote in cast), default=0.0),
        "facts": float(not votes),
        "code": float(entry.cause == OWN_CODE),
        "sentence": float(entry.cause in classes),
        "other sentence": float(bool(classes) and entry.cause not in classes),
    }


def _share(weights: Mapping[str, float], seen: Mapping[str, float]) -> float:
    """Return the share of right answers: one half where nothing was learnt."""
    return 1 / (1 + math.exp(-sum(weights.get(name, 0.0) * value for name, value in seen.items())))


def _second(cause: str, votes: Iterable[Vote | None]) -> str:
    cast = sorted((vote for vote in votes if vote is not None), key=lambda vote: -vote.likeness)
    names = (name for vote in cast for name in (vote.cause, vote.second))
    return next((name for name in names if name and name not in (cause, *NO_CLASS)), "")


def likeliest(digest: Digest, out: Collection[Place], voter: Voter) -> list[Candidate]:
    """Return the events that may tell the cause, the likeliest first, each with what the labelled lines say of it.

    *out*: places of events that are known to tell nothing.
    """
    return candidates(digest, voter, weights_in_force(), frozenset(out))


def by_lines(rows: Sequence[Candidate], digest: Digest, also: Collection[str] = ()) -> Named | None:
    """Return the cause that the labelled lines name where no entry does, None where they don't know the telling line.

    *rows*: the likeliest events; *also*: classes that an entry has words for.
    A line is like another by its words: a warning, and what life went on after, is no death however alike.
    """
    if not rows or rows[0].vote is None or not deadly(rows[0].event, digest):
        return None
    vote, sure = rows[0].vote, _share(sureness_in_force().get("lines", {}), seen_by_lines(rows[0]))
    if vote.cause in NO_CLASS or vote.strength < (OUTVOTED if vote.cause in also else ALONE) or sure < LEAST:
        return None
    return Named(vote.cause, rows[0].event, Judgement(sure, True, ("lines",), _second(vote.cause, (vote,))))


# The third witness: what the sentence of an error says of what kind of thing, whatever words it has for it.


def by_sentence(rows: Sequence[Candidate], digest: Digest, before: Event | None = None) -> Named | None:
    """Return the cause that the sentence of the likeliest telling event gives, None where it says none that is often
    right, or where the labelled lines know it for another. *rows*: the likeliest events; *before*: an error that nobody
    knows, before what may only follow from it: it alone is read.
    """
    read = [row for row in rows if row.event is before] if before is not None else rows[:2]
    rows = [row for row in read if deadly(row.event, digest)]
    row = next((row for row in rows if reading(row.event.text)), rows[0] if rows else None)
    if row is None:
        return None
    event, vote = row.event, row.vote
    below = (text for at, text in zip(event.unit_at, event.unit) if event.exception and at > event.place.line)
    other = vote.cause if vote is not None and vote.strength >= CONTRADICTED else ""
    named = _of_sentence(event, (event.text, *below), vote.cause if vote is not None else "")
    return named if named is not None and other in ("", named.cause) else None


def by_own_sentence(entry: Entry, match: Match, judgement: Judgement) -> Named | None:
    """Return the other cause that the line itself gives by which a sign or words of every day name *entry*'s, and no
    labelled line does.

    On logs whose entry was left out such sentences were right 9 times of 9, and the entry never; on others there were
    none.
    """
    if judgement.voters != ("entries",) or entry.role != "symptom" and entry.weight == "strong":
        return None
    named = _of_sentence(match.event, (match.evidence.text,))
    if named is None or named.cause == entry.cause:
        return None
    return replace(named, judgement=replace(named.judgement, second=entry.cause))


def _of_sentence(event: Event, lines: Iterable[str], also: str = "") -> Named | None:
    """*also*: the class that the labelled lines name, however weakly: then two witnesses say the same."""
    sentence = next(filter(None, map(reading, lines)), None)
    sure = sureness_in_force().get("sentences", {}).get(sentence.name, 0.0) if sentence is not None else 0.0
    if sentence is None or sure < (LEAST if sentence.cause == also else OFTEN):
        return None
    return Named(sentence.cause, event, Judgement(sure, True, ("sentence",)))


def seen_by_lines(row: Candidate) -> dict[str, float]:
    """Return what the confidence in a cause that the lines name alone is made of."""
    assert row.vote is not None
    return {"one": 1.0, "strength": row.vote.strength, "likeness": row.vote.likeness, "telling": row.share}


def agrees(event: Event, cause: str, voter: Voter) -> bool:
    """Return whether the labelled lines know *event* for *cause*: then it is no other reason."""
    vote = voter(event.text)
    return vote is not None and vote.cause == cause and vote.strength >= AGREED


def deadly(event: Event, digest: Digest) -> bool:
    """Return whether a process may have died of *event*."""
    return event.severity >= Severity.ERROR and not survived(event, digest) and not of_earlier_run(event, digest)


__all__ = [
    "HEARD", "Judgement", "LEAST", "NO_CLASS", "Named", "SURE", "agrees", "by_lines", "by_own_sentence", "by_sentence",
    "classes_of", "deadly", "likeliest", "of_entry", "seen_by_both", "seen_by_lines", "sureness_in_force",
]  # fmt: skip
