"""The words of a request as one line of lexemes, for patterns that are written in the words people use.

What every part of the grammar hands on: a value, where it stands, and how surely it was said.

Lists that are written with slashes, "zero3/vista/4 nodes", told from paths, and from "gpus/node".
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from .words import CLOCK, NUMBER, SIGN, WORD, Token, number

_PIECE = re.compile(r"[^\s,;()\[\]{}\"'`|§]+")
_NO_LIST = re.compile(r"[/~.$]|w/|\S*(?:://|//|\.\w{1,5}\Z|/\Z)")
_PATH_BEFORE = re.compile(
    r"\b(?:in|from|to|into|under|at|path|folder|directory|file|files|data|dir)[ \t]*[:=]?[ \t]*\Z"
)
_UNITS = ("node", "gpu", "hour", "minute", "day", "week", "rank", "task", "gb")
_KEYS = dict.fromkeys(_UNITS, "unit") | dict.fromkeys(
    ("account", "project", "partition", "queue", "qos", "walltime"), "key"
)
_SEPARATES = re.compile(r"/(?!(?:nodes?|gpus?|cards?|hosts?|hours?|days?)(?![\w-]))", re.I)  # "4 gpus/node" stays
_AMOUNT = "amount"

Known = Callable[[str], Sequence[Token]]

FAINT, WEAK, SAID, NAMED = 0, 1, 2, 3  # perhaps; by its shape alone; by its words; by its key ("nodes: 4", --nodes=4)
OPEN = "open"  # the name of a reading whose value is a complaint: what stands there cannot be one value
WISH = "wish"
RANKS = "ranks"  # of the whole job: no slot, but it has to agree with the others
GPUS = "gpus"  # a number of GPUs of which nobody said whether it is a node's or the job's
ARGUMENTS = "arguments"  # of the program, said apart from it
OPTION = "option"  # of a launcher, that nobody carries over
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
    tokens: list[Token] = []
    at = 0
    while at < len(words):
        run = _run(words, at)
        value = number([word.text for word in run]) if run else None
        if value is None:
            tokens.append(words[at])
            at += 1
            continue
        last = words[at + value[1] - 1]
        tokens.append(Token(NUMBER, str(value[0]), str(value[0]), words[at].start, last.end, words[at].glued))
        at += value[1]
    return _without_doubles([_whole(word) for word in tokens])


def _run(words: Sequence[Token], at: int) -> list[Token]:
    run: list[Token] = []
    for word in words[at : at + 8]:
        if word.kind != WORD:
            break
        run.append(word)
    return run


def _whole(word: Token) -> Token:
    digits = word.text.replace(",", "")
    return (
        word._replace(lex=str(int(digits)) if digits.isdigit() and len(digits) < 12 else digits)
        if word.kind == NUMBER
        else word
    )


def _said_twice(four: Sequence[Token]) -> bool:
    """Tell whether four words are "4 ( 4 )"."""
    if len(four) < 4 or four[0].kind != NUMBER or four[2].kind != NUMBER:
        return False
    return four[0].lex == four[2].lex and (four[1].text, four[3].text) == ("(", ")")


def _without_doubles(words: list[Token]) -> list[Token]:
    tokens: list[Token] = []
    at = 0
    while at < len(words):
        four = words[at : at + 4]
        if _said_twice(four):
            tokens.append(four[0]._replace(end=four[3].end))
            at += 4
            continue
        tokens.append(words[at])
        at += 1
    return tokens


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


"""Gives the words of a piece of text, with every name that is known as one word (`SITE`, `PARADIGM` ...)."""


def with_commas(text: str, plain: str, known: Known) -> str:
    """Return *text* with commas for the slashes of its lists; no character moves. *plain*: the same in plain signs."""
    pieces = [piece for piece in _PIECE.finditer(plain) if "/" in piece.group() and not _NO_LIST.match(piece.group())]
    if not pieces:
        return text
    kinds = [list(_kinds(piece, plain, known)) for piece in pieces]
    if not any(_is_list(kind) for kind in kinds):
        return text
    for piece, kind in zip(pieces, kinds, strict=True):
        if _is_list(kind) or kind[0]:  # where one list stands, "nodes/4h/abc123" goes on with it
            listed = _SEPARATES.sub(",", text[piece.start() : piece.end()])
            text = text[: piece.start()] + listed + text[piece.end() :]
    return text


def _is_list(kinds: Sequence[str]) -> bool:
    """Tell whether parts are values of more than one slot, a cluster, a strategy or a model among them."""
    return (
        all(kinds)
        and "unit" not in kinds[1:]
        and len(set(kinds)) > 1
        and bool({"SITE", "PARADIGM", "MODEL"} & {*kinds})
    )


def _kinds(piece: re.Match[str], plain: str, known: Known) -> Iterator[str]:
    """Yield of every part of a piece what it is, "" for what nobody knows."""
    parts = piece.group().split("/")
    unit = re.match(r"[ \t]+([a-z]+)", plain[piece.end() : piece.end() + 12])
    told_path = _PATH_BEFORE.search(plain[max(0, piece.start() - 20) : piece.start()])
    for at, part in enumerate(parts):
        words = known(part + unit.group() if unit and at == len(parts) - 1 and part.isdigit() else part)
        yield "" if told_path else _kind(words)


def _kind(words: Sequence[Token]) -> str:
    if len(words) == 1 and words[0].lex in ("SITE", "PARADIGM", "MODEL", "GPU", "LAUNCHER"):
        return "" if words[0].text.startswith("?") else words[0].lex
    if len(words) == 1:
        return _AMOUNT if words[0].kind == CLOCK else _KEYS.get(words[0].lex, "")
    whole = len(words) == 2 and words[0].kind == NUMBER and words[1].kind == WORD and words[1].lex in _UNITS
    return _AMOUNT if whole else ""
