"""What of a request nobody understood."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .language.lexemes import Line
from .language.vocabulary import listed
from .language.words import NAME

_FILLERS = listed(
    "a an and are as at be but by can could do for from get give have hello hey hi i if in is it just let "
    "like make me my need needs new now of on or our please should so some that thank thanks the their "
    "there this to us want we will with would you your run running script job node gpu hour minute day "
    "account partition queue total each per also using use batch write slurm pbs cluster walltime time "
    "limit maximum 'd 't 's 'm , . ; : ( ) - §"
)


class Leftover(NamedTuple):
    """The words that are left, and which of them look like names, each with its characters."""

    text: str
    names: tuple[tuple[str, int, int], ...]


def leftover(line: Line, spans: Sequence[tuple[int, int]]) -> Leftover:
    """Return the words of the line that stand in none of *spans*, without those that say nothing by themselves."""
    covered = bytearray(len(line.written) + 1)
    for start, end in spans:
        covered[start:end] = b"\1" * (end - start)
    left = [word for word in line.words if not covered[word.start] and word.lex not in _FILLERS and len(word.text) > 1]
    names = tuple((line.written[word.start : word.end], word.start, word.end) for word in left if word.kind == NAME)
    return Leftover(" ".join(line.written[word.start : word.end] for word in left), names)
