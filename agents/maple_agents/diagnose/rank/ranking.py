"""From the entries that a log speaks of to the causes, the likeliest first, and what only followed from them.

A cause is found by words in the logs, or by facts alone (a launch line that is proven wrong, a log that ends in
silence). What another cause explains is cascade: by the entry's own word (`explains`), by its role, and a symptom
by every cause there is. Among causes that are said as strongly the first in time wins; what life went on after is no
cause.

Whether the likeliest cause may only follow from something that no entry knows: then it is better not claimed.

A missing module after a module system's complaint, a transport's failure after a line of its library: what other
causes are known to bring about may have another reason here as well. An error before it, which nobody can read, is
such a reason as long as nothing says otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ...templates.knowledge.entries import Entry, Fact, holds
from ..read import bare
from ..recognise.log_facts import ENDINGS, stands
from ..recognise.matches import Match
from ..values import Digest, Event, Place, Severity

WAITED = "rendezvous_timeout_master_unreachable"
STATES = {"time_limit": "timeout", "cancelled_by_user": "cancelled", "preempted_or_requeued": "preempted"}
NEAR = 12  # lines between two sentences of one telling
OWN = 2  # ordinary lines among them
# Whose line it is: a source file of a library, else the program before the first colon.
_FILE = re.compile(r"([\w-]+\.(?:cc?|cpp|cu|cxx|hpp|h|py)):\d+", re.I)
_PROGRAM = re.compile(r"^(?:\S+: )??([\w./-]+): (?:error|fatal)", re.I)
# Words that only announce what comes: a heading, the frame of a traceback, the step of a build that failed.
_HEADING = re.compile(r"(?::|\.\.\.|…)\s*$|Traceback \(most recent call last\)|^\W*FAILED: \S+\s*$")

PROVEN = frozenset(("findings", "log.doubled", "log.absent", "log.frozen"))  # what an entry may need

WEIGHT = {"strong": 6.0, "fair": 4.0, "weak": 2.0}
SYMPTOM = -1.5
SURVIVED = -5.0
OUTLIVED = -2.0  # where nothing else tells why the job died, and no training went on behind it
EARLIER = -4.0  # still said where it explains what the last run died of
STARTUP = -1.5
LATER = -1.0  # than another cause that is no less sure
WARNED = -1.5  # by a warning alone, where another cause is an error's
LEAST = 2.0  # what scores less is not said
MANY = 40  # ordinary lines behind an event, after which it was survived
NEXT = 3  # lines from an exception to the word that its process ended
PASSED = 2  # ordinary lines between a complaint that ended nothing and the end of a process
SOME = 4  # the same where training is among them; other ranks print a step or two before they feel a death
# A complaint of the shell in a file that it reads when it starts, the site's or the user's.
_STARTUP = re.compile(
    r"/(?:\.(?:bash(?:rc|_profile|_login|_logout)|profile|zshrc|zshenv|t?cshrc)|etc/(?:bashrc|profile|bash\.bashrc)|profile\.d/[\w.-]+)"
    r": (?:\w+ )?\d+: "
)
_PAGE = re.compile(r"^\W*[Uu]sage: ")  # of a command: dozens of lines
# What a program says of a fault that it deals with; training behind it says that it did.
_HANDLED = re.compile(
    r"\b(?:re-?trying|(?:try|trying|tried) (?:it )?(?:again|once more)|will (?:be )?(?:retried|retry)"
    r"|fall(?:s|ing)? back|using (?:the |a )?cached|skipp(?:ed|ing)|ignor(?:ed|ing)|continuing|go(?:es|ing) on)\b",
    re.I,
)
# A launcher that starts nothing: what its script says behind that is no sign of life.
_REFUSED = re.compile(r"^(?:\S+: )?(?:srun|mpirun|mpiexec|prterun|jsrun|aprun|flux): (?:error|fatal): (?!\S+: tasks? )")


@dataclass(frozen=True, slots=True)
class Ranked:
    """An entry as a cause of this job; *matches*: what says so, the first in time first, () for facts alone."""

    entry: str
    cause: str
    role: str
    score: float
    matches: tuple[Match, ...]


def ranked(
    matches: Sequence[Match],
    known: Mapping[str, Entry],
    facts: Mapping[str, Fact],
    digest: Digest,
    outlived: bool = False,
) -> tuple[tuple[Ranked, ...], tuple[Match, ...]]:
    """Return the causes, the likeliest first, and the matches that are cascade, in order of time.

    *outlived*: those count as well behind which others had much to say, but nobody trained.
    """  # fmt: skip
    harmless = {hit.evidence for hit in matches if known[hit.entry].role == "harmless"}
    by_entry: dict[str, list[Match]] = {}
    for hit in matches:
        if hit.evidence not in harmless:
            by_entry.setdefault(hit.entry, []).append(hit)
    candidates = [
        made
        for name, entry in known.items()
        if entry.role in ("cause", "symptom")
        and (made := _candidate(name, entry, by_entry.get(name, []), facts, digest, outlived)) is not None
    ]
    causes = [_shown(row, by_entry, known) for row in _ordered(_unexplained(candidates, known))]
    places = {match.event.place for cause in causes for match in cause.matches}
    cascade = [hit for hit in matches if hit.event.place not in places and hit.evidence not in harmless]
    return tuple(causes), tuple(cascade)


def _shown(ranked: Ranked, by_entry: Mapping[str, Sequence[Match]], known: Mapping[str, Entry]) -> Ranked:
    """Give a cause that was found by facts alone the lines that say the same, the last first: the scheduler's word
    stands at the end.
    """
    if ranked.matches or known[ranked.entry].match:
        return ranked
    same = [match for name, rows in by_entry.items() if _says_it(known[name], ranked) for match in rows]
    last = sorted(same, key=lambda match: -match.order)
    return replace(ranked, matches=tuple(replace(match, values={}) for match in last[:3]))


def _says_it(entry: Entry, ranked: Ranked) -> bool:
    """Return whether *entry*'s words may stand for a cause that has none of its own; for "unknown": how it ended."""
    return entry.cause in ENDINGS if ranked.cause == "unknown" else entry.cause == ranked.cause


