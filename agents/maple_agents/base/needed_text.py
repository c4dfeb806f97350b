"""Pieces of text that every match of a regular expression holds: a search for them is cheap, one for it is not."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any


def needed(pattern: str, flags: int, shortest: int) -> frozenset[str]:
    """Return literals one of which stands in every text that *pattern* matches; none where that cannot be promised.

    None has fewer than *shortest* letters. Raises `re.error` where the pattern is no regular expression.
    """
    parser = import_module("re._parser")  # of CPython 3.11 and later; no stubs know it
    return _longest(list(parser.parse(pattern, flags)), shortest) or frozenset()


def _longest(tree: list[Any], shortest: int) -> frozenset[str] | None:
    """Return, of the sets of literals one of which must stand in a match, that whose shortest one is longest."""
    sets = [literals for literals in _sets(tree, shortest) if min(map(len, literals)) >= shortest]
    return max(sets, key=lambda literals: (min(map(len, literals)), -len(literals)), default=None)


def _sets(tree: list[Any], shortest: int) -> Iterator[frozenset[str]]:
    text = ""
    for operator, argument in tree:
        if str(operator) == "LITERAL":
            text += chr(argument)
            continue
        if text:
            yield frozenset((text,))
        text = ""
        if inner := _inside(str(operator), argument, shortest):
            yield inner
    if text:
        yield frozenset((text,))


def _inside(operator: str, argument: Any, shortest: int) -> frozenset[str] | None:
    if operator == "SUBPATTERN" and not argument[1]:  # no flags of its own
        return _longest(list(argument[-1]), shortest)
    if operator == "ATOMIC_GROUP":
        return _longest(list(argument), shortest)
    if operator == "BRANCH":
        parts = [_longest(list(branch), shortest) for branch in argument[1]]
        return frozenset().union(*(part for part in parts if part)) if all(parts) else None
    if operator in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT") and argument[0] >= 1:
        return _longest(list(argument[2]), shortest)
    return None
