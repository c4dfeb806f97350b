"""How a launcher reads its own words: which are options, which are values, and where the program begins.

Four families cover every launcher Maple knows:

    argparse   torchrun, accelerate, deepspeed: long options may be shortened, a value may not look like an option
    getopt     srun, env, timeout ...: short options in one word, the first other word ends the options
    go         apptainer, podman-hpc: getopt without shortening; a flag may say `--nv=false`
    dashes     mpiexec of every maker: one dash or two, nothing shortened, a value may look like anything

Launch lines as links: a launcher's words read, and what is doubtful about them carried along.
"""

from __future__ import annotations

import re
from typing import List, NamedTuple, Optional, Sequence, Tuple

from ..play.scene import Trail
from ..types.edits import Span
from ..types.launch_plan import Link, Option
from ..types.text import Text, join, number, plain
from .option_table import (
    ARGPARSE,
    DASHES,
    ENV,
    FLAG,
    GETOPT,
    GLUED,
    GO,
    ONE,
    OPERAND,
    PAIR,
    Hit,
    Kind,
    Row,
    Table,
    classify,
    extended,
    say,
    table,
)

_WANTS = re.compile(r"option -*(\S+) wants a value")

__all__ = ["ARGPARSE", "DASHES", "ENV", "FLAG", "GETOPT", "GLUED", "GO", "ONE", "PAIR", "Reading", "Row", "Table"]

__all__ += ["classify", "extended", "read", "table"]


class Reading(NamedTuple):
    """A launcher's words, read.

    *program* is the index of the first word of the program (len(argv): there is none). *operands* are the indices of
    words that had to stand before it. *contexts* are the indices of `:` words, which begin another program in mpiexec.
    *open*: words that may be any options stood before the program. *split_only*: that is only so if an unquoted
    unknown value, or path, held blanks or nothing. *problem* is why the launcher would refuse these words, "" if it
    would not. *late_problem*: a word of the *program* for which argparse refuses the line all the same, because it
    could be short for two options of the launcher: so in Python 3.6 to 3.13.0 (run), mended in later ones. *refused*:
    each word that has a problem, by its index, with that.
    """

    options: Tuple[Option, ...]
    program: int
    open: bool
    problem: str
    split_only: bool = False
    operands: Tuple[int, ...] = ()
    contexts: Tuple[int, ...] = ()
    late_problem: str = ""
    refused: Tuple[Tuple[int, str], ...] = ()


def read(table: Table, argv: Sequence[Text], start: int) -> Reading:
    """Read the launcher's own words from index *start* on, as the launcher would."""
    walk = _Walk(table, argv, start)
    walk.run()
    program = min(walk.at, len(argv))
    opened = walk.open or walk.splits
    return Reading(
        tuple(walk.options),
        program,
        opened,
        walk.problem,
        opened and not walk.open,
        tuple(walk.operands),
        _contexts(table, argv, program),
        _late_problem(table, argv, program),
        tuple(walk.refused),
    )


def _contexts(table: Table, argv: Sequence[Text], program: int) -> Tuple[int, ...]:
    if table.style != DASHES:
        return ()
    return tuple(index for index in range(program, len(argv)) if argv[index].raw == b":")


def _late_problem(table: Table, argv: Sequence[Text], program: int) -> str:
    if table.style != ARGPARSE or any(text.raw == b"--" for text in argv[:program]):
        return ""
    asked = set()  # thousands of words are mostly the same ones
    for text in argv[program + 1 :]:
        raw = text.raw
        if raw == b"--":
            return ""
        if raw[:1] != b"-" or raw in asked:
            continue
        asked.add(raw)
        kind = classify(table, text)
        if kind.ambiguous:
            return kind.problem
    return ""


