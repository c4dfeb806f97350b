"""What hurry, keyboards and habits make of a text: slips, no capitals, no blanks before units, other dashes."""

from __future__ import annotations

import random
import re
import unicodedata

from tests.tagger.marked import Marked, Part

_NEAR = {
    "a": "sq",
    "e": "wr",
    "i": "uo",
    "o": "ip",
    "n": "bm",
    "t": "ry",
    "s": "ad",
    "r": "et",
    "d": "sf",
    "u": "yi",
    "l": "k",
    "c": "xv",
    "m": "n",
}
_WORD = re.compile(r"[^\W\d_]{4,}")
_EXACT = (
    "program",
    "arguments",
    "container",
    "mail",
    "account",
    "environment",
    "variables",
    "modules",
    "output",
    "data",
    "array",
    "dependency",
)
_OPTION = re.compile(r"(?<!\w)--?[A-Za-z]")
_UNIT = re.compile(r" [^\W\d_]")
_SPACED = re.compile(r"(?<=\d) (?=[a-zA-Z]{1,7}\b)")


def noisy(marked: Marked, chance: random.Random) -> Marked:
    """Return *marked* as a person in a hurry types it; names, paths and commands stay as they are."""
    slips = chance.choice([0.0, 0.0, 0.0, 0.02, 0.05, 0.12])
    manners = [one for one in (_lower, _upper, _unaccented, _unpunctuated, _other_signs) if chance.random() < 0.09]
    if chance.random() < 0.22:
        manners.append(_lower)
    found = [_slipped(part, chance, slips) for part in marked]
    for manner in dict.fromkeys(manners):
        found = [manner(part, chance) for part in found]
    return tuple(_glued(found, chance) if chance.random() < 0.12 else found)


def _slipped(part: Part, chance: random.Random, rate: float) -> Part:
    if not rate or part.label in _EXACT or _OPTION.search(part.text) or part.label in ("place", "job_name", "model"):
        return part
    return part._replace(
        text=_WORD.sub(lambda word: _slip(word[0], chance) if chance.random() < rate else word[0], part.text)
    )


def _slip(word: str, chance: random.Random) -> str:
    at = chance.randrange(1, len(word) - 1)
    kind = chance.randrange(4)
    if kind == 0:
        return word[:at] + word[at + 1 :]
    if kind == 1:
        return word[:at] + word[at] + word[at:]
    if kind == 2:
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return word[:at] + chance.choice(_NEAR.get(word[at], "e")) + word[at + 1 :]


def _lower(part: Part, chance: random.Random) -> Part:
    return part if part.label in _EXACT or _OPTION.search(part.text) else part._replace(text=part.text.lower())


def _upper(part: Part, chance: random.Random) -> Part:
    exact = part.label in _EXACT or bool(_OPTION.search(part.text))
    return part if exact or chance.random() < 0.7 else part._replace(text=part.text.upper())


def _unaccented(part: Part, chance: random.Random) -> Part:
    plain = "".join(sign for sign in unicodedata.normalize("NFKD", part.text) if not unicodedata.combining(sign))
    return part if part.label in _EXACT else part._replace(text=plain)


def _unpunctuated(part: Part, chance: random.Random) -> Part:
    return part if part.label else part._replace(text=re.sub(r"[,;.](?=\s)", "", part.text))


def _other_signs(part: Part, chance: random.Random) -> Part:
    if part.label:
        return part
    return part._replace(text=part.text.replace(" - ", " – ").replace("'", "’").replace(" x ", " × "))


def _glued(parts: list[Part], chance: random.Random) -> list[Part]:
    """Take the blank between a number and its unit away: "4nodes", "12hours"."""
    found = []
    for at, part in enumerate(parts):
        if part.label == "walltime":
            part = part._replace(text=_SPACED.sub("", part.text))
        elif (
            at
            and not part.label
            and _UNIT.match(part.text)
            and parts[at - 1].text[-1:].isdigit()
            and parts[at - 1].label not in _EXACT
        ):
            part = part._replace(text=part.text[1:])
        found.append(part)
    return [part for part in found if part.text]
