"""Several places speak of one name: which of them the program would take, and where that is not known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from maple_submit_filter.types.job_records import Part, Value

from . import names

# Whoever stands first wins: a program takes its arguments over its config, and that over what it has built in.
ORDER = ("arguments", "script", "plan", "config", "program")


class Candidate(NamedTuple):
    """A place that speaks of a name. *value* None: it does, and what it says is not known. *rank*: of the spelling."""

    name: str
    value: str | None
    file: str
    line: int
    part: str
    by: str
    rank: int = 0


def of_key(key: str, value: str | None, file: str, line: int, part: str, by: str) -> list[Candidate]:
    """Return what a key with its value says: nothing where the key is not known, or it is a flag that is off."""
    what = names.known(key)
    if what is None:
        return []
    kept = names.said(what, value) if value is not None else None
    if value is not None and kept is None and (what.fixed or value.strip().lower() in names.UNSAID):
        return []
    return [Candidate(what.name, kept, file, line, part, by, what.rank)]


def settled(candidates: Iterable[Candidate]) -> tuple[Value, ...]:
    """Return one value for each name: of the first place in order that speaks of it, if it says one thing."""
    by_name: dict[str, list[Candidate]] = {}
    for one in candidates:
        by_name.setdefault(one.name, []).append(one)
    found = (_one(group) for group in by_name.values())
    return tuple(sorted((one for one in found if one is not None), key=lambda one: one.name))


def _one(group: Sequence[Candidate]) -> Value | None:
    first = min((ORDER.index(one.by), one.rank) for one in group)
    said = [one for one in group if (ORDER.index(one.by), one.rank) == first]
    value = said[0].value
    if value is None or any(one.value is None or not names.same(one.value, value) for one in said):
        return None
    one = said[0]
    return Value(one.name, value, one.file, one.line, one.part, one.by)


def part_at(line: int, parts: Sequence[Part], *kinds: str) -> str:
    """Return the hash of the part of the script that holds a line, looked for among *kinds* first; "" none.

    The lines of parts overlap (an assignment between two launches), so the kind that a thing belongs to decides.
    """
    order = (*kinds, "launch", "setup", "environment", "directives", "after")
    own = [one for one in parts if one.kind in order and one.lines[0] <= line <= one.lines[1]]
    return min(own, key=lambda one: order.index(one.kind)).hash if own else ""
