"""Tests: `[ ... ]`, `[[ ... ]]`, with three answers: 0 true, 1 false, None unknown."""

from __future__ import annotations

from typing import List, Optional, Sequence

from ..types.text import NUL, Text, number
from .expansion import matches

_NUMERIC = {
    b"-eq": lambda a, b: a == b,
    b"-ne": lambda a, b: a != b,
    b"-lt": lambda a, b: a < b,
    b"-le": lambda a, b: a <= b,
    b"-gt": lambda a, b: a > b,
    b"-ge": lambda a, b: a >= b,
}


def negate(status: Optional[int]) -> Optional[int]:
    """Return the answer of `! command`."""
    return None if status is None else int(status == 0)


def test(argv: Sequence[Text], double: bool = False) -> Optional[int]:
    """Return the answer of the words between the brackets; *double* says they stood in `[[ ]]`."""
    for joiner, stop in ((b"||", 0), (b"-o", 0), (b"&&", 1), (b"-a", 1)):
        parts = _cut(argv, joiner)
        if len(parts) > 1 and all(parts):
            return _combine([test(part, double) for part in parts], stop)
    if argv and argv[0].raw == b"!":
        return negate(test(argv[1:], double))
    if len(argv) == 1:
        return _empty(argv[0], 1)
    if len(argv) == 2:
        return _unary(argv[0].raw, argv[1])
    if len(argv) == 3:
        return _binary(argv[0], argv[1].raw, argv[2], double)
    return None if argv else 1


def fits(subject: Text, pattern: Text) -> Optional[bool]:
    """Return whether a word of `case` takes an arm's pattern; None where that is not known."""
    if pattern.raw == b"*":
        return True
    if not (subject.literal and pattern.literal):
        return None
    return matches(subject.raw, pattern.raw)


def _cut(argv: Sequence[Text], joiner: bytes) -> List[List[Text]]:
    parts: List[List[Text]] = [[]]
    for text in argv:
        if text.raw == joiner:
            parts.append([])
        else:
            parts[-1].append(text)
    return parts


def _combine(answers: List[Optional[int]], stop: int) -> Optional[int]:
    if stop in answers:
        return stop
    return None if None in answers else 1 - stop


def _empty(text: Text, answer: int) -> Optional[int]:
    """Return *answer* for an empty text, the other for one with bytes, None when unknown."""
    if text.open:
        return None
    raw = text.raw
    if raw and not raw.strip(NUL):
        return None
    if raw and not text.known and len(text.pieces) == 1:
        return None  # an unknown value may be empty
    return answer if not raw else 1 - answer


def _unary(operator: bytes, text: Text) -> Optional[int]:
    if operator == b"-z":
        return _empty(text, 0)
    if operator == b"-n":
        return _empty(text, 1)
    return None


def _binary(left: Text, operator: bytes, right: Text, double: bool) -> Optional[int]:
    compare = _NUMERIC.get(operator)
    if compare is not None:
        first, second = number(left), number(right)
        return None if first is None or second is None else int(not compare(first, second))
    if operator in (b"=", b"==", b"!="):
        same = _equal(left, right, double)
        return same if operator != b"!=" else negate(same)
    return None


def _equal(left: Text, right: Text, pattern: bool) -> Optional[int]:
    if left.open or right.open:
        return None
    if left.literal and right.literal:
        return int(not (matches(left.raw, right.raw) if pattern else left.raw == right.raw))
    if left.raw == right.raw:
        return 0
    alike = any(left.raw.startswith(kind) and right.raw.startswith(kind) for kind in (b"\0host:", b"\0name:"))
    return 1 if alike and left.known and right.known else None
