"""What the sentence of an error says of what kind of thing (a module is not installed, a host refused, a port is in
use), and the class that this means: for messages whose words no entry and no labelled line knows.

The kinds of things, what may be said of them and which class that gives are data, `templates/words/complaints.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

import tomllib

from ..read import bare
from .neighbours import learnt

FILE = "complaints.toml"
LONGEST = 500  # letters of a sentence that are read
_TIGHT = re.compile(r"\s+")
# Where in the program's own source it is said; it stands between a thing and what is said of it.
_SOURCE = re.compile(r"[(\[](?:[\w.-]*/)*[\w-]+\.(?:cc?|cpp|cu|cxx|hpp|h|py|go|rs)(?::\d+| *, *line \d+)[)\]]:? ?")


class Reading(NamedTuple):
    """What a sentence says: *name* of the reading, and the class *cause* that it gives."""

    name: str
    cause: str


class Rule(NamedTuple):
    """A reading as the data has it; *states* by name, *far*: letters between a thing and its state, at most."""

    name: str
    cause: str
    thing: str
    states: Sequence[str]
    whole: str
    without: str
    far: int


@lru_cache(maxsize=256)
def reading(text: str) -> Reading | None:
    """Return what a cleaned line of a log says, None where it complains of nothing that is known."""
    sentence = _SOURCE.sub(" ", _TIGHT.sub(" ", bare(text)))[:LONGEST]
    rule = next((rule for rule in _rules() if _holds(rule, sentence)), None)
    return Reading(rule.name, rule.cause) if rule is not None else None


def _holds(rule: Rule, sentence: str) -> bool:
    if not (rule.whole and _found(rule.whole, sentence) or _near(rule, sentence)):
        return False
    return not (rule.without and _found(rule.without, sentence))


def _near(rule: Rule, sentence: str) -> bool:
    """Return whether a thing and one of its states stand close to each other; without a thing: whether a state does."""
    states = [span for state in rule.states for span in _spans(state, sentence)]
    if not states or not rule.thing:
        return bool(states)
    return any(
        max(start, begins) - min(end, ends) <= rule.far
        for start, end in _spans(rule.thing, sentence)
        for begins, ends in states
    )


def _spans(expression: str, sentence: str) -> Iterator[tuple[int, int]]:
    return (match.span() for match in _compiled(expression).finditer(sentence))


def _found(expression: str, sentence: str) -> bool:
    return _compiled(expression).search(sentence) is not None


@cache
def _compiled(expression: str) -> re.Pattern[str]:
    return re.compile(expression, re.I)


@cache
def _rules() -> tuple[Rule, ...]:
    """Return the readings of the templates in force, none where there are none that can be read."""
    return learnt(FILE, _read, "words") or ()


def _read(data: bytes) -> tuple[Rule, ...]:
    try:
        words = tomllib.loads(data.decode())
        return tuple(_made(row, words["states"], words["far"]) for row in words["readings"])
    except (KeyError, TypeError) as error:
        raise ValueError("no readings: %s" % error) from None


def _made(row: Mapping[str, Any], states: Mapping[str, str], far: int) -> Rule:
    return Rule(
        row["name"], row["cause"], row.get("thing", ""), [states[name] for name in row.get("states", ())],
        row.get("whole", ""), row.get("without", ""), far,
    )  # fmt: skip


__all__ = ["Reading", "reading"]