def _candidate(
    name: str, entry: Entry, matches: Sequence[Match], facts: Mapping[str, Fact], digest: Digest, outlived: bool
) -> Ranked | None:
    if (entry.match or entry.exception) and not matches:
        return None
    if not matches and not entry.needs:
        return None
    kept = [match for match in matches if _allowed(entry, {**facts, **_of_event(match.event)})]
    if matches and not kept or not matches and not _allowed(entry, facts):
        return None
    best = max((_alive(match.event, digest, outlived) for match in kept), default=0.0)
    confirmed = sum(
        holds(confirm, {**facts, **(_of_event(kept[0].event) if kept else {})}) is True for confirm in entry.confirms
    )
    score = WEIGHT[entry.weight] + min(confirmed, 2) + best + (SYMPTOM if entry.role == "symptom" else 0.0)
    return Ranked(name, entry.cause, entry.role, score, tuple(kept)) if score >= LEAST else None


def _allowed(entry: Entry, facts: Mapping[str, Fact]) -> bool:
    if entry.needs and holds(entry.needs, facts) is not True:
        return False
    return not any(holds(exclude, facts) is True for exclude in entry.excludes)


def _of_event(event: Event) -> dict[str, Fact]:
    return {
        "event.frame": event.frame[0] if event.frame else None,
        "event.innermost": event.innermost[0] if event.innermost else None,
        "event.behind": event.behind,
        "event.count": event.count,
        "event.ranks": len(event.ranks),
    }


def _alive(event: Event, digest: Digest, outlived: bool) -> float:
    """Return what an event loses because its process lived on; a shell lives on when a startup file complains."""
    if survived(event, digest):
        quiet = event.severity >= Severity.ERROR and not _later(digest.last_progress, event.last or event.place)
        return OUTLIVED if outlived and quiet else SURVIVED
    if of_earlier_run(event, digest):
        return EARLIER
    return STARTUP if _STARTUP.search(event.text) else 0.0


def of_earlier_run(event: Event, digest: Digest) -> bool:
    """Return whether its file goes on with another run, in which the same was not said again."""
    return any(other.run > event.run and other.place.file == event.place.file for other in digest.events)


