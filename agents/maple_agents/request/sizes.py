"""Amounts of memory: "80 GB" is no count of anything, and beside a GPU it says which one."""

from __future__ import annotations

from collections.abc import Sequence

from .language.reading import WEAK, Reading
from .language.words import NUMBER, Token

MEMORY = "gpu_memory"
_UNITS = ("gb", "gib", "g", "tb", "gigabyte", "gigabytes", "gig", "gigs")
_OF_GPU = frozenset(("gpu", "GPU", "hbm", "vram", "card"))


def sized(words: Sequence[Token]) -> tuple[list[Token], list[Reading]]:
    """Return the words with every amount as one word `SIZE`, and the amounts that say which GPU is wanted."""
    found: list[Token] = []
    at = 0
    while at < len(words):
        taken = _taken(words, at)
        if taken:
            last = words[at + taken - 1]
            found.append(Token("size", words[at].lex, "SIZE", words[at].start, last.end, words[at].glued))
            at += taken
        else:
            found.append(words[at])
            at += 1
    return found, [one for at, word in enumerate(found) if word.lex == "SIZE" for one in _of_gpu(found, at)]


def _taken(words: Sequence[Token], at: int) -> int:
    if words[at].kind != NUMBER:
        return 0
    dash = 1 if at + 1 < len(words) and words[at + 1].text == "-" and words[at + 1].glued else 0
    unit = words[at + 1 + dash] if at + 1 + dash < len(words) else None
    return 2 + dash if unit is not None and unit.text in _UNITS and (len(unit.text) > 1 or unit.glued) else 0


def _of_gpu(words: Sequence[Token], at: int) -> list[Reading]:
    """Return a reading where the amount stands beside a GPU: "80 GB A100s", "GPUs with 80 GB", "40GB cards"."""
    word = words[at]
    behind = [one.lex for one in words[at + 1 : at + 3]]
    before = [one.lex for one in words[max(0, at - 3) : at]]
    near = bool(behind) and (behind[0] in _OF_GPU or behind[0] in ("nvidia", "of") and behind[-1] in _OF_GPU)
    beside = near or before[-1:] == ["GPU"] or before[-2:-1] in (["gpu"], ["GPU"]) and before[-1] in ("with", "(")
    if beside and word.text.isdigit() and 8 <= int(word.text) <= 512:
        return [Reading(MEMORY, int(word.text), word.start, word.end, WEAK)]
    return []
