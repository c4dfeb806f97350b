"""The words of a request, with the characters they stand on.

Words are lower-case ASCII, typographic signs are their plain forms, and key words are spelt right and in the singular;
what looks like a name (`gpu-a100-80`, `abc123`, `/path/x`) is one word of its own, so that no number in it is counted.

Numbers as people write them: digits, words, dozens.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from .vocabulary import listed, pattern, texts

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

_WORDS = texts("spelling")
NUMBER, WORD, NAME, SIGN, CLOCK = "number", "word", "name", "sign", "clock"
_SIGNS = {
    **dict.fromkeys("‘’‚′`´", "'"),
    **dict.fromkeys("“”„″«»", '"'),
    **dict.fromkeys("‐‑‒–—−", "-"),
    **dict.fromkeys("×✕✖", "x"),
    **dict.fromkeys("→⇒➔⟶", ">"),
    "…": ".",
    **dict(zip("∗：，；＝（）\t\r\v\f", "*:,;=() \n  ", strict=True)),
    **{chr(0xFF10 + digit): str(digit) for digit in range(10)},
    **{chr(first + at): chr(97 + at) for at in range(26) for first in (65, 0xFF21, 0xFF41)},
}
_PLAIN = str.maketrans(_SIGNS)
_SYMBOL = re.compile(
    "[\u00a0\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2190-\u2bff\u3000\ufe00-\ufe0f\ufeff\U0001f000-\U0001faff]"
)
_PIECE = re.compile(r"\n|[^\s,;()\[\]{}\"'|!?+&]+|,(?=\d{3}(?!\d))|'[a-z]{1,2}\b|[^\s]")
_UNIT = pattern(_WORDS["units"])
_WITH_UNIT = re.compile(r"(\d+(?:\.\d+)?)(-?)(%s)(?![a-z])" % _UNIT)
_UNITS = re.compile(r"(?:\d+(?:\.\d+)?-?(?:%s)(?![a-z])-?)+\Z" % _UNIT)
_LONGEST = 200  # letters without a blank; what is longer is a name, whatever it holds
_NUMBER = re.compile(r"\d+(?:\.\d+)*\Z")
_CLOCK = re.compile(r"(?:\d{1,4}-)?\d{1,4}:\d\d(?::\d\d)?\Z|\d{1,4}-\d{1,2}\Z")
_TIMES = re.compile(r"(\d+)([x*])(.*)", re.S)
_KEY = re.compile(r"([a-z][a-z_-]*)(:=|=>|->|=|:)(.*)", re.S)
_PARTS = re.compile(r"[a-z]+|\d+(?:\.\d+)?|.")


_ENDS = dict.fromkeys("\n!?", ".")


class Token(NamedTuple):
    """A word. *text*: plain, *lex*: as the grammar knows it. *glued*: nothing stands between it and the one before."""

    kind: str
    text: str
    lex: str
    start: int
    end: int
    glued: bool = False


Merge = Callable[[Sequence["Token"], int], "tuple[int, Token | None]"]


def merged(words: Sequence[Token], taken: Merge) -> list[Token]:
    """Return *words* with one in place of each run. *taken*: how many from one on, 0 for none, and it."""
    tokens: list[Token] = []
    at = 0
    while at < len(words):
        many, token = taken(words, at)
        tokens.append(token if many and token is not None else words[at])
        at += many or 1
    return tokens


def joint(kind: str, text: str, lex: str, run: Sequence[Token]) -> Token:
    """Return the word that stands in the place of a *run*."""
    return Token(kind, text, lex, run[0].start, run[-1].end, run[0].glued)


def plain(text: str) -> str:
    """Return *text* in lower case with plain signs; every character stands where it stood."""
    return _SYMBOL.sub(" ", text.translate(_PLAIN))


def tokens(text: str) -> list[Token]:
    """Return the words of a plain *text* in their order."""
    joined: list[Token] = []
    for piece in _PIECE.finditer(text):
        joined += _of_piece(piece.group(), piece.start())
    return _joined(joined)


def _of_piece(piece: str, at: int) -> Iterator[Token]:
    """Take a piece between blanks and brackets apart: its own signs at both ends, and what is between."""
    if len(piece) > _LONGEST:
        yield Token(NAME, piece, piece, at, at + len(piece))
        return
    core = piece.strip("-*_.:<>=#~@%^") if any(sign.isalnum() or ord(sign) > 127 for sign in piece) else ""
    lead = piece.index(core) if core else len(piece)
    if core and lead and piece[lead - 1] in "-.~@" and piece[0] not in "*_<>=#":
        lead, core = 0, piece.rstrip("*_.:<>=#")  # -4, .5, ~/x: the sign belongs to the word
    for offset, sign in enumerate(piece[:lead]):
        yield Token(SIGN, sign, _ENDS.get(sign, sign), at + offset, at + offset + 1, offset > 0)
    if core:
        yield from _of_core(core, at + lead, lead > 0)
    end = lead + len(core)
    for offset, sign in enumerate(piece[end:], end):
        yield Token(SIGN, sign, _ENDS.get(sign, sign), at + offset, at + offset + 1, True)


def _of_core(core: str, at: int, glued: bool) -> Iterator[Token]:
    if core.startswith("w/") and len(core) > 2:
        yield _word("w", at, glued, 2)
        yield from _of_core(core[2:], at + 2, True)
    elif _NUMBER.match(core):
        yield Token(NUMBER, core, core, at, at + len(core), glued)
    elif core.isascii() and core.isalpha():
        yield _word(core, at, glued)
    elif _CLOCK.match(core) and not re.match(r"\d+-\d+\Z", core):
        yield Token(CLOCK, core, core, at, at + len(core), glued)
    elif re.match(r"\d{1,3}h\d\d\Z", core):  # 2h30
        hours, minutes = core.split("h")
        yield from _of_core(hours + "h", at, glued)
        end = at + len(core)
        yield Token(NUMBER, minutes, minutes, end - 2, end, True)
        yield Token(WORD, "min", "minute", end, end, True)
    elif _UNITS.match(core):
        for match in _WITH_UNIT.finditer(core):
            yield Token(NUMBER, match.group(1), match.group(1), at + match.start(1), at + match.end(1), glued)
            if match.group(2):
                yield Token(SIGN, "-", "-", at + match.start(2), at + match.end(2), True)
            yield _word(
                {"n": "nodes"}.get(match.group(3), match.group(3)),
                at + match.start(3),
                True,
                match.end(3) - match.start(3),
            )
            glued = True
    else:
        yield from _of_mixture(core, at, glued)


def _of_mixture(core: str, at: int, glued: bool) -> Iterator[Token]:
    times, key = _TIMES.match(core), _KEY.match(core)
    if times and not re.match(r"0x", core):
        yield Token(NUMBER, times.group(1), times.group(1), at, at + times.end(1), glued)
        yield Token(SIGN, "x", "x", at + times.end(1), at + times.end(2), True)
        if times.group(3):
            yield from _of_core(times.group(3), at + times.start(3), True)
    elif key and "://" not in core and all(spelt(part) for part in re.split("[_-]", key.group(1)) if part):
        yield from _of_core(key.group(1), at, glued)
        yield Token(SIGN, key.group(2), "=" if "=" in key.group(2) else ":", at + key.start(2), at + key.end(2), True)
        if key.group(3):
            yield from _of_core(key.group(3), at + key.start(3), True)
    elif _compound(core):
        dashes = (core[0].isdigit() or core.split("-")[0] in NUMERALS) and core.split("-")[-1] not in NUMERALS
        for match in _PARTS.finditer(core):
            yield from _of_part(match.group(), at + match.start(), glued, dashes)
            glued = True
    else:
        yield Token(NAME, core, core, at, at + len(core), glued)


def _of_part(part: str, at: int, glued: bool, dashes: bool) -> Iterator[Token]:
    if part == "_" or part == "-" and not dashes:
        return
    yield from _of_core(part, at, glued) if part.isalnum() else [Token(SIGN, part, part, at, at + 1, glued)]


def _compound(core: str) -> bool:
    """Tell whether a core is words put together: `4-node`, `four-gpu`, `2-4`, `gpus/node`, `gpus_per_node`, `x8`."""
    parts = re.split(r"[-_/]", core)
    if not all(parts) or not core.isascii():
        return bool(re.match(r"x\d+\Z|w/\Z", core))
    if all(part.isdigit() for part in parts):
        return len(parts) == 2 and "-" in core
    if parts[0].isdigit() or parts[0] in NUMERALS and parts[0] != "zero":
        return all(part.isalpha() and ("/" not in core or spelt(part) in _COUNTED) for part in parts[1:])
    if "/" in core:
        return all(spelt(part) for part in parts)
    return all(part.isalpha() for part in parts) or bool(re.match(r"x\d+\Z", core))


_COUNTED = ("node", "gpu", "rank", "task", "tile", "gcd")  # "12/node" counts; "2/day" does not


def _word(text: str, at: int, glued: bool, length: int = 0) -> Token:
    return Token(WORD, text, spelt(text) or text, at, at + (length or len(text)), glued)


def _joined(tokens: Sequence[Token]) -> list[Token]:
    """Put "1,024" together again, and mark what a dash glues to the word before."""
    joined: list[Token] = []
    for token in tokens:
        if len(joined) > 1 and _thousands(joined[-2], joined[-1], token):
            text = joined[-2].text + token.text
            joined[-2:] = [Token(NUMBER, text, text, joined[-2].start, token.end, joined[-2].glued)]
        else:
            if token.lex in ("hour", "day", "week") and len(joined) > 2 and _is_decimal(*joined[-3:]):
                text = "%s.%s" % (joined[-3].text, joined[-1].text)
                joined[-3:] = [Token(NUMBER, text, text, joined[-3].start, joined[-1].end, joined[-3].glued)]
            joined.append(token)
    return joined


def _is_decimal(first: Token, comma: Token, last: Token) -> bool:
    """Tell whether a comma parts a number's decimals, "2,5 hours"; of a time, whose unit follows."""
    glued = first.end == comma.start and comma.end == last.start
    return comma.text == "," and glued and first.text.isdigit() and bool(re.fullmatch("5|25|75", last.text))


