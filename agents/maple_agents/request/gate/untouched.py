"""Parts of a request of which nothing was used: each is told, whatever it says.

A part stands between signs, brackets, bullets or lines. Lists of words that have weight know what their author thought
of; this knows only what says nothing (a greeting, a name behind it, talk), and takes the rest for a demand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ...base.slots import Slots, Unread
from ..clauses import says_aside
from ..forms import pasted
from ..language.vocabulary import listed, pattern, texts
from ..unread import FILLERS, Left

_WORDS = texts("untouched")
_TALK = listed(_WORDS["talk"])
_ABSENT, _COUNTED = listed(_WORDS["absent"]), listed(_WORDS["counted"])
_DENIALS = re.compile(pattern(_WORDS["denials"]))
_DEMANDS = re.compile(pattern(_WORDS["demands"]))
_EASTERN = re.compile(pattern(_WORDS["eastern"]))
_CUT = re.compile(
    r"\n+|:(?=\s*\n)|[,;()\[\]|•·!?，。；、（）…]+|\.+(?=\s|$)|(?<=\s)[-–—/+&*>#=]+(?=\s)|(?m:^\s*(?:[-–—*>#]+|\d+[.)]))|--+(?!\w)|(?<=\s)\*+(?=\S)"
)
_WORD = re.compile(r"[^\W_](?:[\w'’./-]*\w)?")
_KEY = re.compile(r"[^:：]{1,40}[:：](?!//)[ \t]*")  # who speaks, or what the value behind it is of
_LONG = 5  # words: a longer part is a sentence


def untouched(
    text: str, left: Sequence[Left], slots: Slots, held: Sequence[str], notes: Sequence[str]
) -> Iterator[Unread]:
    """Yield the parts of *text* that no reading touched and that stand nowhere in *held* (script, values) or *notes*.

    *left*: the words that no reading used. What speaks of another job is none, nor is what is pasted.
    """
    phrases = [words for words in notes if " " in words]
    there, known = "\n".join(held).lower(), "\n".join(notes).lower()
    old = [span for span in pasted(text) if text[span[0] : span[1]].lstrip()[0] != ">"]
    used = [(slot.origin.start, slot.origin.end) for slot in slots.values() if slot.origin.by == "request"]
    talk = False  # behind a greeting or thanks a name may stand
    for start, end in _parts(text):
        key = _KEY.match(text, start, end)
        words = [*_WORD.finditer(text, key.end() if key else start, end)]
        if not words or any(first < end and start < last for first, last in (*used, *old)):
            talk = talk and not words
            continue
        own = [(match[0], word) for match in words if (word := _left_at(match, left)) is not None]
        content = [text.lower() for text, word in own if _has_weight(text, word)]
        names = all(_is_name(match[0]) for match in words if match[0].lower() in content)
        talk = not content or names and (talk or len(content) < len(words))
        apart = " %s " % " ".join(word.lex for _, word in own)
        if len(own) < len(words) or talk or says_aside(apart) or len(words) > _LONG and own[0][1].aside:
            continue
        denies = _DENIALS.search(text, start, end) is not None
        content = [word for word in content if not _stands(known, word)]
        lost = not _ABSENT.issuperset(content) if denies else not all(_stands(there, word) for word in content)
        part = " ".join(text[start:end].split())
        lost = lost and not any(phrase in part for phrase in phrases)
        if lost and (len(words) <= _LONG or _DEMANDS.search(text, start, end)):
            yield Unread(part)


def _stands(there: str, word: str) -> bool:
    return re.search(r"(?<!\w)%s(?!\w)" % re.escape(word), there) is not None


def _parts(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each part between two signs begins and ends."""
    at = 0
    for sign in _CUT.finditer(text):
        yield at, sign.start()
        at = sign.end()
    yield at, len(text)


def _left_at(match: re.Match[str], left: Sequence[Left]) -> Left | None:
    return next((word for word in left if word.start < match.end() and match.start() < word.end), None)


def _has_weight(text: str, word: Left) -> bool:
    """Tell whether a word may be what somebody wants, and is no talk."""
    bare = _EASTERN.sub("", text.lower())
    talk = word.lex in FILLERS or word.lex == "1" or bare in _TALK  # "the other one"
    return len(bare) > 1 and (word.lex in _COUNTED or not talk) and not _DENIALS.fullmatch(bare)


def _is_name(word: str) -> bool:
    return word[0].isupper() and word[1:].islower() and word.isalpha()
