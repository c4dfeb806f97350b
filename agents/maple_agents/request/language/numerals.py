"""Numbers as people write them: digits, words, dozens."""

from __future__ import annotations

from collections.abc import Sequence

_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
NUMERALS: dict[str, int] = {
    **{word: value for value, word in enumerate(_SMALL.split())},
    **{word: 10 * value for value, word in enumerate(_TENS.split(), 2)},
    "fourty": 40,
    "single": 1,
    "dozen": 12,
}
_SCALES = {"hundred": 100, "thousand": 1000, "dozen": 12}


def number(words: Sequence[str]) -> tuple[int, int] | None:
    """Return the number that *words* begin with, and how many of them it takes: ("twenty", "four") is (24, 2).

    None where they begin with no number word. "a dozen" and "half a dozen" begin with one.
    """
    if list(words[:3]) == ["half", "a", "dozen"]:
        return 6, 3
    if list(words[:3]) == ["a", "pair", "of"]:
        return 2, 3
    total, taken = (1, 1) if len(words) > 1 and words[0] == "a" and words[1] in _SCALES else _below_hundred(words)
    while taken and taken < len(words) and words[taken] in _SCALES:
        total *= _SCALES[words[taken]]
        taken += 1
        skip = 1 if words[taken : taken + 1] == ["and"] else 0
        more, used = _below_hundred(words[taken + skip :])
        if used:
            total, taken = total + more, taken + skip + used
    return (total, taken) if taken else None


def _below_hundred(words: Sequence[str]) -> tuple[int, int]:
    if not words or words[0] not in NUMERALS:
        return 0, 0
    value = NUMERALS[words[0]]
    if (
        value >= 20
        and value % 10 == 0
        and len(words) > 1
        and 0 < NUMERALS.get(words[1], 0) < 10
        and words[1] != "single"
    ):
        return value + NUMERALS[words[1]], 2
    return value, 1