def _thousands(first: Token, comma: Token, last: Token) -> bool:
    if comma.text != "," or first.kind != NUMBER or last.kind != NUMBER or len(last.text) != 3:
        return False
    return first.end == comma.start and comma.end == last.start


# The key words of requests: their spellings, their plurals, and the slips of the hand that are forgiven.

_ALIKE = _WORDS["alike"]
_KEYS = _WORDS["keys"]


@cache
def _table() -> dict[str, str]:
    keys = {word: word for word in _KEYS.split()}
    for line in _ALIKE.strip().splitlines():
        key, _, others = line.partition(":")
        keys.update(dict.fromkeys([key, *others.split()], key))
    return keys


@cache
def _slips() -> dict[str, str]:
    """Return every spelling of a key word of five letters and more with one letter missing, doubled or swapped.

    Of four letters only with two swapped: "noed", "gpsu".
    """
    slips: dict[str, str] = {}
    for word, key in _table().items():
        if len(word) == 4:
            slips.update(dict.fromkeys((word[0] + word[2] + word[1] + word[3], word[:2] + word[3] + word[2]), key))
        if len(word) < 5:
            continue
        for at in range(1, len(word)):
            slips.setdefault(word[:at] + word[at + 1 :], key)
            slips.setdefault(word[:at] + word[at] + word[at:], key)
            if at + 1 < len(word):
                slips.setdefault(word[:at] + word[at + 1] + word[at] + word[at + 2 :], key)
    return {slip: key for slip, key in slips.items() if slip not in _table() and slip not in _REAL and len(slip) > 3}


_REAL = listed(_WORDS["real"])


@cache
def spelt(word: str) -> str:
    """Return the key word that a plain *word* is, "" where it is none. Of slips see `_slips`."""
    return _table().get(word) or _slips().get(word, "")


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