class _Walk:
    """The state of one reading; *at* is the word being looked at."""

    def __init__(self, table: Table, argv: Sequence[Text], at: int, guess: bool = True) -> None:
        self.table, self.argv, self.at, self.guess = table, argv, at, guess
        self.options: List[Option] = []
        self.operands: List[int] = []
        self.open = self.splits = False
        self.problem = ""
        self.refused: List[Tuple[int, str]] = []

    def run(self) -> None:
        """Walk up to the program."""
        only_operands = False
        while self.at < len(self.argv):
            kind = OPERAND if only_operands else classify(self.table, self.argv[self.at])
            self.splits = self.splits or kind.splits
            if kind.ends:
                only_operands = True
                self.at += 1
            elif kind.hits:
                self._options(kind.hits)
            elif kind.problem:
                self._refuse(kind.problem, self.at)
                self.open = True  # another release may know it, with or without a value
                self.at += 1
            elif kind.hidden and self._may_be_options():
                self.at += 1
            elif self._is_program(kind):
                return
            # getopt stops at the first operand; argparse has none before its program
            only_operands = only_operands or (bool(self.operands) and self.table.style in (GETOPT, GO))

    def _is_program(self, kind: Kind) -> bool:
        if len(self.operands) == self.table.operands:
            return True
        self.operands.append(self.at)
        self.at += 1
        return False

    def _refuse(self, problem: str, at: int) -> None:
        self.problem = self.problem or problem
        self.refused.append((at, problem))

    def _may_be_options(self) -> bool:
        """Mark what a wholly unknown word hides; return whether it is passed over as options."""
        text = self.argv[self.at]
        if text.raw.startswith(b"-"):
            self.open = True
            return True
        if not self.guess:
            return False
        could = [self._goes_on(self.at + 1), self._takes_next() and self._goes_on(self.at + 2)]
        self.open = self.open or text.open or any(could)
        return text.open and any(could)

    def _takes_next(self) -> bool:
        return self.at + 1 < len(self.argv) and self._takes(self.argv[self.at + 1])

    def _goes_on(self, at: int) -> bool:
        """Return whether the words from *at* on are options and a program."""
        rest = _Walk(self.table, self.argv, at, guess=False)
        rest.operands = list(self.operands)
        rest.run()
        return not rest.problem and rest.at < len(self.argv)

    def _options(self, hits: Tuple[Hit, ...]) -> None:
        first, self.at = self.at, self.at + 1
        for hit in hits:
            self.options.append(self._option(hit, first, len(hits) == 1))

    def _option(self, hit: Hit, first: int, alone: bool) -> Option:
        word = self.argv[first]
        if hit.at and hit.row.values == FLAG and self.table.style != GO:
            self._refuse("option %s takes no value" % say(hit.spelling), first)
        if hit.at:
            return self._made(hit, first, word.slice(hit.at), place(word.slice(hit.at)), alone)
        if hit.row.values in (FLAG, GLUED):
            return self._made(hit, first, None, None, alone)
        value, value_span = self._following(hit, first)
        return self._made(hit, first, value, value_span, alone)

    def _following(self, hit: Hit, first: int) -> Tuple[Optional[Text], Optional[Span]]:
        """Take the value from the words that follow."""
        value = self._next(hit, first)
        if value is None or hit.row.values == ONE or (hit.row.values == ENV and b"=" in value.raw):
            return value, place(value) if value is not None else None
        second = self._next(hit, first)
        return (join((value, plain(b"="), second)) if second is not None else value), None

    def _next(self, hit: Hit, first: int) -> Optional[Text]:
        if self.at >= len(self.argv) or not self._takes(self.argv[self.at]):
            self._refuse("option %s wants a value" % say(hit.spelling), first)
            return None
        self.at += 1
        value = self.argv[self.at - 1]
        self.splits = self.splits or value.open
        return value

    def _takes(self, text: Text) -> bool:
        """Return whether the word can be a separate value."""
        if self.table.style != ARGPARSE:
            return True
        kind = classify(self.table, text)
        return not (kind.hits or kind.problem or kind.ends)

    def _made(self, hit: Hit, first: int, value: Optional[Text], value_span: Optional[Span], alone: bool) -> Option:
        count = self.at - first
        span = _whole(self.argv[first : self.at]) if alone else None
        return Option(hit.row.name, hit.spelling, value, (first, count), span, value_span, hit.row.kind)


def place(text: Text) -> Optional[Span]:
    """Return where a text is written: at its use (`$NAME` as such) if it can be told, else where its bytes stand."""
    return text.written() or text.span()


def _whole(texts: Sequence[Text]) -> Optional[Span]:
    """Return the span of neighbouring words, None unless just one byte, so no quote, stands between each two."""
    spans = [place(text) for text in texts]
    first = last = spans[0]
    for span in spans[1:]:
        if span is None or last is None or span.start != last.end + 1:
            return None
        last = span
    return Span(first.start, last.end) if first is not None and last is not None else None


def link_of(name: str, argv: Sequence[Text], reading: Reading, words: int = 1) -> Link:
    """Return the link of a launcher whose own name takes the first *words* words of *argv*."""
    first, last = place(argv[0]), place(argv[words - 1])
    span = Span(first.start, last.end) if first is not None and last is not None and first.start <= last.end else None
    return Link(
        name,
        tuple(argv[: reading.program]),
        reading.options,
        span,
        span.end if span else None,
        reading.open and not reading.split_only,
        refused=reading.refused,
    )


def followed(trail: Trail, link: Link, reading: Reading) -> Trail:
    """Return the trail one link further, with what was doubtful about it."""
    doubts = trail.doubts
    if link.open:
        doubts += ("unknown words stand among the options of " + link.name,)
    if reading.problem and not lost_value(reading, trail):
        doubts += (link.name + ": " + reading.problem,)
    return trail._replace(links=trail.links + (link._replace(around=trail.around),), doubts=doubts)


def lost_value(reading: Reading, trail: Trail) -> Tuple[str, ...]:
    """Return the option whose value, an unquoted variable, came out empty: the next option stands there."""
    match = _WANTS.match(reading.problem) if trail.vanished else None
    return (match.group(1).replace("_", "-"),) if match else ()


def option_number(link: Link, *names: str) -> Tuple[bool, Optional[int]]:
    """Return whether an option was given, and its number (None unknown)."""
    option = link.option(*names)
    return (False, None) if option is None else (True, number(option.value))
