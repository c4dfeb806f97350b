"""What answers a question that is still open: a word true of one choice alone, or the only code that nothing read.

"4 V100s (the 32GB ones)" is one of v100-16 and v100-32; in "4 nodes, 24 h, chem101, train.py" only the account is left.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...base.slots import Missing, Origin, Slot, Slots, Unread

_PART = re.compile(r"[a-z]+\d+[a-z]*|[a-z]{3,}|\d+")
_SAID = re.compile(r"[a-z]+\d+[a-z]*|[a-z]{3,}|\d+(?= ?gi?b?\b)")  # a number without its unit may count anything


def picked(missing: Missing, unread: Sequence[Unread]) -> tuple[Slot | None, tuple[Unread, ...]]:
    """Return the slot that is *missing*, by a word that nobody read and that is true of one choice alone, and it."""
    parts = {choice: set(_PART.findall(choice.lower())) for choice in missing.choices}
    for word in unread:
        tokens = set(_SAID.findall(word.text.lower()))
        fitting = [
            choice
            for choice, own in parts.items()
            if tokens & own.difference(*(other for name, other in parts.items() if name != choice))
        ]
        if len(fitting) == 1 and not word.text.startswith("not "):
            return Slot(missing.slot, fitting[0], Origin("request", word.text)), (word,)
    return None, ()


_CODE = re.compile(r"(?<![\w./$:=@-])[A-Za-z]{2,}[\w-]*\d{3,}[\w-]*(?![\w/$:=@-]|\.\w)")
_APART = re.compile(r"[,;|\n]|\.(?!\w)|\Z")


def account(text: str, slots: Slots) -> Slot | None:
    """Return the account where one code alone stands as an item of its own, among values that were read: "chem101"."""
    spans = [(slot.origin.start, slot.origin.end) for slot in slots.values() if slot.origin.end]
    codes = [
        match
        for match in _CODE.finditer(text)
        if not any(start < match.end() and match.start() < end for start, end in spans)
    ]
    if len(codes) != 1 or not _is_item(text, *codes[0].span(), spans):
        return None
    return Slot("account", codes[0][0], Origin("request", codes[0][0], *codes[0].span()))


def _is_item(text: str, start: int, end: int, spans: Sequence[tuple[int, int]]) -> bool:
    """Tell whether a sign, an end or a value that was read stands on both sides."""
    before, behind = len(text[:start].rstrip(" \t")), end + len(text[end:]) - len(text[end:].lstrip(" \t"))
    begins = not before or text[before - 1] in ",;|\n" or any(first < before <= last for first, last in spans)
    return begins and (_APART.match(text, behind) is not None or any(first <= behind < last for first, last in spans))
