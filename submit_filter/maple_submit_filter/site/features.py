"""Which nodes a feature expression (`--constraint`) can mean.

Slurm's own words for it: features joined by `&` or `|`, in parentheses or brackets, with `*N` for a number of nodes.
"""

from __future__ import annotations

import re
from typing import Dict, FrozenSet, List, Optional, Tuple

Names = Optional[FrozenSet[str]]  # None: may be any

_TOKEN = re.compile(r"[\w.:+-]+|[&|()\[\]]")
_CLOSES = {"(": ")", "[": "]"}


def kinds_with(constraint: str, features: Dict[str, Tuple[str, ...]]) -> Names:
    """Return the names whose *features* may satisfy *constraint*, None where it says nothing about them.

    A name with no features listed may have any. A feature that nobody lists, a count of nodes (the other nodes of the
    job may be of any kind), `&` mixed with `|` and whatever else is not understood limit nothing.
    """
    tokens = _TOKEN.findall(constraint)
    if not tokens or "".join(tokens) != constraint:
        return None
    tokens.append("")
    try:
        found = _expression(tokens, features)
    except _NotUnderstood:
        return None
    return found if tokens == [""] else None


class _NotUnderstood(Exception):
    """The expression is not one we know how to read."""


def _expression(tokens: List[str], features: Dict[str, Tuple[str, ...]]) -> Names:
    """Read alternatives or conjunctions off the front of *tokens*."""
    found = _operand(tokens, features)
    operator = tokens[0] if tokens[0] in ("&", "|") else ""
    while operator and tokens[0] == operator:
        tokens.pop(0)
        other = _operand(tokens, features)
        found = _both(found, other) if operator == "&" else _either(found, other)
    if tokens[0] in ("&", "|"):
        raise _NotUnderstood
    return found


def _operand(tokens: List[str], features: Dict[str, Tuple[str, ...]]) -> Names:
    """Read one feature, or one expression in parentheses or brackets."""
    token = tokens.pop(0)
    if token in _CLOSES:
        found = _expression(tokens, features)
        if tokens.pop(0) != _CLOSES[token]:
            raise _NotUnderstood
        return found
    if not token or token in "&|)]":
        raise _NotUnderstood
    if not any(token in listed for listed in features.values()):
        return None
    return frozenset(name for name, listed in features.items() if token in listed or not listed)


def _both(one: Names, other: Names) -> Names:
    if one is None or other is None:
        return other if one is None else one
    return one & other


def _either(one: Names, other: Names) -> Names:
    return None if one is None or other is None else one | other
