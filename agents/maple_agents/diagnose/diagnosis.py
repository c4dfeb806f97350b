"""From a job that ended, and what was read of it, to a diagnosis: values in, a value out."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from maple_submit_filter.answer.decision import Decision
from maple_submit_filter.types.findings import Finding
from maple_submit_filter.types.job import line_of
from maple_submit_filter.types.submission import Submission

from ..templates.knowledge import meanings
from ..templates.knowledge.entries import Entry, Fact, holds
from .rank.cause_event import Voter, telling
from .rank.consequences import first_complaint
from .rank.good_end import LAST, none, succeeded
from .rank.judges import (
    HEARD,
    Judgement,
    Named,
    agrees,
    by_lines,
    by_own_sentence,
    by_sentence,
    classes_of,
    likeliest,
    of_entry,
)
from .rank.proof import shown
from .rank.ranking import Ranked, ranked, survived, unread
from .read import cleaned
from .read.templates import template
from .recognise.log_facts import ENDINGS, facts, with_signs
from .recognise.matches import Match, matches
from .recognise.neighbours import vote
from .recognise.particulars import particulars
from .values import Case, Cause, Diagnosis, Digest, Event, Evidence, Place, Severity, Stream

MOST_CASCADE = 12
MOST_CAUSES = 5


def diagnose(
    case: Case, digest: Digest, decision: Decision | None, known: Mapping[str, Entry], voter: Voter = vote
) -> Diagnosis:
    """Return why the job failed. Nothing is read or run here; there are no cures in it yet.

    *decision*: what `decide` says of the script, None where there is none. *voter*: what labelled lines say of a line.
    """
    known_lines = matches(digest.events, known)
    given = with_signs(facts(case, digest, decision), known_lines, known, digest)
    rows, cascade = ranked(known_lines, known, given, digest)
    harmless = frozenset(match.event.place for match in known_lines if known[match.entry].role == "harmless")
    if succeeded(given, digest, rows, harmless):
        return Diagnosis(case, (none(digest, given),), _evidence_of(cascade))
    outlived = False
    if _untold(rows, digest, known_lines):
        more, rest = ranked(known_lines, known, given, digest, outlived=True)
        outlived = any(row.role == "cause" and row.matches and row.cause not in ENDINGS for row in more)
        rows, cascade = (more, rest) if outlived else (rows, cascade)
        digest = digest if outlived else _as_last_words(digest)
    quiet = frozenset(match.event.place for match in known_lines if known[match.entry].role in ("follows", "harmless"))
    causes = tuple(
        replace(
            cause,
            evidence=(
                *proving(known[cause.entry], case, decision),
                *_of_members(known[cause.entry], digest),
                *cause.evidence,
            ),
        )  # fmt: skip
        for cause in _causes(rows, known, given, digest, quiet, voter)
    )
    judgement = _judgement(rows, known, voter)
    before = unread(rows[0], known_lines, known, given, digest) if rows else None
    doubted = before is not None and not agrees(before, rows[0].cause, voter)
    if judgement is None or judgement.confidence < HEARD or doubted:
        causes = _by_lines(causes, digest, known_lines, known, voter, before if doubted else None)
    elif judgement.outvoted and (others := _by_lines(causes, digest, known_lines, known, voter))[0].cause != "unknown":
        causes = others
    elif (named := _by_own_sentence(rows, known, judgement)) is not None:
        causes = _with_first(causes, named)
    else:
        causes = _as_judged(causes, replace(judgement, likely=judgement.likely or outlived))
    causes = _traced_back(causes, digest, known_lines, known, voter)
    shown = excerpt(digest, known_lines, known) if causes[0] is UNKNOWN else ()
    first = replace(causes[0], named=particulars(causes[0], case.ended, digest))
    return Diagnosis(case, causes if not first.named else (first, *causes[1:]), _evidence_of(cascade), excerpt=shown)


def _untold(rows: Sequence[Ranked], digest: Digest, matches: Sequence[Match]) -> bool:
    """Return whether a death is told that nothing but a scheduler's word explains, and every error there is known."""
    if not all(row.cause in ENDINGS or row.cause == "unknown" for row in rows):
        return False
    last = [event for event in digest.events if event.severity >= Severity.ERROR and not survived(event, digest)]
    if not last:
        return not rows and not digest.progress and not digest.ended_well
    return {event.place for event in last} <= {match.event.place for match in matches}


def _as_last_words(digest: Digest) -> Digest:
    """Return *digest* with its errors as the last words: where nobody trained, much that others say behind an error is
    no sign that its process lived on.
    """
    if digest.progress:
        return digest
    return replace(digest, events=tuple(replace(event, behind=min(event.behind, LAST)) for event in digest.events))


UNKNOWN = Cause("", "unknown", "the logs do not show the cause", 0.0, 0.0)


