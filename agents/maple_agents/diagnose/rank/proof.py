"""The lines of a log that are shown for a cause: those that an entry knew it by, and what belongs to each.

To an exception its whole message and the one that it was raised from; to a sentence the line on which it begins; to a
complaint the death that it led to; to a report of many lines the one that the labelled lines know best.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import islice, takewhile

from ..read import announces, bare
from ..recognise.matches import Match
from ..values import Digest, Event, Evidence, Place, Severity
from .cause_event import Voter
from .ranking import Ranked, of_earlier_run, survived

FEW = 3  # events whose lines are shown
MESSAGE = 2  # lines of a message below the one that is known
NEAR = 6  # lines around the known one that may be of the same report
REPORT = 12  # of them that are looked at
KNOWN = 0.4  # strength of a vote from which a line is worth showing
_FRAME = re.compile(
    r'^\s*(?:File "|at \S+\(|[\^~]+\s*$|#\d)|Traceback \(most recent call last\)|^The above exception|^During handling'
)
_REASON = re.compile(
    r"Permission denied|No such (?:file|device)|No space left|not permitted|[Rr]ead-only|Cannot allocate|timed out"
    r"|refused|reset by peer|not implemented|No route|unreachable|too long|Invalid (?:argument|cross)|exists\b|busy\b"
    r"|quota|Too many|not recognized|not found|Input/output error|[Ee]rrno|\bRC:|[Rr]eason:"
)
_ENDS = re.compile(r"[.:!?…]\W*$")
_GOES_ON = re.compile(r"[a-z]+ [a-z]")


def shown(cause: Ranked, digest: Digest, quiet: Collection[Place], voter: Voter | None) -> tuple[Evidence, ...]:
    """Return the lines for *cause*. *quiet*: places of events that tell none; *voter*: None where the words of its
    entry are enough.
    """
    lines = [line for match in cause.matches[:FEW] for line in telling_lines(match)]
    if cause.matches and voter is not None:
        first = cause.matches[0]
        lines += [
            *_of_report(cause.cause, first, digest, voter), *_begun_by(first.event, digest),
            *_died_of(first.event, digest, quiet), *_said_first(cause.cause, first, digest, voter),
        ]  # fmt: skip
    return tuple(dict.fromkeys(lines))


def telling_lines(match: Match) -> Iterator[Evidence]:
    """Yield the line that an entry knew with that on which its sentence begins, the line of the exception that it
    stands in, and what its message says below.
    """
    event, known = match.event, match.evidence
    yield known
    yield from _begins(event, known)
    if event.exception and event.text != known.text:
        yield Evidence(event.place.file, event.place.line, event.text)
    if event.exception and (announces(bare(event.text)) or known.line > event.place.line):
        yield from _below(event, max(event.place.line, known.line))


def _begins(event: Event, known: Evidence) -> Iterator[Evidence]:
    """Yield the line above, where the known one goes on with a sentence of it."""
    above = dict(_rows(event)).get(known.line - 1, "")
    if not event.exception and _GOES_ON.match(bare(known.text)) and above.strip() and not _ENDS.search(above):
        yield Evidence(known.file, known.line - 1, above)


def _rows(event: Event) -> list[tuple[int, str]]:
    """Return the lines of an event with their numbers."""
    return list(zip(event.unit_at, event.unit, strict=True))


def _below(event: Event, line: int) -> Iterator[Evidence]:
    rows = (row for row in _rows(event) if row[0] > line)
    message = takewhile(lambda row: _FRAME.search(bare(row[1])) is None, rows)
    yield from [Evidence(event.place.file, *row) for row in message if any(map(str.isalnum, row[1]))][:MESSAGE]


def _of_report(cause: str, match: Match, digest: Digest, voter: Voter) -> Iterator[Evidence]:
    """Yield the line near the known one that the labelled lines know best for the same cause, of a report that is one
    event, or of several that are told as one; and the best of those that give a reason in the system's own words.
    """
    event, known = match.event, match.evidence
    own = [] if event.exception else _rows(event)
    others = [
        (other.place.line, other.text)
        for other in digest.events
        if other is not event and other.severity >= Severity.ERROR and other.place.file == known.file
    ]
    near = [row for row in (*own, *others) if 0 < abs(row[0] - known.line) <= NEAR]
    votes = [
        (vote.strength, row) for row in near[:REPORT] if (vote := voter(row[1])) is not None and vote.cause == cause
    ]
    reasons = [] if _REASON.search(known.text) else [vote for vote in votes if _REASON.search(vote[1][1])]
    for rows in (votes, reasons):
        strength, row = max(rows, default=(0.0, None), key=lambda vote: vote[0])
        if row is not None and strength >= KNOWN:
            yield Evidence(known.file, *row)


def _said_first(cause: str, match: Match, digest: Digest, voter: Voter) -> Iterator[Evidence]:
    """Yield the first error of the file, where it came before the known one and the labelled lines know it for the
    same cause: between the two may stand whatever came of it.
    """
    errors = (event for event in digest.events[: match.order] if event.severity >= Severity.ERROR)
    first = next((event for event in errors if event.place.file == match.event.place.file), None)
    if first is None or survived(first, digest) or of_earlier_run(first, digest):
        return
    vote = voter(first.text)
    if vote is not None and vote.cause == cause and vote.strength >= KNOWN:
        yield Evidence(first.place.file, first.place.line, first.text)


def _begun_by(event: Event, digest: Digest) -> Iterator[Evidence]:
    """Yield the exception from which that of *event* was raised, the first of its chain: the nearest one above that
    was raised from none.
    """
    above = [
        earlier
        for earlier in digest.events
        if earlier.exception and not earlier.chained and earlier.place.file == event.place.file
        and earlier.place.line < event.place.line
    ]  # fmt: skip
    if event.chained and above:
        first = max(above, key=lambda earlier: earlier.place.line)
        yield Evidence(first.place.file, first.place.line, first.text)


def _died_of(event: Event, digest: Digest, quiet: Collection[Place]) -> Iterator[Evidence]:
    """Yield the first exception behind a mere complaint, which says how the process died of it, and what it goes on
    with.
    """
    if event.exception or event.severity == Severity.FATAL:
        return
    behind = (
        later
        for later in digest.events
        if later.exception and later.place.file == event.place.file and later.place.line > event.place.line
        and later.place not in quiet and not survived(later, digest)
    )  # fmt: skip
    death = next(behind, None)
    if death is not None:
        yield Evidence(death.place.file, death.place.line, death.text)
        yield from islice(_below(death, death.place.line), 1)


__all__ = ["shown", "telling_lines"]
