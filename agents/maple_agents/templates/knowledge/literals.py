"""Pieces of text that every match of a regular expression holds: a search for them is cheap, one for it is not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

SHORTEST = 4  # letters of a literal that is worth searching for in a line
_ANY_CASE = re.compile(r"\(\?[a-zA-Z]*i")


@cache
def literals(pattern: str) -> frozenset[str]:
    """Return literals one of which stands in every text that *pattern* matches; none where that cannot be promised.

    Raises `re.error` where the pattern is no regular expression.
    """
    from re import _parser as parser  # type: ignore[attr-defined]  # of CPython 3.11 and later

    return frozenset(_best(list(parser.parse(pattern))) or ()) if not _ANY_CASE.search(pattern) else frozenset()


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