def _causes(
    rows: Sequence[Ranked], known: Mapping[str, Entry], given: Mapping[str, Fact], digest: Digest,
    quiet: Collection[Place], voter: Voter,
) -> Iterable[Cause]:  # fmt: skip
    once = {row.cause: row for row in reversed(rows)}  # of a class the likeliest
    for row in [row for row in rows if once[row.cause] is row][:MOST_CAUSES]:
        values = row.matches[0].values if row.matches else {}
        yield Cause(
            row.entry,
            row.cause,
            filled(_sentence(known[row.entry], given), values),
            row.score,
            0.0,
            shown(row, digest, quiet, voter if row is rows[0] else None),
            values,
        )


# The second voter: what the labelled lines say of the cause that the entries name, or where they name none.


def _judgement(rows: Sequence[Ranked], known: Mapping[str, Entry], voter: Voter) -> Judgement | None:
    """Return how sure the first cause is, once the labelled lines were asked about each line that proves it.

    An entry that holds only where a rule has proven the launch line wrong has its second witness in the script.
    """
    if not rows or rows[0].cause == "unknown":
        return None
    first = rows[0]
    behind = next((other.score for other in rows if other.cause != first.cause), 0.0)
    lines = dict.fromkeys(match.evidence.text for match in first.matches[:3])
    votes, classes = [voter(line) for line in lines], classes_of(lines)
    judged = of_entry(known[first.entry], first.score, first.score - behind, votes, classes)
    if not _wanted(known[first.entry]):
        return judged
    return replace(judged, likely=False, voters=(*judged.voters, "script"))  # what a rule has proven of the launch


def _as_judged(causes: Sequence[Cause], judgement: Judgement) -> tuple[Cause, ...]:
    """Return *causes* with what is known of the first; a likely one has a runner-up where anybody names another."""
    first, *others = causes
    first = replace(first, confidence=judgement.confidence, likely=judgement.likely, voters=judgement.voters)
    if judgement.likely and not others and judgement.second:
        others = [Cause("", judgement.second, meaning(judgement.second), 0.0, 0.0, voters=("lines",))]
    return (first, *others)


def _by_lines(
    causes: Sequence[Cause], digest: Digest, matches: Sequence[Match], known: Mapping[str, Entry], voter: Voter,
    before: Event | None = None,
) -> tuple[Cause, ...]:  # fmt: skip
    """Return *causes*, of which the first may only follow, behind what the labelled lines name, or "unknown"."""
    explained = {match.event.place for match in matches if known[match.entry].role in ("follows", "harmless")}
    rows = likeliest(digest, explained, voter)
    named = by_lines(rows, digest, {cause.cause for cause in causes})
    named = by_sentence(rows, digest, before) if named is None else named
    if named is None:
        return tuple(causes) if causes and causes[0].cause == "unknown" else (UNKNOWN, *causes)
    return _with_first(causes, named)


def _by_own_sentence(rows: Sequence[Ranked], known: Mapping[str, Entry], judgement: Judgement) -> Named | None:
    return by_own_sentence(known[rows[0].entry], rows[0].matches[0], judgement) if rows[0].matches else None


def _with_first(causes: Sequence[Cause], named: Named) -> tuple[Cause, ...]:
    """Return *causes* behind the one that was named by what its line says; an entry of that class says more of it."""
    line = Evidence(named.event.place.file, named.event.place.line, named.event.text)
    first = Cause("", named.cause, meaning(named.cause), 0.0, 0.0, (line,))
    same = next((cause for cause in causes if cause.cause == named.cause), first)
    return _as_judged((same, *(cause for cause in causes if cause.cause != named.cause)), named.judgement)


LED = 0.9  # share of the opened logs in which a first complaint that led to the death was the cause


def _traced_back(
    causes: tuple[Cause, ...], digest: Digest, matches: Sequence[Match], known: Mapping[str, Entry], voter: Voter
) -> tuple[Cause, ...]:
    """Return *causes* behind the first complaint that the first of them is known as a consequence of."""
    death = causes[0]
    first = first_complaint(death, digest, matches, known, voter)
    if first is None:
        return causes
    judgement = Judgement(min(LED, death.confidence), True, (first.voter,), death.cause)
    named, *others = _with_first(causes, Named(first.cause, first.event, judgement))
    return (replace(named, evidence=tuple(dict.fromkeys((*named.evidence, *death.evidence)))), *others)


def meaning(cause: str) -> str:
    """Return what a class of causes means, in a sentence."""
    known = meanings().get(cause)
    return known.says if known is not None else cause.replace("_", " ")


def _sentence(entry: Entry, given: Mapping[str, Fact]) -> str:
    return next((wording.says for wording in entry.said if holds(wording.when, given) is True), entry.says)


def filled(sentence: str, values: Mapping[str, str]) -> str:
    """Return *sentence* with what the signature caught in place of `{name}`; what it did not catch is "…"."""
    return sentence.format_map(_Caught(values))


