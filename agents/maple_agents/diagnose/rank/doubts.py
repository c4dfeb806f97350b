"""Whether the likeliest cause may only follow from something that no entry knows: then it is better not claimed.

A missing module after a module system's complaint, a transport's failure after a line of its library: what other
causes are known to bring about may have another reason here as well. An error before it, which nobody can read, is
such a reason as long as nothing says otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from ...templates.knowledge.conditions import Fact
from ...templates.knowledge.entries import Entry
from ..read import bare
from ..recognise.log_facts import stands
from ..recognise.matches import Match
from ..values import Digest, Event, Place, Severity
from .ranking import Ranked, of_earlier_run, survived

STATES = {"time_limit": "timeout", "cancelled_by_user": "cancelled", "preempted_or_requeued": "preempted"}
NEAR = 12  # lines between two sentences of one telling
OWN = 2  # ordinary lines among them
# Whose line it is: a source file of a library, else the program before the first colon.
_FILE = re.compile(r"([\w-]+\.(?:cc?|cpp|cu|cxx|hpp|h|py)):\d+", re.I)
_PROGRAM = re.compile(r"^(?:\S+: )??([\w./-]+): (?:error|fatal)", re.I)
# Words that only announce what comes: a heading, the frame of a traceback, the step of a build that failed.
_HEADING = re.compile(r"(?::|\.\.\.|…)\s*$|Traceback \(most recent call last\)|^\W*FAILED: \S+\s*$")


def unread(
    first: Ranked, found: Sequence[Match], known: Mapping[str, Entry], facts: Mapping[str, Fact], digest: Digest
) -> Event | None:
    """Return the error before *first* that no entry knows, where *first* is of a kind that may follow from another."""
    if not first.matches or not may_follow(first.entry, known) or _as_the_scheduler_says(first, facts):
        return None
    told = {one.event.place for one in found if stands(known[one.entry], facts) or known[one.entry].role == "harmless"}
    claimed = first.matches[0]
    for event in digest.events[: claimed.order]:
        if event.severity >= Severity.ERROR and event.place not in told and _doubtful(event, claimed.event, digest):
            return event
    return _reason_below(first, told, digest) if _says_little(known[first.entry]) else None


def _says_little(entry: Entry) -> bool:
    """Return whether the words say only that something failed, not what."""
    return entry.role == "symptom" and entry.weight != "strong"


def _reason_below(first: Ranked, told: Collection[Place], digest: Digest) -> Event | None:
    """Return the error that nobody knows right below the last words of *first*: a stack ends with the reason."""
    last = first.matches[-1].event
    mine = (one for one in digest.events if one.place.file == last.place.file and one.rank == last.rank)
    near = (one for one in mine if 0 < one.place.line - last.place.line <= NEAR)
    bad = (one for one in near if one.severity == Severity.ERROR and not one.exception and one.place not in told)
    return next((one for one in bad if not _HEADING.search(bare(one.text))), None)


def _as_the_scheduler_says(first: Ranked, facts: Mapping[str, Fact]) -> bool:
    """Return whether the cause is how the job ended, in the scheduler's own word for its last run."""
    return STATES.get(first.cause, "") == facts.get("job.state")


def may_follow(name: str, known: Mapping[str, Entry]) -> bool:
    """Return whether an entry is known as what another cause brings about, or does not say its cause for sure.

    What the rules prove of a script explains much; that is no word for how surely a log's own words are the first.
    """
    entry = known[name]
    if entry.role == "symptom" or entry.weight != "strong":
        return True
    return any(
        other.cause != entry.cause and "findings" not in other.needs and {name, entry.cause} & {*other.explains}
        for other in known.values()
    )


def _doubtful(event: Event, claimed: Event, digest: Digest) -> bool:
    if _HEADING.search(bare(event.text)) or survived(event, digest) or of_earlier_run(event, digest):
        return False
    return _ordered(event, claimed) and not _kin(event, claimed)


def _ordered(event: Event, claimed: Event) -> bool:
    """Return whether it is sure which of the two came first."""
    return event.place.file == claimed.place.file or event.at is not None and claimed.at is not None


def _kin(event: Event, claimed: Event) -> bool:
    """Return whether both are sentences of one telling: of one chain of exceptions, or of one speaker."""
    if event.place.file != claimed.place.file:
        return False
    if event.exception and claimed.exception:
        return claimed.chained > 0 and event.rank == claimed.rank
    below = claimed.place.line - event.place.line
    if event.exception and event.rank == claimed.rank and 0 < below <= NEAR and event.behind - claimed.behind <= OWN:
        return True  # what a program that it had started said, handed on below the exception
    mine, other = _speaker(event.text), _speaker(claimed.text)
    return bool(mine) and mine == other and abs(below) <= NEAR


def _speaker(text: str) -> str:
    """Return the source file that a line names, also in what stands before the words, else the program."""
    file, program = _FILE.search(text), _PROGRAM.search(bare(text))
    return file[1] if file else program[1] if program else ""
