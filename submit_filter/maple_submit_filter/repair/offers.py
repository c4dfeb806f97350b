"""What all offers lead to, and what the user has written and nobody reads, which comes before every other offer."""

from __future__ import annotations

from typing import Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from ..request.unread_directives import said_on
from ..types.edits import Fix, Safety
from ..types.findings import Finding
from ..types.job import Job, Setting
from .cost import asks_for_less
from .search import Again, Repair, State, Taken, reasons, repair, tried

UNREAD = ("MPL101", "MPL102", "MPL109")  # the rules of what is not read
Said = Set[Tuple[str, bytes]]
Pair = Tuple[Optional[Setting], Optional[Setting]]  # a setting before and after a change


class Offer(NamedTuple):
    """*base*: the job as it is submitted, or with all of the user's words read; *made*: where the offers lead."""

    base: State
    made: Repair


def offered(start: State, findings: Sequence[Finding], again: Again) -> Offer:
    """Return what all offers lead to. *findings*: all that is found; *start* may have the proven ones alone."""
    first = _heard(start, findings, again)
    if first is not None:
        code, fix, base = first
        more = completed(base, again)
        if more.whole or not base.proven():
            rest = ((), ()) if not more.whole else (more.taken, more.because)
            taken, because = ((code, fix), *rest[0]), (*reasons(fix, start), *rest[1])
            return Offer(base, Repair(more.state, True, taken, tuple(dict.fromkeys(because)), more.held_back))
    return Offer(start, completed(start, again))


def completed(state: State, again: Again) -> Repair:
    """Return what all offers lead to: none asks for less than the user does, unless it is the only change."""

    def no_less(job: Job, source: bytes, argv: Tuple[bytes, ...]) -> Optional[State]:
        after = again(job, source, argv)
        return after if after is not None and not asks_for_less(state.job, after.job) else None

    both = (Safety.SAFE, Safety.ASK)
    made = repair(state, both, no_less)
    less = made if made.whole else repair(state, both, again)
    return less if less.whole and len(less.taken) == 1 else made


def _heard(start: State, findings: Sequence[Finding], again: Again) -> Optional[Taken]:
    """Return the fix that has the scheduler read all that it does not, where fewer contradictions are left then.

    What the user has written comes before any other way to cure what follows from its not being read. *findings*: all
    that is found, of which *start* may have the proven ones alone.
    """
    unread = _unread(start.job)
    fixes: List[Tuple[str, Fix]] = []
    for finding in findings if unread else ():
        for fix in finding.fixes[:1] if finding.code in UNREAD else ():
            after = tried(start, fix, again) if (finding.code, fix) not in fixes else None
            if after is not None and _only_heard(start.job, after.job, unread):
                fixes.append((finding.code, fix))
    if not fixes:
        return None
    says = ", ".join(dict.fromkeys(fix.says for _, fix in fixes))
    argv_edits = tuple(edit for _, fix in fixes for edit in fix.argv_edits)
    whole = Fix(tuple(edit for _, fix in fixes for edit in fix.edits), Safety.ASK, says, argv_edits)
    after = tried(start, whole, again)
    better = after is not None and len(after.proven()) < len(start.proven())
    return (fixes[0][0], whole, after) if after is not None and better else None


def _unread(job: Job) -> Said:
    """Return the settings that the user wrote where the scheduler reads none: (name, value)."""
    lines = [oddity.span for oddity in job.script.oddities if oddity.kind in ("late", "near-miss")]
    pairs = {(name, value) for span in lines for name, value, _ in said_on(job, job.source[span.start : span.end])}
    words = (word[2:].partition(b"=") for word in job.arguments or () if word[:2] == b"--")
    return pairs | {(name.decode("utf-8", "replace"), value) for name, _, value in words}


def _only_heard(before: Job, after: Job, unread: Said) -> bool:
    pairs = list(differences(before, after))
    return bool(pairs) and all(_is_said(pair, unread) for pair in pairs)


def _is_said(pair: Pair, unread: Said) -> bool:
    """Return whether a setting was said where nobody reads it, and nothing else was said of the same."""
    old, new = pair
    return old is None and new is not None and (new.name, new.value) in unread


def differences(before: Job, after: Job) -> Iterator[Pair]:
    """Yield the settings in force that a change makes others."""
    names = dict.fromkeys([setting.name for setting in before.settings] + [setting.name for setting in after.settings])
    for name in names:
        old, new = before.settings.get(name), after.settings.get(name)
        if old is None or new is None or old.value != new.value:
            yield old, new
