"""Words by which a line is worth a look, found in one pass over many bytes; those of other languages in English.

The search is an Aho-Corasick automaton (ahocorasick_rs). Where that library is missing, a regular expression finds the
same, some hundred times slower: enough for logs of a few megabytes. All is compared in small letters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from copy import copy
from enum import IntEnum
from functools import cache
from pathlib import Path

from ...request.language.vocabulary import pattern, texts

Literals = Sequence[tuple[int, int, int]]


class Sort(IntEnum):
    """What a literal promises: a line of a traceback, a bad word, the beginning of many lines, a signature."""

    FRAME = 0
    WORD = 1
    OPENS = 2
    ANCHOR = 3


WORDS = tuple(pattern(texts("literals")["words"]).encode().split(b"|"))
FRAMES = (b'file "', b"frame #", b"caused by", b"most recent call", b"^^^^", b"\tat ", b"~~~^")
OPENERS = (
    b"traceback (most", b"terminate called", b"*** process received", b"root cause (first", b"fatal python error",
    b"stacktrace", b"stack trace", b"exception raised from", b"during handling of", b"direct cause of the following",
)  # fmt: skip


class Search:
    """Finds the usual words and the *anchors* in bytes of small letters."""

    def __init__(self, anchors: Iterable[bytes] = (), fast: bool = True) -> None:
        sorts: dict[bytes, Sort] = dict.fromkeys(WORDS, Sort.WORD)
        sorts.update((literal.lower(), Sort.WORD) for literal in sentence_literals())
        sorts.update(dict.fromkeys(FRAMES, Sort.FRAME))
        sorts.update(
            dict.fromkeys((anchor.lower() for anchor in anchors if anchor.strip().lower() not in sorts), Sort.ANCHOR)
        )
        sorts.update(dict.fromkeys(OPENERS, Sort.OPENS))
        self.sorts = tuple(sorts.values())
        self._literals = tuple(sorts)
        self._build = automaton if fast else expression
        self._find = self._build(self._literals)

    def is_short(self, number: int) -> bool:
        """Return whether the literal is an anchor of so few letters that it may well stand anywhere."""
        return self.sorts[number] == Sort.ANCHOR and len(self._literals[number].strip()) < 8

    def inside(self, number: int) -> set[int]:
        """Return the literal and all words that are a part of it, which would be found in its place."""
        whole = self._literals[number]
        parts = {at for at, literal in enumerate(self._literals) if literal in whole and self.sorts[at] == Sort.WORD}
        return parts | {number}

    def without(self, worn: AbstractSet[int]) -> Search:
        """Return a search with the same numbers that finds all but the literals of these numbers."""
        other = copy(self)
        left = [number for number in range(len(self._literals)) if number not in worn]
        find = self._build(tuple(self._literals[number] for number in left))
        other._find = lambda small: [(left[number], start, end) for number, start, end in find(small)]
        return other

    def __call__(self, small: bytes) -> Literals:
        """Return (number of the literal, where it begins, where it ends), one behind the other, none overlapping."""
        return self._find(small)

    def sort(self, small: bytes) -> Sort | None:
        """Return the strongest sort of literal in *small*, None for none."""
        hits = self._find(small)
        return max((self.sorts[number] for number, _, _ in hits), default=None)


def automaton(literals: tuple[bytes, ...]) -> Callable[[bytes], Literals]:
    """Return what finds *literals* in bytes, one behind the other."""
    try:
        from ahocorasick_rs import BytesAhoCorasick, MatchKind
    except ImportError:
        return expression(literals)
    # the longest: where one literal begins another, the longer one says more
    find: Callable[[bytes], Literals] = BytesAhoCorasick(
        literals, matchkind=MatchKind.LeftmostLongest
    ).find_matches_as_indexes
    return find


def expression(literals: tuple[bytes, ...]) -> Callable[[bytes], Literals]:
    numbers = {literal: number for number, literal in enumerate(literals)}
    ordered = sorted(literals, key=len, reverse=True)
    every = re.compile(b"|".join(re.escape(literal) for literal in ordered))
    return lambda small: [(numbers[match[0]], match.start(), match.end()) for match in every.finditer(small)]


# What the C library and bash say, in the languages that a user's locale may choose: `sentences.txt`.

# bash of a process; elsewhere these are words of every day
KILLED = ("Getötet", "Processus arrêté", "Terminado (killed)", "Ucciso", "Morto", "Geëlimineerd", "強制終了", "已杀死")
ABORTED = ("Abgebrochen", "Abandon", "Abortado", "Annullato", "Afgebroken", "中止", "已放弃")


@cache
def english_of() -> Mapping[str, str]:
    """Return the English of each form of each sentence."""
    return {form: own for own, sentence in _pairs() for form in forms(sentence)}


def sentence_literals() -> Iterator[bytes]:
    """Yield the sentences, and the words for a death, as they stand in a log in UTF-8, in Latin-1 and in ASCII."""
    for sentence in (*(text for _, text in _pairs()), *KILLED, *ABORTED):
        yield sentence.encode()
        if not sentence.isascii() and _is_latin(sentence):
            yield sentence.encode("latin-1")
            yield sentence.encode("ascii", "replace")


def forms(text: str) -> set[str]:
    """Return *text*, and how it is read where it stands in Latin-1, or its letters became question marks."""
    odd = ("\ufffd", "?") if _is_latin(text) else ()
    return {text, *("".join(letter if letter.isascii() else mark for letter in text) for mark in odd)}


def _is_latin(text: str) -> bool:
    return max(text) <= "\xff"


def _pairs() -> Iterator[tuple[str, str]]:
    own = ""
    for line in Path(__file__).with_name("sentences.txt").read_text("utf-8").splitlines():
        if line.startswith(" "):
            yield own, line.strip()
        elif line and not line.startswith("#"):
            own = line


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
    return _in_english().sub(lambda match: (": " if match["gap"] else "") + english_of()[match["said"]], text)


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
def _in_english() -> re.Pattern[str]:
    sentences = _any(english_of())
    return re.compile(rf"(?P<gap>\s: |：|(?<!:) (?=ist nicht gesetzt))?(?P<said>{sentences})(?:\.(?=\s*$))?(?![\w-])")


def _forms(words: Iterable[str]) -> set[str]:
    """Return *words*, and each as it is read where its letters could not be."""
    return {form for word in words for form in forms(word)}


def _any(words: Iterable[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=lambda word: (-len(word), word)))
