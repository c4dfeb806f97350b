"""The words of a request as one line of lexemes, for patterns that are written in the words people use.

What every part of the grammar hands on: a value, where it stands, and how surely it was said.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from .words import NUMBER, SIGN, WORD, Token, joint, merged, number

_UNITS = ("node", "gpu", "hour", "minute", "day", "week", "rank", "task", "gb")
FAINT, WEAK, SAID, NAMED = 0, 1, 2, 3  # perhaps; by its shape alone; by its words; by its key ("nodes: 4", --nodes=4)
OPEN = "open"  # the name of a reading whose value is a complaint: what stands there cannot be one value
WISH = "wish"
RANKS = "ranks"  # of the whole job: no slot, but it has to agree with the others
GPUS = "gpus"  # a number of GPUs of which nobody said whether it is a node's or the job's
ARGUMENTS = "arguments"  # of the program, said apart from it
OPTION = "option"  # of a launcher, that nobody carries over
UNDESCRIBED = "undescribed"  # the value is a complaint: no file describes the cluster that is named
FROM = "from"  # the cluster that something comes from


class Hit(NamedTuple):
    """A match of a pattern: the named groups, and the first and last word it covers."""

    groups: dict[str, str]
    first: int
    last: int
    match: re.Match[str]


class Line:
    """Words joined by single blanks. `find` gives matches in the indices of the words. *written*: the whole request."""

    def __init__(self, words: Sequence[Token], written: str = "") -> None:
        self.words = tuple(words)
        self.written = written
        self._starts: list[int] = []
        self._characters = [word.start for word in self.words]
        parts, at = [], 1
        for word in self.words:
            self._starts.append(at)
            parts.append(word.lex)
            at += len(word.lex) + 1
        self.text = " " + " ".join(parts) + " "

    def find(self, pattern: str) -> Iterator[Hit]:
        """Yield the matches of *pattern* between blanks, from left to right."""
        for match in _compiled(pattern).finditer(self.text):
            yield Hit(match.groupdict(), self.at(match.start()), self.at(match.end() - 1), match)

    def at(self, offset: int) -> int:
        """Return the index of the word at an offset of `text`."""
        return max(0, bisect_right(self._starts, offset) - 1)

    def word_at(self, character: int) -> int:
        """Return the index of the word that stands at, or before, a character of the request."""
        return max(0, bisect_right(self._characters, character) - 1)

    def span(self, first: int, last: int) -> tuple[int, int]:
        """Return the characters of the request from one word to another."""
        return self.words[first].start, self.words[last].end

    def group(self, match: Hit, name: str) -> tuple[int, int]:
        """Return the words of a named group of a match: the first and the last."""
        return self.at(match.match.start(name)), self.at(match.match.end(name) - 1)

    def before(self, first: int, many: int = 4) -> str:
        """Return the lexemes before a word, with blanks around."""
        return " " + " ".join(word.lex for word in self.words[max(0, first - many) : first]) + " "

    def after(self, last: int, many: int = 4) -> str:
        """Return the lexemes behind a word, with blanks around."""
        return " " + " ".join(word.lex for word in self.words[last + 1 : last + 1 + many]) + " "


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(r"(?<=\s)(?:%s)(?=\s)" % pattern)


def counted(words: Sequence[Token]) -> list[Token]:
    """Return the words with number words as numbers, and "four (4)" as one."""
    return merged([_whole(word) for word in merged(words, _spelt_out)], _said_twice)


def _spelt_out(words: Sequence[Token], at: int) -> tuple[int, Token | None]:
    run = [*itertools.takewhile(lambda word: word.kind == WORD, words[at : at + 8])]
    value = number([word.text for word in run]) if run else None
    if value is None:
        return 0, None
    return value[1], joint(NUMBER, str(value[0]), str(value[0]), run[: value[1]])


def _whole(word: Token) -> Token:
    digits = word.text.replace(",", "")
    return (
        word._replace(lex=str(int(digits)) if digits.isdigit() and len(digits) < 12 else digits)
        if word.kind == NUMBER
        else word
    )


def _said_twice(words: Sequence[Token], at: int) -> tuple[int, Token | None]:
    """Take "4 ( 4 )" for one number."""
    four = words[at : at + 4]
    twice = len(four) == 4 and four[0].kind == four[2].kind == NUMBER and four[0].lex == four[2].lex
    return (4, four[0]._replace(end=four[3].end)) if twice and four[1].text + four[3].text == "()" else (0, None)


def flowing(words: Sequence[Token], text: str) -> list[Token]:
    """Return the words without the line ends that only wrap a sentence."""
    kept = [
        word
        for at, word in enumerate(words)
        if word.text != "\n" or _ends(words[at + 1] if at + 1 < len(words) else None, text, word.end)
    ]
    return [word for at, word in enumerate(kept) if word.text not in "*_`#\"'" or word.text == "*" and _times(kept, at)]


def _times(words: Sequence[Token], at: int) -> bool:
    """Tell whether a star multiplies; else it is there for looks."""
    return 0 < at < len(words) - 1 and words[at - 1].kind == words[at + 1].kind == NUMBER


_GOES_ON = re.compile(r"\b(?:on|with|for|the|a|an|of|in|using|and|to|at|is|needs?)$|[\w,]{3} \d+$")


def _ends(following: Token | None, text: str, end: int) -> bool:
    """Tell whether a line ends with itself: no word that leads on closes it, and no number whose unit follows."""
    wraps = _GOES_ON.search(text[:end].rstrip()[-40:])
    if following is None or following.kind == SIGN or wraps is None:
        return True
    return wraps[0][-1].isdigit() and following.lex not in _UNITS


class Reading(NamedTuple):
    """A value read from the characters *start* to *end*. *name*: a slot, or one of the names above."""

    name: str
    value: int | str
    start: int
    end: int
    strength: int = SAID
