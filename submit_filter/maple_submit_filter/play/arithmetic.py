"""Whole-number arithmetic as bash does it, for the expressions that launch scripts use."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

Bounds = Tuple[int, int]  # the least and the most that a number may be

_TOKEN = re.compile(rb"\s*(0[xX][0-9a-fA-F]+|\d+|[A-Za-z_]\w*|\*\*|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%()<>?:!~&|^])")
_LEVELS: List[List[bytes]] = [
    [b"||"], [b"&&"], [b"|"], [b"^"], [b"&"], [b"==", b"!="], [b"<", b"<=", b">", b">="], [b"<<", b">>"],
    [b"+", b"-"], [b"*", b"/", b"%"], [b"**"],
]  # fmt: skip


class Unknown(Exception):
    """The expression holds something that is not a known number."""


def evaluate(expression: bytes, value: Callable[[bytes], Optional[int]]) -> Optional[int]:
    """Return the number an expression comes to, or None when it cannot be known.

    *value* returns a variable's number, or None where it is not known (an unset one is 0 in bash).
    """
    try:
        return int(_Reader(expression, value).all())
    except (Unknown, ZeroDivisionError, ValueError, RecursionError, OverflowError):
        return None


def bounds(expression: bytes, value: Callable[[bytes], Optional[Bounds]]) -> Optional[Bounds]:
    """Return the least and the most that an expression may come to, or None when that cannot be known.

    *value* returns the bounds of a variable; what is no sum, product, quotient or remainder is not followed.
    """
    try:
        low, high = _Ranges(expression, value).all()
        return low, high
    except (Unknown, ValueError, TypeError, KeyError, RecursionError):
        return None


class _Reader:
    """A precedence climber over the tokens of one expression."""

    operations: Mapping[bytes, Callable[[Any, Any], Any]]

    def __init__(self, expression: bytes, value: Callable[[bytes], Any]) -> None:
        self.tokens: List[bytes] = []
        self.value = value
        at = 0
        expression = expression.rstrip()
        while at < len(expression):
            match = _TOKEN.match(expression, at)
            if not match or len(self.tokens) > 200:
                raise Unknown
            self.tokens.append(match.group(1))
            at = match.end()
        self.at = 0

    def peek(self) -> bytes:
        return self.tokens[self.at] if self.at < len(self.tokens) else b""

    def take(self) -> bytes:
        self.at += 1
        return self.tokens[self.at - 1] if self.at <= len(self.tokens) else b""

    def all(self) -> Any:
        if not self.tokens:
            return self.number(0)
        result = self.choice()
        if self.at != len(self.tokens):
            raise Unknown
        return result

    def choice(self) -> Any:
        condition = self.level(0)
        if self.peek() != b"?":
            return condition
        self.take()
        first = self.choice()
        if self.take() != b":":
            raise Unknown
        second = self.choice()
        return first if condition else second

    def level(self, number: int) -> Any:
        if number == len(_LEVELS):
            return self.unary()
        left = self.level(number + 1)
        while self.peek() in _LEVELS[number]:
            left = self.operations[self.take()](left, self.level(number + 1))
        return left

    def number(self, whole: int) -> Any:
        return whole

    def unary(self) -> Any:
        word = self.take()
        if word == b"(":
            inner = self.choice()
            if self.take() != b")":
                raise Unknown
            return inner
        if word in (b"-", b"+", b"!", b"~"):
            operand = self.unary()
            return {b"-": -operand, b"+": operand, b"!": int(not operand), b"~": ~operand}[word]
        if word[:1].isdigit():
            return self.number(
                int(word, 16) if word[:2].lower() == b"0x" else int(word, 8 if word[0:1] == b"0" else 10)
            )
        if word[:1].isalpha() or word[:1] == b"_":
            known = self.value(word)
            if known is None:
                raise Unknown
            return known
        raise Unknown


def _power(left: int, right: int) -> int:
    if not 0 <= right <= 64 or abs(left) > 1 << 16:
        raise Unknown
    return int(left**right)


def _shift(left: int, right: int) -> int:
    if not -64 <= right <= 64:
        raise Unknown
    return left << right if right >= 0 else left >> -right


_OPERATIONS: Dict[bytes, Callable[[int, int], int]] = {
    b"||": lambda a, b: int(bool(a or b)),
    b"&&": lambda a, b: int(bool(a and b)),
    b"|": lambda a, b: a | b,
    b"^": lambda a, b: a ^ b,
    b"&": lambda a, b: a & b,
    b"==": lambda a, b: int(a == b),
    b"!=": lambda a, b: int(a != b),
    b"<": lambda a, b: int(a < b),
    b"<=": lambda a, b: int(a <= b),
    b">": lambda a, b: int(a > b),
    b">=": lambda a, b: int(a >= b),
    b"<<": _shift,
    b">>": lambda a, b: _shift(a, -b),
    b"+": lambda a, b: a + b,
    b"-": lambda a, b: a - b,
    b"*": lambda a, b: a * b,
    b"/": lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),  # bash rounds towards zero
    b"%": lambda a, b: a - b * (abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)),
    b"**": _power,
}
_Reader.operations = _OPERATIONS


class _Ranges(_Reader):
    """The same climber over bounds in place of numbers."""

    def number(self, whole: int) -> Any:
        return whole, whole

    def choice(self) -> Any:
        bounds_of = self.level(0)
        if self.peek() == b"?":
            raise Unknown
        return bounds_of


def _of_ends(operation: Callable[[int, int], int]) -> Callable[[Bounds, Bounds], Bounds]:
    """Return an operation that is greatest and least where its operands are."""

    def apply(left: Bounds, right: Bounds) -> Bounds:
        ends = [operation(end, other) for end in left for other in right]
        return min(ends), max(ends)

    return apply


def _remainder(left: Bounds, right: Bounds) -> Bounds:
    if left[0] < 0 or right[0] != right[1] or right[0] < 1:
        raise Unknown
    return left if left[1] < right[0] else (0, right[0] - 1)


def _quotient(left: Bounds, right: Bounds) -> Bounds:
    if left[0] < 0 or right[0] < 1:
        raise Unknown
    return left[0] // right[1], left[1] // right[0]


_Ranges.operations = {
    b"+": _of_ends(lambda a, b: a + b),
    b"-": _of_ends(lambda a, b: a - b),
    b"*": _of_ends(lambda a, b: a * b),
    b"/": _quotient,
    b"%": _remainder,
}
