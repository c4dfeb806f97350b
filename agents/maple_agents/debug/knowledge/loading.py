"""The knowledge base in force, read once, and the literal pieces by which a fast search finds lines worth a look."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from ...repository.tables import paths, read
from .entries import Entry, Family

KIND = "knowledge"
SHORTEST = 4  # letters of a literal that is worth searching for in a line
RARE = 7  # letters of one that is worth searching for in a whole log: shorter ones stand on lines of every day


@cache
def entries() -> Mapping[str, Entry]:
    """Return every entry in force by its id. Raises `ValueError`: a line for each mistake, an id given twice is one."""
    found: dict[str, Entry] = {}
    for path in paths(KIND).values():
        for name, entry in read(Family, path).entry.items():
            if name in found:
                raise ValueError("%s: entry.%s: another file has an entry of that id" % (path, name))
            found[name] = entry
    return found


def anchors(known: Mapping[str, Entry]) -> tuple[bytes, ...]:
    """Return literals by which lines are found in a log that signatures of *known* match.

    A signature without a literal of at least seven letters has none here: lines that sound bad are looked at anyway.
    """
    wanted = {literal for entry in known.values() for pattern in entry.match for literal in _rare(pattern)}
    return tuple(sorted(one.encode() for one in wanted))


def _rare(pattern: str) -> set[str]:
    found = literals(pattern)
    return found if found and min(map(len, found)) >= RARE else set()


def literals(pattern: str) -> set[str]:
    """Return literals one of which stands in every text that *pattern* matches; none where that cannot be promised."""
    from re import _parser as parser  # type: ignore[attr-defined]  # of CPython 3.11 and later

    return _best(list(parser.parse(pattern))) or set()


def _best(tree: list[Any]) -> set[str] | None:
    """Return the choice whose shortest literal is longest; None: nothing can be promised."""
    choices = [choice for choice in _choices(tree) if choice and min(map(len, choice)) >= SHORTEST]
    return max(choices, key=lambda choice: (min(map(len, choice)), -len(choice)), default=None)


def _choices(tree: list[Any]) -> Iterator[set[str]]:
    text = ""
    for operator, argument in tree:
        name = str(operator)
        if name == "LITERAL":
            text += chr(argument)
            continue
        if text:
            yield {text}
            text = ""
        yield from _inside(name, argument)
    if text:
        yield {text}


def _inside(name: str, argument: Any) -> Iterator[set[str]]:
    if name == "SUBPATTERN":
        best = _best(list(argument[-1]))
    elif name == "BRANCH":
        parts = [_best(list(one)) for one in argument[1]]
        best = set().union(*(part or set() for part in parts)) if all(parts) else None
    elif name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT") and argument[0] >= 1:
        best = _best(list(argument[2]))
    elif name == "ATOMIC_GROUP":
        best = _best(list(argument))
    else:
        best = None
    if best:
        yield best


def compiled(pattern: str) -> re.Pattern[str]:
    """Return *pattern* as every signature is searched: `.` matches no line feed, letters are what they are."""
    return _compiled(pattern)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