class _Caught(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return "…"


def _evidence_of(cascade: Sequence[Match]) -> tuple[Evidence, ...]:
    return tuple(dict.fromkeys(match.evidence for match in cascade))[:MOST_CASCADE]


# The line of the script that a rule proves wrong: where a job hangs in silence, it is the evidence.


def proving(entry: Entry, case: Case, decision: Decision | None) -> tuple[Evidence, ...]:
    """Return the first line of each finding that *entry* needs, in the order of the script, each once."""
    asked, wanted = case.asked, _wanted(entry)
    if not wanted or decision is None or asked is None or asked.script is None:
        return ()
    starts = {finding.at.start for finding in _proven(decision.findings, wanted) if finding.at is not None}
    return tuple(_line(asked, asked.script, number) for number in sorted({line_of(asked.script, at) for at in starts}))


def _of_members(entry: Entry, digest: Digest) -> tuple[Evidence, ...]:
    """Return the lines in which processes say which ranks they are, for an entry that needs that."""
    doubled = digest.doubled if "log.doubled" in entry.needs else ()
    absent = digest.absent if "log.absent" in entry.needs else ()
    return (*doubled, *absent, *(digest.frozen if "log.frozen" in entry.needs else ()))


def _wanted(entry: Entry) -> frozenset[str]:
    codes = entry.needs.get("findings", [])
    return frozenset(str(code) for code in (codes if isinstance(codes, list) else [codes]))


def _proven(findings: Iterable[Finding], wanted: frozenset[str]) -> Iterable[Finding]:
    return (finding for finding in findings if finding.proven and finding.code in wanted)


def _line(asked: Submission, script: bytes, number: int) -> Evidence:
    name = os.fsdecode(os.path.join(asked.cwd, asked.path)) if asked.path else "job.sh"
    return Evidence(name, number, cleaned(script.split(b"\n")[number - 1]))


# The shortest useful piece of a log where no cause is known.

MOST = 8  # lines
BEFORE = 3  # lines before one that stands alone
BEHIND = 4  # lines behind one that announces them
# Rows of a table that hold no fact, and rules between them.
_EMPTY = re.compile(r"(?i)^[\W\d_]*$|<N/A>|<NO_OTHER_FAILURES>|: *(?:none|n/?a|null|-)$|To enable traceback see")
_ANNOUNCES = re.compile(r":\s*$")

Rows = dict[int, str]


def excerpt(digest: Digest, matches: Sequence[Match], known: Mapping[str, Entry]) -> tuple[Evidence, ...]:
    """Return the likeliest error that nothing explains, whole, else the last lines of the log that has any.

    An error of one line comes with the lines around it, as far as they were kept.
    """
    explained = {match.event.place for match in matches if known[match.entry].role in ("follows", "harmless")}
    error = telling(digest, explained)
    return _of_event(error, digest.streams) if error is not None else _tail(digest)


def _of_event(event: Event, streams: Iterable[Stream]) -> tuple[Evidence, ...]:
    rows = dict(zip(event.unit_at, event.unit)) or {event.place.line: event.text}
    telling = max((at for at, line in rows.items() if line == event.text), default=max(rows))
    around = next((_kept(stream) for stream in streams if stream.file.path == event.place.file), {})
    whole = {**around, **rows}
    first = min(rows) if len(rows) > 1 else telling - BEFORE
    last = telling + (BEHIND if _ANNOUNCES.search(rows[telling]) else 0)
    near = {at: line for at, line in sorted(whole.items()) if first <= at <= last}
    return _lines(event.place.file, _short(near, telling))


def _kept(stream: Stream) -> Rows:
    """Return the lines of a file that were kept, by their numbers."""
    head = dict(enumerate(stream.head, 1))
    return {**head, **dict(enumerate(stream.tail, stream.tail_from))} if stream.tail else head


def _tail(digest: Digest) -> tuple[Evidence, ...]:
    read = [part for part in digest.streams if part.tail]
    if not read:
        return ()
    stream = max(read, key=lambda part: (part.file.role in ("stderr", "both"), part.lines))
    return _lines(stream.file.path, _short(dict(enumerate(stream.tail, stream.tail_from))))


def _short(rows: Rows, telling: int = 0) -> Rows:
    """Return the last of *rows* that say something; of lines that say the same but for numbers the last one.

    The *telling* one stays whatever it is.
    """
    hollow = {at for at, line in rows.items() if _EMPTY.search(line)}
    hollow |= {at for at, line in rows.items() if _ANNOUNCES.search(line) and at + 1 in hollow}
    telling_rows = {at: line for at, line in rows.items() if at == telling or at not in hollow}
    once = {template(line): at for at, line in telling_rows.items()}
    kept = [at for at, line in telling_rows.items() if at == telling or once[template(line)] == at]
    if telling:
        behind = [at for at in kept if at > telling]
        kept = [*[at for at in kept if at <= telling][-(MOST - len(behind)) :], *behind]
    return {at: telling_rows[at] for at in kept[-MOST:]} or dict(list(rows.items())[-1:])


def _lines(file: str, rows: Rows) -> tuple[Evidence, ...]:
    return tuple(Evidence(file, at, line) for at, line in rows.items() if line.strip())
