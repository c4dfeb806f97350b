"""Which words speak of the job that is asked for, and not of an earlier one, of another machine, of what not to do."""

from __future__ import annotations

import operator
import re
from bisect import bisect_right
from collections.abc import Sequence

from .forms import disowned
from .language.lexemes import Line
from .language.vocabulary import listed, pattern, texts

_WORDS = texts("clauses")
_BREAKS = listed(_WORDS["breaks"])
_PAST = pattern(_WORDS["past"])
_NOT_PAST = pattern(_WORDS["not_past"])
_NOW = pattern(_WORDS["now"])
_ELSEWHERE = pattern(_WORDS["elsewhere"])
_LIMITS = pattern(_WORDS["limits"])
_NOT = pattern(_WORDS["not"])
_WANT_TO = re.compile(r"^ (?:(?:really|want|wanna|like|have|need|going|gonna|to) )+(?:use|run|take|try)\b")
_NEGATION_ENDS = listed(_WORDS["negation_ends"])


def asides(line: Line) -> list[bool]:
    """Tell of every word whether it speaks of an earlier job, or of another machine than the one asked for.

    An earlier job lasts until a word of now ("but this time", "please") or the end of the sentence.
    """
    size = len(line.words)
    past, elsewhere, old = _marks(line, _PAST), _marks(line, _ELSEWHERE), disowned(line.written)
    disown = [any(start <= word.start < end for start, end in old) for word in line.words]
    if not any(past) and not any(elsewhere):
        return disown
    past, now = _marks(line, _PAST, _marks(line, _NOT_PAST)), _marks(line, _NOW)
    aside, state = [False] * size, False
    for first, last in _clauses(line):
        inside = range(first, last + 1)
        marked = [at for at in inside if past[at]]
        nows = [at for at in inside if now[at]]
        if line.words[first].lex in (".", ";", "but", "so"):
            state = False
        if marked:
            begins = marked[0] if nows and nows[0] < marked[0] else first
            ends = next((at for at in nows if at > marked[-1]), last + 1)
            state = ends > last
            _mark(aside, begins, ends)
        elif state and nows:
            state = False
            _mark(aside, first, nows[0])
        elif state:
            _mark(aside, first, last + 1)
        other = [at for at in inside if elsewhere[at]]
        if other:
            ends = next((at for at in nows if at > other[-1]), last + 1)
            _mark(aside, first if not nows or nows[0] > other[0] else other[0], ends)
    for before in line.find(
        r"(?:same|rest|everything|all)(?: \w+){0,3} (?:as|like) (?:before|last time|always|usual) :"
    ):
        _mark(aside, before.first, _sentence_end(line, before.last), False)
    for again in line.find(_AGAIN):
        _mark(aside, _sentence(line, again.first), again.last + 1, False)
    return [*map(operator.or_, aside, disown)]


def says_aside(words: str) -> bool:
    """Tell whether *words*, lexemes between blanks, themselves name an earlier job or another machine."""
    return re.search(r"(?<=\s)(?:%s|%s)(?=\s)" % (_PAST, _ELSEWHERE), words) is not None


_AGAIN = (
    r"same again|(?:the )?same (?:thing |one |place |setup )?(?:please|now|here|this time)|again "
    r"please|once more please"
)


def _sentence(line: Line, at: int) -> int:
    """Return the first word of the sentence that a word stands in."""
    return next((before + 1 for before in range(at - 1, -1, -1) if line.words[before].lex == "."), 0)


def _sentence_end(line: Line, at: int) -> int:
    return next((behind for behind in range(at, len(line.words)) if line.words[behind].lex == "."), len(line.words))


def _mark(marked: list[bool], begins: int, ends: int, how: bool = True) -> None:
    marked[begins:ends] = [how] * (ends - begins)


def _marks(line: Line, pattern: str, unless: Sequence[bool] = ()) -> list[bool]:
    """Mark the words of every match, but for those of which a word is marked in *unless*."""
    marks = [False] * len(line.words)
    for match in line.find(pattern):
        if not any(unless[match.first : match.last + 1]):
            _mark(marks, match.first, match.last + 1)
    return marks


def _clauses(line: Line) -> list[tuple[int, int]]:
    """Return the first and last word of every clause; a clause begins with the word that breaks it off."""
    begins = [0] + [at for at, word in enumerate(line.words) if at and word.lex in _BREAKS]
    return [
        (first, last - 1) for first, last in zip(begins, [*begins[1:], len(line.words)], strict=True) if last > first
    ]


def denied(line: Line, places: Sequence[tuple[int, int]]) -> set[int]:
    """Return which of the readings at *places* (words, in order) are not wanted: "not FSDP", "instead of 2 nodes".

    A negation reaches the first reading behind it in its clause, and those that "or" adds.
    """
    refused: set[int] = set()
    begins = [first for first, _ in places]
    for cue in line.find(_NOT):
        if re.match(_LIMITS, line.after(cue.last, 7).strip()) or _correction(line, cue.last):
            continue
        reached = cue.last
        for which in _from(begins, cue.last):
            if places[which][0] - reached > 9:
                break
            between = _WANT_TO.sub("", line.after(reached, places[which][0] - reached - 1)).split()
            if reached == cue.last:
                if (
                    len(between) > 7
                    or _NEGATION_ENDS.intersection(between[1:])
                    or between[:1]
                    and between[0] in ".,;:()"
                ):
                    break
            elif not set(between) <= {"or", "nor", "/", "any", "a", "the"} and places[which][0] > reached:
                break
            refused.add(which)
            reached = max(reached, places[which][1])
    return refused


def _correction(line: Line, last: int) -> bool:
    """Tell whether a "no" stands alone: "4 nodes, no, make that 8"."""
    alone = re.match(r" (?:[,.;:-]|wait|make|sorry|actually|i mean|it|my)", line.after(last, 2))
    return line.words[last].lex == "no" and bool(alone or re.search(r" (?:wait|no|oh) $", line.before(last, 1)))


def _from(begins: Sequence[int], last: int) -> list[int]:
    at = bisect_right(begins, last)
    return list(range(at, min(at + 6, len(begins))))
