"""What was found in the logs, as facts for the conditions of other entries: signs, and whether all was silent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...templates.knowledge.conditions import Fact, holds
from ...templates.knowledge.entries import Entry
from ..values import Digest, Severity
from .facts import FEW_LINES
from .matches import Match

# What a scheduler says when it ends a job: no word of the job's own.
ENDINGS = frozenset(("time_limit", "cancelled_by_user", "preempted_or_requeued", "terminal_hangup"))


def with_signs(
    given: Mapping[str, Fact], found: Sequence[Match], known: Mapping[str, Entry], digest: Digest
) -> dict[str, Fact]:
    """Return *given* with "signs" (ids and classes of what was found) and "log.silent", which those decide.

    An entry whose own needs do not hold is no sign. A log is silent that holds nothing of the job but harmless words
    and what the scheduler said when it ended it.
    """
    kept = [one for one in found if stands(known[one.entry], given)]
    signs = {one.entry for one in kept} | {known[one.entry].cause for one in kept}
    return {**given, "signs": tuple(sorted(signs)), "log.silent": _silent(given, found, known, digest)}


def stands(entry: Entry, given: Mapping[str, Fact]) -> bool:
    """Return whether an entry may be a sign; one that waits for other signs is not asked about those."""
    if entry.role == "harmless":
        return False
    needs = {name: wanted for name, wanted in entry.needs.items() if name not in ("signs", "log.silent")}
    own = len(needs) == len(entry.needs)
    return own and (not needs or holds(needs, given) is True)


def _silent(given: Mapping[str, Fact], found: Sequence[Match], known: Mapping[str, Entry], digest: Digest) -> Fact:
    if given.get("log.silent") is not False or digest.progress or digest.ended_well:
        return given.get("log.silent")
    quiet = {one.event.place for one in found if _quiet(known[one.entry])}
    quiet -= {one.event.place for one in found if _speaks(known[one.entry]) and stands(known[one.entry], given)}
    loud = [one for one in digest.events if one.severity >= Severity.ERROR and one.place not in quiet]
    few = isinstance(ordinary := given.get("log.ordinary"), int) and ordinary <= FEW_LINES
    return few and not loud


def _quiet(entry: Entry) -> bool:
    return entry.cause in ENDINGS or entry.role in ("follows", "harmless")


def _speaks(entry: Entry) -> bool:
    """Return whether the words are the log's own: what a rule proves of the script it takes from a scheduler's word."""
    return entry.role in ("cause", "symptom") and entry.cause not in ENDINGS and "findings" not in entry.needs
