"""Prefixes that no table knows: what stands before a traceback's header stands before its other lines as well."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .units.tracebacks import FRAME, HEADER
from .units.voices import Line

NEXT = 40  # lines behind a header in which a frame of it stands
LONGEST = 200  # letters of a prefix
MOST = 8  # prefixes of a log
_NUMBER = re.compile(r"\d+")
_PROCESS = re.compile(r"(?:\[|\bpid[ =:]{1,2})(\d+)")


def without_learned(lines: Sequence[Line]) -> None:
    """Take from the words of *lines* the prefixes that its tracebacks bear, numbers aside."""
    known = [re.compile(pattern) for pattern in _patterns(lines)]
    for line in lines if known else ():
        found = next((found for one in known if (found := one.match(line.words))), None)
        if found is not None:
            line.words = line.words[found.end() :]
            process = _PROCESS.search(found[0])
            line.told.pid = line.told.pid or (process[1] if process else "")


def _patterns(lines: Sequence[Line]) -> list[str]:
    found: dict[str, None] = {}
    for at, pattern in _headed(lines):
        frame = re.compile(pattern + FRAME.pattern)
        if pattern not in found and any(frame.match(line.words) for line in lines[at + 1 : at + 1 + NEXT]):
            found[pattern] = None
        if len(found) >= MOST:
            break
    return list(found)


def _headed(lines: Sequence[Line]) -> Iterator[tuple[int, str]]:
    """Yield where a traceback begins behind something, and a pattern of that."""
    for at, line in enumerate(lines):
        header = HEADER.match(line.words) if "Traceback (most" in line.words else None
        before = header["before"] if header else ""
        if before.strip() and len(before) <= LONGEST:
            yield at, r"\d+".join(map(re.escape, _NUMBER.split(before)))
