"""Which entries of the knowledge base a log speaks of, by their words."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from ...templates.knowledge.entries import COMPARED, Entry, ignores_case
from ...templates.knowledge.entries_in_force import compiled, promised
from ..read import bare
from ..read.literals import english
from ..values import Event, Evidence

_FRAME = re.compile(r'^.{0,60}\bFile "[^"]+", line \d+')
_CODE = re.compile(r"^.{0,60}? {4}")  # indented below its frame, behind whatever stands before each line


@dataclass(frozen=True, slots=True)
class Match:
    """An entry whose words stand in an event. *order*: the event's place among all, 0 is the first in time."""

    entry: str
    event: Event
    order: int
    evidence: Evidence
    values: dict[str, str] = field(default_factory=dict)


def matches(events: Sequence[Event], known: Mapping[str, Entry]) -> tuple[Match, ...]:
    """Return every entry that is known by words, with the events that say them, in the order of *events*."""
    lines_of = [_lines(event) for event in events]
    meant = _possible_of("\n".join(line.words for lines in lines_of for line in lines), known)
    return tuple(
        match
        for order, (event, lines) in enumerate(zip(events, lines_of, strict=True))
        for match in _of_event(event, order, lines, meant)
    )


def _possible_of(text: str, known: Mapping[str, Entry]) -> dict[str, tuple[Entry, tuple[str, ...]]]:
    """Return the entries that *text* may speak of, each with the expressions that may match there: a few of all."""
    literals = _Literals(text)
    rows = {name: (entry, tuple(filter(literals.may_match, entry.match))) for name, entry in known.items()}
    return {name: row for name, row in rows.items() if row[1] or row[0].exception and not row[0].match}


class _Literals:
    """Which literals stand in a text, each looked for once; of (?i) expressions those in small letters."""

    def __init__(self, text: str) -> None:
        self._text, self._small = text, text.casefold()
        self._there: dict[str, bool] = {}

    def may_match(self, pattern: str) -> bool:
        """Return False where no line of the text can match: an expression is dear, a literal is not."""
        wanted = promised(pattern)
        return not wanted or any(self._stands(literal, ignores_case(pattern)) for literal in wanted)

    def _stands(self, literal: str, small: bool) -> bool:
        key = "\0" + literal if small else literal
        if key not in self._there:
            self._there[key] = literal in (self._small if small else self._text)
        return self._there[key]


def _of_event(
    event: Event, order: int, lines: Sequence[_Line], meant: Mapping[str, tuple[Entry, tuple[str, ...]]]
) -> Iterator[Match]:
    text = "\n".join(line.words for line in lines)
    whole = "\n".join(_spoken([line.words for line in lines])) if event.exception else text
    literals, spoken = _Literals(text), _Literals(whole)
    for name, (entry, patterns) in meant.items():
        hit = _found(
            entry,
            event,
            lines,
            [expression for expression in patterns if literals.may_match(expression)],
            whole,
            spoken,
        )
        if hit is not None:
            number, line, values = hit
            yield Match(name, event, order, Evidence(event.place.file, number, line), values)


class _Line(NamedTuple):
    """A line of an event: where it stands, as it is shown, and its words in English, in which they are searched."""

    number: int
    shown: str
    words: str


def _lines(event: Event) -> list[_Line]:
    """Return the telling line first, then the others of its unit."""
    unit = zip(event.unit_at, event.unit) if event.unit else ()
    lines = [(event.place.line, event.text), *((at, line) for at, line in unit if line != event.text)]
    return [_Line(number, shown, _english(shown)) for number, shown in lines]


def _spoken(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a traceback that are words: not where it was (paths name libraries), nor the code there."""
    below = False
    for line in lines:
        frame = _FRAME.search(line)
        code = below and _CODE.search(line)
        if not frame and not code:
            yield line
        below = bool(frame or code)


def _found(
    entry: Entry, event: Event, lines: Sequence[_Line], patterns: Sequence[str], text: str, spoken: _Literals
) -> tuple[int, str, dict[str, str]] | None:
    """Return the line that one of *patterns* knows, where nothing *text* says that the entry is not meant."""
    if entry.match and not patterns or not _meant(entry, event):
        return None
    if event.exception and entry.role == "harmless":
        lines = lines[:1]  # the code that it went through makes no exception harmless
    hit = (
        _hit(entry, lines, patterns) if entry.match else (event.place.line, event.text, {"exception": event.exception})
    )
    if hit is None or any(
        spoken.may_match(expression) and compiled(expression).search(text) for expression in entry.without
    ):
        return None
    return hit


def _hit(entry: Entry, lines: Sequence[_Line], patterns: Sequence[str]) -> tuple[int, str, dict[str, str]] | None:
    for pattern in patterns:
        for line in lines:
            hit = compiled(pattern).search(line.words) or _without_prefix(pattern, line.words)
            if hit is not None:
                values = {name: value for name, value in hit.groupdict().items() if value is not None}
                if all(_compares(comparison, values) for comparison in entry.where):
                    return line.number, line.shown, values
    return None


_BY = {"<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge, "!=": operator.ne}


def _compares(comparison: str, values: Mapping[str, str]) -> bool:
    """Return whether two numbers that were caught compare so; what is not caught, or is no number, does not."""
    parts = COMPARED.fullmatch(comparison)
    if parts is None:
        return False
    left, other = values.get(parts[1], ""), values.get(parts[3], "")
    return left.isdigit() and other.isdigit() and _BY[parts[2]](int(left), int(other))


def _without_prefix(pattern: str, line: str) -> re.Match[str] | None:
    """Search an expression that asks for the beginning of a line behind rank, node and time."""
    words = _bare(line) if pattern.startswith("^") else line
    return None if words == line else compiled(pattern).search(words)


@lru_cache(4096)
def _bare(line: str) -> str:
    return bare(line)


@lru_cache(4096)
def _english(line: str) -> str:
    return english(line)


def _meant(entry: Entry, event: Event) -> bool:
    """Return whether the event is of the form that the entry asks for: an exception, raised there."""
    if entry.exception and not re.search(entry.exception, event.exception):
        return False
    if not entry.frame:
        return True
    in_user = event.innermost is not None and event.innermost == event.frame
    return in_user if entry.frame == "user" else event.innermost is not None and not in_user
