"""A request in another language, word by word in English, with the place of every character in what was written.

It is no translation for people: the grammar knows key words, and reads them whatever stands between them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from .vocabulary import listed, table, texts

_FREQUENT = texts("languages")
_ENGLISH = listed(_FREQUENT["English"])
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_WIDE = re.compile("[，。；：！？、（）「」《》“”]")
_PLAIN = (", ", ". ", "; ", ": ", "! ", "? ", ", ", " (", ") ", *'"' * 6)
_PUNCTUATION = dict(zip("，。；：！？、（）「」《》“”", _PLAIN, strict=True))
_SIGN = r"[^\s，,]"
_KEPT = re.compile(
    r"S*[/=@_$~\\]S*|S+\.\w+|(?<![\w])-{1,2}[A-Za-z]S*|`[^`]*`|S*\dS*[A-Za-z]S*|[A-Za-z]+-S*\dS*".replace("S", _SIGN)
)


class Translated(NamedTuple):
    """*text*: in English. *places*: for each of its characters, and for its end, a character of what was written."""

    text: str
    places: tuple[int, ...]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the characters of what was written that gave those from *start* to *end*."""
        return self.places[start], self.places[max(start, end - 1)] + 1


def language(text: str) -> str:
    """Return the language of which a text has more words than of English, "" for English."""
    if _CJK.search(text):
        return "Japanese" if re.search(r"[\u3040-\u30ff]", text) else "Chinese"
    words = re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?", re.sub(r"`[^`]*`|\S*[/=._]\S*", " ", text.lower()))
    english = sum(word in _ENGLISH for word in words)
    most = max(_known(), key=lambda name: _hits(words, name))
    hits = _hits(words, most)
    loans = sum(word in _ENGLISH and word in _SHARED for word in words)  # "script" and "account" tell no language
    return most if hits and (hits > english or hits > max(2, english - loans)) else ""


def known(text: str) -> bool:
    """Tell whether the language of a text, other than English, has a lexicon."""
    return language(text) in texts("foreign")


def _hits(words: Sequence[str], name: str) -> int:
    return len({word for word in words if word in _known()[name]})


@cache
def _known() -> dict[str, frozenset[str]]:
    """Return the words by which each language is recognised: frequent ones, and those of its lexicon."""
    found = {}
    for name in (*texts("foreign"), *_FREQUENT):
        own = {phrase for phrase in table(texts("foreign").get(name, "")) if " " not in phrase and len(phrase) > 2}
        found[name] = frozenset(own | listed(_FREQUENT.get(name, ""))) - _ENGLISH - _SHARED
    found.pop("English")
    return found


_SHARED = listed(texts("foreign_shared")["shared"])


def apart(text: str) -> str:
    """Return *text* with a wide comma for every sign of Chinese or Japanese; no character moves.

    So a command ends where they begin, with or without a blank.
    """
    return _WIDE.sub("，", _CJK.sub("，", _commas(text))) if _CJK.search(text) else text


def _commas(text: str) -> str:
    return re.sub(r",(?=\s*(?:\d+(?:\.\d+)?\s*)?[\u3040-\u30ff\u3400-\u9fff])", "，", text)


def english(text: str, kept: Sequence[tuple[int, int]]) -> Translated | None:
    """Return *text* in English; None where it is, or where no lexicon knows its language.

    *kept*: characters that stay as they are (commands, options).
    """
    name = language(text)
    if name not in texts("foreign"):
        return None
    text = _commas(text)
    parts: list[str] = []
    places: list[int] = []
    at = 0
    for start, end, words in _replacements(text, name, kept):
        parts += [text[at:start], words]
        places += [*range(at, start), *_spread(start, end, len(words))]
        at = end
    parts.append(text[at:])
    places += range(at, len(text) + 1)
    return Translated("".join(parts), tuple(places))


def _spread(start: int, end: int, size: int) -> list[int]:
    """Return places for *size* characters that stand for those from *start* to *end*."""
    return [start] * (size // 2) + [end - 1] * (size - size // 2)


def _replacements(text: str, name: str, kept: Sequence[tuple[int, int]]) -> list[tuple[int, int, str]]:
    pattern, phrases = _lexicon(name)
    fixed = sorted([*kept, *(match.span() for match in _KEPT.finditer(apart(text)))])
    found = []
    for match in pattern.finditer(text):
        start, end = match.span()
        if any(begin < end and start < stop for begin, stop in fixed):
            continue
        wide = _PUNCTUATION.get(match.group())
        words = wide if wide is not None else phrases[" ".join(match.group().lower().split())].strip("-")
        found.append((start, end, words if wide is not None or not _CJK.match(match.group()) else " %s " % words))
    return found


@cache
def _lexicon(name: str) -> tuple[re.Pattern[str], dict[str, str]]:
    phrases = table(texts("foreign")[name].lower() if name != "Chinese" else texts("foreign")[name])
    longest = sorted(phrases, key=len, reverse=True)
    each = [re.escape(one) if _CJK.search(one) else r"(?<![\w'-])%s(?![\w'-])" % re.escape(one) for one in longest]
    each = [one.replace(r"(?![\w'-])", "") if one.endswith(r"'(?![\w'-])") or r"\.(?!" in one else one for one in each]
    each = [one.replace(r"\ ", r"[ \t]+") for one in each]
    return re.compile("|".join([*each, _WIDE.pattern]), re.IGNORECASE), phrases
