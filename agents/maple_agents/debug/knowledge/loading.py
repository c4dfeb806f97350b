"""The knowledge base in force, read once, and the literal pieces by which a fast search finds lines worth a look."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from ...repository.tables import paths, read
from .entries import Entry, Family
from .literals import literals

KIND = "knowledge"
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


def _rare(pattern: str) -> frozenset[str]:
    found = literals(pattern)
    return found if found and min(map(len, found)) >= RARE else frozenset()


def compiled(pattern: str) -> re.Pattern[str]:
    """Return *pattern* as every signature is searched: `.` matches no line feed, letters are what they are."""
    return _compiled(pattern)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