def survived(event: Event, digest: Digest) -> bool:
    """Return whether life went on after *event*: some lines with training in the same file, or many ordinary ones."""
    last = event.last or event.place
    if event.severity == Severity.FATAL or event.exception and said_to_have_ended(last, digest):
        return False
    if _PAGE.search(event.text):
        return _later(digest.last_progress, last)  # the lines behind it are its own
    trained = _later(digest.last_progress, last)
    return event.behind >= MANY or trained and (event.behind >= SOME or _HANDLED.search(event.text) is not None)


def said_to_have_ended(place: Place, digest: Digest) -> bool:
    """Return whether a process is said to have ended right behind *place*: others may train on, this one does not."""
    return any(
        event.severity == Severity.FATAL
        and event.place.file == place.file
        and 0 < event.place.line - place.line <= NEXT
        for event in digest.events
    )


def _later(place: Place | None, other: Place) -> bool:
    return place is not None and place.file == other.file and place.line > other.line


def _unexplained(candidates: Sequence[Ranked], known: Mapping[str, Entry]) -> list[Ranked]:
    """Leave out what another candidate explains; of two that explain each other both stay."""
    return [
        ranked
        for ranked in candidates
        if not any(_explains(other, ranked, known) for other in candidates if other is not ranked)
    ]


def _said_better(ranked: Ranked, other: Ranked, known: Mapping[str, Entry]) -> bool:
    """Return whether *ranked* is known by its exception alone, and *other* by the words of the same event."""
    if not _by_kind(known[ranked.entry]) or _by_kind(known[other.entry]):
        return False
    return {match.event.place for match in ranked.matches} <= {match.event.place for match in other.matches}


def _by_kind(entry: Entry) -> bool:
    return bool(entry.exception or entry.frame) and entry.weight != "strong"


def _left_waiting(ranked: Ranked, other: Ranked) -> bool:
    """Return whether *ranked* is how ranks waited for one that had died of *other*: an exception of its own, before."""
    if ranked.cause != WAITED or not ranked.matches or not other.matches:
        return False
    death, wait = other.matches[0].event, ranked.matches[0].event
    ranks = {match.event.rank for match in ranked.matches}
    first = death.place.file == wait.place.file and death.place.line < wait.place.line
    return bool(death.exception) and first and death.rank is not None and death.rank not in ranks


def _explains(other: Ranked, ranked: Ranked, known: Mapping[str, Entry]) -> bool:
    if _left_waiting(ranked, other):
        return True
    if _left_waiting(other, ranked):
        return False
    if _said_better(other, ranked, known):
        return False
    if _said_better(ranked, other, known):
        return True
    words = known[other.entry].explains
    back = known[ranked.entry].explains
    if ranked.role == "symptom" and other.role == "cause" and other.score >= WEIGHT["fair"]:
        return other.entry not in back and other.cause not in back  # else both would be gone
    if ranked.entry not in words and ranked.cause not in words:
        return False
    return other.entry not in back and other.cause not in back


def _ordered(candidates: Iterable[Ranked]) -> list[Ranked]:
    """Return the causes by score; one that is later than another as sure as it is loses for that."""
    rows = list(candidates)
    late = [(ranked.score + _lost(ranked, [other for other in rows if other is not ranked]), ranked) for ranked in rows]
    late.sort(key=lambda row: (-row[0], _first(row[1])))
    return [Ranked(ranked.entry, ranked.cause, ranked.role, score, ranked.matches) for score, ranked in late]


def _lost(ranked: Ranked, others: Sequence[Ranked]) -> float:
    """Return what a cause loses to *others*: that it is later, and that it was only warned of."""
    warned = _warned(ranked) and any(_deadly(other) for other in others if other.cause != ranked.cause)
    return (LATER if any(_beats(other, ranked) for other in others) else 0.0) + (WARNED if warned else 0.0)


def _warned(ranked: Ranked) -> bool:
    return bool(ranked.matches) and all(match.event.severity <= Severity.WARNING for match in ranked.matches)


def _deadly(ranked: Ranked) -> bool:
    """Return whether a cause that is surely meant is said by an error."""
    if ranked.role != "cause" or ranked.score < WEIGHT["fair"]:
        return False
    return any(match.event.severity >= Severity.ERROR for match in ranked.matches)


