"""What the C library and bash say in the user's language, put into English to be judged; shown it is as it was said."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache

from .literals import ABORTED, KILLED, Literals, automaton, english_of, forms

# as bash names a line of a script; the number stands before the word in Japanese, or within it
_LINES = ("Zeile", "ligne", "línea", "riga", "linha", "regel", "行")
_LINE = re.compile(
    r"\s?[:,：] ?(?:(?:Zeile|ligne|l.nea|riga|linha|regel) (\d+)\s?: |(\d+) 行: |行 (\d+): |第 (\d+) 行[:：] ?)"
)


def english(text: str) -> str:
    """Return *text* with what the C library and bash say in another language in English, and all else as it is."""
    if not _screen()(text.encode("utf-8", "surrogatepass")):
        return text
    text = _LINE.sub(lambda match: ": line %s: " % next(filter(None, match.groups())), text)
    text = _died().sub(lambda match: match["before"] + str(match.lastgroup), text)
    return _said().sub(lambda match: (": " if match["gap"] else "") + english_of()[match["said"]], text)


@cache
def _screen() -> Callable[[bytes], Literals]:
    words = {*english_of(), *_forms(_LINES), *_forms(KILLED), *_forms(ABORTED)}
    return automaton(tuple(sorted(word.encode() for word in words)))


@cache
def _died() -> re.Pattern[str]:
    """Words of every day, so only where bash tells of a process: `job.sh: line 5:  4711 Killed   python train.py`."""
    killed, aborted = _any(_forms(KILLED)), _any(_forms(ABORTED))
    return re.compile(rf"(?P<before>: line \d+: +\d+ +)(?:(?P<Killed>{killed})|(?P<Aborted>{aborted}))(?=\s|$)")


@cache
def _said() -> re.Pattern[str]:
    sentences = _any(english_of())
    return re.compile(rf"(?P<gap>\s: |：|(?<!:) (?=ist nicht gesetzt))?(?P<said>{sentences})(?:\.(?=\s*$))?(?![\w-])")


def _forms(words: Iterable[str]) -> set[str]:
    """Return *words*, and each as it is read where its letters could not be."""
    return {form for word in words for form in forms(word)}


def _any(words: Iterable[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=lambda word: (-len(word), word)))
