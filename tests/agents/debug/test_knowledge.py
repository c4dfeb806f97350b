"""The knowledge base: it can be read whole, its words find the texts that they are for, and no others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from re import _parser as parser  # type: ignore[attr-defined]
from string import Formatter

import pytest
from maple_agents.templates.knowledge import anchors, entries
from maple_agents.templates.knowledge.entries import CLASSES, SHORTEST, literals
from maple_agents.templates.knowledge.entries_in_force import signs

LONG = 4000  # characters: twice what is searched of a line; what is worse than its square would not end here either
UNBOUNDED = 1000  # repeats that may go further than this are as good as unbounded
KNOWN = entries()
PATTERNS = [(name, pattern) for name, entry in KNOWN.items() for pattern in [*entry.match, *entry.without]]


def test_every_class_has_an_entry():
    """A class that programs may rely on can be found; there are enough entries, and enough noise is known."""
    assert {entry.cause for entry in KNOWN.values()} == set(CLASSES)
    assert len(KNOWN) >= 120
    assert sum(entry.role == "harmless" for entry in KNOWN.values()) >= 30


@pytest.mark.parametrize("name", KNOWN)
def test_an_entry_names_only_what_there_is(name):
    """Consequences and signs are ids or classes; an entry is not ruled out or confirmed by its own words."""
    there = {*KNOWN, *CLASSES}
    assert set(KNOWN[name].explains) <= there - {name}
    assert signs(KNOWN[name]) <= there - {name, KNOWN[name].cause}


@pytest.mark.parametrize("name", KNOWN)
def test_a_sentence_says_only_what_is_caught(name):
    """Whatever pattern was found, each name in a sentence or an argument has a value."""
    entry = KNOWN[name]
    said = [
        entry.says,
        *(one.says for one in entry.said),
        *(text for one in entry.fixes for text in (one.says, *one.steps, *map(str, one.give.values()))),
    ]
    named = {field for text in said for _, field, _, _ in Formatter().parse(text) if field is not None}
    for pattern in entry.match or [""]:
        assert named <= set(re.compile(pattern).groupindex), pattern


VARIABLE = re.compile(r"\b[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+\b")


@pytest.mark.parametrize("name", KNOWN)
def test_a_sentence_names_a_variable_only_where_the_log_or_a_condition_does(name):
    """What a job's variable holds is claimed by evidence; a variable is unset only where something sets it."""
    entry = KNOWN[name]
    shown = " ".join([*entry.match, entry.exception, str(entry.needs)])
    assert [one for one in VARIABLE.findall(entry.says) if one not in shown] == []
    for other in entry.said:
        assert [one for one in VARIABLE.findall(other.says) if one not in shown + str(other.when)] == []
    for remedy in entry.fixes:
        assert "unset" not in remedy.says or remedy.how == "unset-env", remedy.says


@pytest.mark.parametrize("name", [name for name, entry in KNOWN.items() if entry.role == "cause"])
def test_a_cause_says_what_to_do(name):
    """Each cause has a remedy: a typed fix, or steps, or a sentence that is all there is to do."""
    assert KNOWN[name].fixes
    assert all(one.kind != "unknown" for one in KNOWN[name].fixes)


def test_a_cause_is_known_by_words_or_facts():
    """An entry with neither would never be found."""
    assert [name for name, entry in KNOWN.items() if not entry.match and not entry.needs] == []


def test_words_can_be_searched_for():
    """Most signatures hold a literal that a fast search finds; the rest are of lines that sound bad anyway."""
    found = anchors(KNOWN)
    assert all(len(one) >= SHORTEST for one in found)
    assert len(found) > 500
    bare = [pattern for entry in KNOWN.values() for pattern in entry.match if not literals(pattern)]
    assert len(bare) < 0.05 * len(PATTERNS), bare


@pytest.mark.parametrize("name, pattern", PATTERNS, ids=lambda one: one[:40])
def test_no_repeat_stands_in_a_repeat(name, pattern):
    """What repeats without bound holds nothing that does: no line takes long, however hostile."""
    assert not list(_nested(parser.parse(pattern), False)), name
    assert _in_a_row(parser.parse(pattern)) <= 4, name


def _nested(tree, inside: bool) -> Iterator[str]:
    for operator, argument in tree:
        many = str(operator).endswith("REPEAT") and argument[1] > UNBOUNDED
        if many and inside:
            yield str(argument)
        for part in _parts(argument):
            yield from _nested(part, inside or many)


def _in_a_row(tree) -> int:
    """Return how many repeats of more than a hundred stand beside each other, at most."""
    count = 0
    for operator, argument in tree:
        if str(operator).endswith("REPEAT") and argument[1] > 100:
            count += 1
        else:
            count += max((_in_a_row(part) for part in _parts(argument)), default=0)
    return count


def _parts(argument) -> Iterator[object]:
    if isinstance(argument, parser.SubPattern):
        yield argument
    elif isinstance(argument, (tuple, list)):
        for one in argument:
            yield from _parts(one)


@cache
def _pieces() -> tuple[str, ...]:
    return tuple(sorted({literal for _, pattern in PATTERNS for literal in literals(pattern)}))


def test_a_hostile_line_ends():
    """Twice the longest line of a signature's own words, or of what it repeats, is searched to its end."""
    lines = [one * LONG for one in ("a", " ", "/", "0", ".", "-", "(", "'")]
    for name, pattern in PATTERNS:
        own = " ".join([*sorted(literals(pattern)), ""])
        expression = re.compile(pattern)
        for line in [*lines, (own * LONG)[:LONG]]:
            found = expression.search(line)
            assert found is None or found.end() <= LONG, name