def _beats(other: Ranked, ranked: Ranked) -> bool:
    """Return whether *other* is as sure, and was first; or the program was past *ranked* when it died of *other*."""
    if other.score < ranked.score:
        return False
    return _passed(ranked, other) or _first(other) < _first(ranked) and not _passed(other, ranked)


def _passed(other: Ranked, ranked: Ranked) -> bool:
    """Return whether the program was past what *other* complains of when it died of *ranked*: a complaint that ended
    nothing, ordinary lines of the same file behind it, then the end of a process.
    """
    if not other.matches or not ranked.matches:
        return False
    complaint, death = other.matches[0].event, ranked.matches[0].event
    if complaint.exception or complaint.severity == Severity.FATAL or complaint.place.file != death.place.file:
        return False
    ended = death.exception or death.severity == Severity.FATAL or death.behind == 0 or _REFUSED.search(death.text)
    return bool(ended) and complaint.behind - death.behind >= PASSED


def _first(ranked: Ranked) -> int:
    """Return the order of the first event; facts alone come before everything that a log says."""
    return ranked.matches[0].order if ranked.matches else -1


def unread(
    first: Ranked, matches: Sequence[Match], known: Mapping[str, Entry], facts: Mapping[str, Fact], digest: Digest
) -> Event | None:
    """Return the error before *first* that no entry knows, where *first* is of a kind that may follow from another."""
    if not first.matches or not may_follow(first.entry, known) or _as_the_scheduler_says(first, facts):
        return None
    places = {
        match.event.place
        for match in matches
        if stands(known[match.entry], facts) or known[match.entry].role == "harmless"
    }
    claimed = first.matches[0]
    for event in digest.events[: claimed.order]:
        if event.severity >= Severity.ERROR and event.place not in places and _doubtful(event, claimed.event, digest):
            return event
    return _reason_below(first, places, digest) if _says_little(known[first.entry]) else None


def _says_little(entry: Entry) -> bool:
    """Return whether the words say only that something failed, not what."""
    return entry.role == "symptom" and entry.weight != "strong"


def _reason_below(first: Ranked, places: Collection[Place], digest: Digest) -> Event | None:
    """Return the error that nobody knows right below the last words of *first*: a stack ends with the reason."""
    last = first.matches[-1].event
    mine = (event for event in digest.events if event.place.file == last.place.file and event.rank == last.rank)
    near = (event for event in mine if 0 < event.place.line - last.place.line <= NEAR)
    bad = (
        event
        for event in near
        if event.severity == Severity.ERROR and not event.exception and event.place not in places
    )
    return next((event for event in bad if not _HEADING.search(bare(event.text))), None)


def _as_the_scheduler_says(first: Ranked, facts: Mapping[str, Fact]) -> bool:
    """Return whether the cause is how the job ended, in the scheduler's own word for its last run."""
    return STATES.get(first.cause, "") == facts.get("job.state")


def may_follow(name: str, known: Mapping[str, Entry]) -> bool:
    """Return whether an entry is known as what another cause brings about, or does not say its cause for sure.

    What the rules prove of a script, or a log of its ranks, explains much; that is no word for how surely a log's own
    words are the first.
    """
    entry = known[name]
    if entry.role == "symptom" or entry.weight != "strong":
        return True
    return any(
        other.cause != entry.cause and not PROVEN & other.needs.keys() and {name, entry.cause} & {*other.explains}
        for other in known.values()
    )


def _doubtful(event: Event, claimed: Event, digest: Digest) -> bool:
    if _HEADING.search(bare(event.text)) or survived(event, digest) or of_earlier_run(event, digest):
        return False
    return _in_order(event, claimed) and not _kin(event, claimed)


def _in_order(event: Event, claimed: Event) -> bool:
    """Return whether it is sure which of the two came first."""
    return event.place.file == claimed.place.file or event.at is not None and claimed.at is not None


def _kin(event: Event, claimed: Event) -> bool:
    """Return whether both are sentences of one telling: of one chain of exceptions, or of one speaker."""
    if event.place.file != claimed.place.file:
        return False
    if claimed.exception and "(%s)" % claimed.exception.rsplit(".", 1)[-1] in event.text:
        return True  # a wrapper that names in brackets what it hands on
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
