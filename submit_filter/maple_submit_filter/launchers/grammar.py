"""How a launcher reads its own words: which are options, which are values, and where the program begins.

Four families cover every launcher Maple knows:

    argparse   torchrun, accelerate, deepspeed: long options may be shortened, a value may not look like an option
    getopt     srun, env, timeout, apptainer ...: short options in one word, the first other word ends the options
    go         apptainer, podman-hpc: getopt without shortening; a flag may say `--nv=false`
    dashes     mpiexec of every maker: one dash or two, nothing shortened, a value may look like anything

Tables are text, a line per option: its spellings, then how many words its value takes; a comma begins another option
of the same kind. Rows marked `only ...` belong to other releases than the one that the table was compared with; they
are read like any other. A table is taken apart when it is first used: a script needs two or three of fifty.
"""

from __future__ import annotations

import re
from functools import cache
from typing import List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ..edits import Span
from ..launch import Option
from ..text import NUL, Text, join, plain

ARGPARSE = "argparse"
GETOPT = "getopt"
GO = "go"
DASHES = "dashes"

FLAG = "0"
ONE = "1"
PAIR = "2"  # NAME VALUE, two words
ENV = "2="  # NAME VALUE, or one word NAME=VALUE
GLUED = "?"  # a value only behind "=" (or glued to a short option), never the next word

_NEGATIVE = re.compile(rb"-\d+$|-\d*\.\d+$")
_FIXED_TOKENS = (b"host:", b"addr:", b"nodelist", b"job")  # known to be no option


class Row(NamedTuple):
    """One option. *only*: the releases that have it, "" for the one that the table was compared with."""

    name: str
    spellings: Tuple[bytes, ...]
    values: str
    only: str


class Table(NamedTuple):
    """A launcher's options. *operands* words that are no options stand between them and the program."""

    launcher: str
    style: str
    lines: str
    abbreviates: bool
    equals: bool  # `--name=value` is read (a long option's, in getopt always)
    ends: bool  # `--` ends the options
    operands: int

    @property
    def rows(self) -> Mapping[bytes, Row]:
        """The options by spelling."""
        return _rows(self.lines, self.style)


class Reading(NamedTuple):
    """A launcher's words, read.

    *program* is the index of the first word of the program (len(argv): there is none). *operands* are the indices of
    words that had to stand before it. *contexts* are the indices of `:` words, which begin another program in mpiexec.
    *open*: words that may be any options stood before the program. *split_only*: that is only so if an unquoted
    unknown value, or path, held blanks or nothing. *problem* is why the launcher would refuse these words, "" if it
    would not.
    """

    options: Tuple[Option, ...]
    program: int
    open: bool
    problem: str
    split_only: bool = False
    operands: Tuple[int, ...] = ()
    contexts: Tuple[int, ...] = ()


def table(
    launcher: str,
    style: str,
    lines: str,
    *,
    abbreviates: bool = True,
    equals: bool = True,
    ends: bool = True,
    operands: int = 0,
) -> Table:
    """Return the table that *lines* describe: `--spelling -s 1`, optionally `only RELEASES` behind it."""
    return Table(launcher, style, lines, abbreviates and style in (ARGPARSE, GETOPT), equals, ends, operands)


def extended(base: Table, launcher: str, lines: str) -> Table:
    """Return *base* for another launcher with more rows (a row replaces one of the same spelling)."""
    return base._replace(launcher=launcher, lines=base.lines + "\n" + lines)


@cache
def _rows(lines: str, style: str) -> Mapping[bytes, Row]:
    rows: dict[bytes, Row] = {}
    for line in lines.splitlines():
        said, _, only = line.partition(" only ")
        options, _, values = said.strip().rpartition(" ")
        for option in options.split(",") if options else ():
            row = _row(option.split(), values, only.strip(), style)
            rows.update(dict.fromkeys(row.spellings, row))
    return rows


def _row(words: Sequence[str], values: str, only: str, style: str) -> Row:
    spellings = [word.encode() for word in words]
    if style == DASHES:
        bare = dict.fromkeys(one.lstrip(b"-") for one in spellings)
        spellings = [dashes + one for one in bare for dashes in (b"-", b"--")]
    longest = [one for one in spellings if one.startswith(b"--")] or spellings
    name = longest[0].lstrip(b"-").replace(b"_", b"-").decode()
    return Row(name, tuple(spellings), values, only)


def read(table: Table, argv: Sequence[Text], start: int) -> Reading:
    """Read the launcher's own words from index *start* on, as the launcher would."""
    walk = _Walk(table, argv, start)
    walk.run()
    program = min(walk.at, len(argv))
    opened = walk.open or walk.splits
    contexts = _contexts(table, argv, program)
    return Reading(
        tuple(walk.options),
        program,
        opened,
        walk.problem,
        opened and not walk.open,
        tuple(walk.operands),
        contexts,
    )


def _contexts(table: Table, argv: Sequence[Text], program: int) -> Tuple[int, ...]:
    if table.style != DASHES:
        return ()
    return tuple(index for index in range(program, len(argv)) if argv[index].raw == b":")


class _Hit(NamedTuple):
    """An option found in a word; its value begins at byte *at* of the word, 0 where none stands in it."""

    row: Row
    spelling: bytes
    at: int


class _Kind(NamedTuple):
    """What a word is: options, or none and then *problem*, *hidden* (it may be any option), or an operand."""

    hits: Tuple[_Hit, ...] = ()
    problem: str = ""
    hidden: bool = False
    splits: bool = False
    ends: bool = False


_OPERAND = _Kind()


class _Walk:
    """The state of one reading; *at* is the word being looked at."""

    def __init__(self, table: Table, argv: Sequence[Text], at: int, guess: bool = True) -> None:
        self.table, self.argv, self.at, self.guess = table, argv, at, guess
        self.options: List[Option] = []
        self.operands: List[int] = []
        self.open = self.splits = False
        self.problem = ""

    def run(self) -> None:
        """Walk up to the program."""
        only_operands = False
        while self.at < len(self.argv):
            kind = _OPERAND if only_operands else classify(self.table, self.argv[self.at])
            self.splits = self.splits or kind.splits
            if kind.ends:
                only_operands = True
                self.at += 1
            elif kind.hits:
                self._options(kind.hits)
            elif kind.problem:
                self._refuse(kind.problem)
                self.open = True  # another release may know it, with or without a value
                self.at += 1
            elif kind.hidden and self._may_be_options():
                self.at += 1
            elif self._is_program(kind):
                return
            # getopt stops at the first operand; argparse has none before its program
            only_operands = only_operands or (bool(self.operands) and self.table.style in (GETOPT, GO))

    def _is_program(self, kind: _Kind) -> bool:
        if len(self.operands) == self.table.operands:
            return True
        self.operands.append(self.at)
        self.at += 1
        return False

    def _refuse(self, problem: str) -> None:
        self.problem = self.problem or problem

    def _may_be_options(self) -> bool:
        """Mark what a wholly unknown word hides; return whether it is passed over as options."""
        text = self.argv[self.at]
        if text.raw.startswith(b"-"):
            self.open = True
            return True
        if not self.guess:
            return False
        could = [self._goes_on(self.at + step) for step in (1, 2)]
        self.open = self.open or text.open or any(could)
        return text.open and any(could)

    def _goes_on(self, at: int) -> bool:
        """Return whether the words from *at* on are options and a program."""
        rest = _Walk(self.table, self.argv, at, guess=False)
        rest.operands = list(self.operands)
        rest.run()
        return not rest.problem and rest.at < len(self.argv)

    def _options(self, hits: Tuple[_Hit, ...]) -> None:
        first, self.at = self.at, self.at + 1
        for hit in hits:
            self.options.append(self._option(hit, first, len(hits) == 1))

    def _option(self, hit: _Hit, first: int, alone: bool) -> Option:
        word = self.argv[first]
        if hit.at and hit.row.values == FLAG and self.table.style != GO:
            self._refuse("option %s takes no value" % _say(hit.spelling))
        if hit.at:
            return self._made(hit, first, word.slice(hit.at), word.span(hit.at), alone)
        if hit.row.values in (FLAG, GLUED):
            return self._made(hit, first, None, None, alone)
        value, value_span = self._following(hit)
        return self._made(hit, first, value, value_span, alone)

    def _following(self, hit: _Hit) -> Tuple[Optional[Text], Optional[Span]]:
        """Take the value from the words that follow."""
        value = self._next(hit)
        if value is None or hit.row.values == ONE or (hit.row.values == ENV and b"=" in value.raw):
            return value, value.span() if value is not None else None
        second = self._next(hit)
        return (join((value, plain(b"="), second)) if second is not None else value), None

    def _next(self, hit: _Hit) -> Optional[Text]:
        if self.at >= len(self.argv) or not self._takes(self.argv[self.at]):
            self._refuse("option %s wants a value" % _say(hit.spelling))
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

    def _made(self, hit: _Hit, first: int, value: Optional[Text], value_span: Optional[Span], alone: bool) -> Option:
        count = self.at - first
        span = _whole(self.argv[first : self.at]) if alone else None
        return Option(hit.row.name, hit.spelling, value, (first, count), span, value_span)


def _whole(texts: Sequence[Text]) -> Optional[Span]:
    """Return the span of neighbouring words, None unless just one byte, so no quote, stands between each two."""
    spans = [text.span() for text in texts]
    first = last = spans[0]
    for span in spans[1:]:
        if span is None or last is None or span.start != last.end + 1:
            return None
        last = span
    return Span(first.start, last.end) if first is not None and last is not None else None


def classify(table: Table, text: Text) -> _Kind:
    """Return what one word is to the launcher."""
    raw = text.raw
    if not raw.startswith(b"-"):
        return _operand(text, raw)
    if raw == b"-":
        return _OPERAND
    if raw == b"--" and table.ends:
        return _Kind(ends=True)
    kind = _FINDERS[table.style](table, raw)
    return kind._replace(splits=kind.splits or (text.open and bool(kind.hits)))


def _operand(text: Text, raw: bytes) -> _Kind:
    """Return what a word is that does not begin with a dash, as far as that is known."""
    if not raw.startswith(NUL):
        return _Kind(splits=text.open, hidden=text.open and not raw)
    kind, _, rest = raw[1:].partition(NUL)
    if kind.startswith(_FIXED_TOKENS) or b"/" in rest.split(NUL)[0]:  # a path, whatever directory it is in
        return _Kind(splits=text.open)
    return _Kind(hidden=True)


def _hidden(name: bytes) -> bool:
    return NUL in name


def _unknown(name: bytes) -> _Kind:
    return _Kind(hidden=True) if _hidden(name) else _Kind(problem="unknown option %s" % _say(name))


def _ambiguous(name: bytes, matches: Sequence[bytes]) -> _Kind:
    return _Kind(problem="ambiguous option %s (%s)" % (_say(name), ", ".join(_say(one) for one in matches)))


def _say(name: bytes) -> str:
    return name.decode("utf-8", "backslashreplace")


def _argparse(table: Table, raw: bytes) -> _Kind:
    """Return what argparse takes a word for (3.6 to 3.13 agree)."""
    name, equals, _ = raw.partition(b"=")
    if raw in table.rows:
        return _Kind((_Hit(table.rows[raw], raw, 0),))
    if equals and name in table.rows:
        return _Kind((_Hit(table.rows[name], name, len(name) + 1),))
    if raw.startswith(b"--"):
        matches = [one for one in table.rows if one.startswith(name)] if table.abbreviates else []
        if len(matches) > 1:  # two spellings of one option count as two here
            return _ambiguous(name, matches)
        if matches and not _hidden(name):
            return _Kind((_Hit(table.rows[matches[0]], name, len(name) + 1 if equals else 0),))
    elif raw[:2] in table.rows:
        return _cluster(table, raw)
    if _NEGATIVE.match(raw) or b" " in raw:
        return _OPERAND
    return _unknown(name)


def _getopt(table: Table, raw: bytes) -> _Kind:
    """Return what GNU getopt_long takes a word for."""
    if not raw.startswith(b"--"):
        return _cluster(table, raw)
    name, equals, _ = raw.partition(b"=")
    at = len(name) + 1 if equals else 0
    if name in table.rows:
        return _Kind((_Hit(table.rows[name], name, at),))
    matches = [one for one in table.rows if one.startswith(name)] if table.abbreviates and not _hidden(name) else []
    if len({table.rows[one].name for one in matches}) > 1:
        return _ambiguous(name, matches)
    return _Kind((_Hit(table.rows[matches[0]], name, at),)) if matches else _unknown(name)


def _cluster(table: Table, raw: bytes) -> _Kind:
    """Return the short options in one word; the first that takes a value takes the rest."""
    hits: List[_Hit] = []
    at = 1
    while at < len(raw):
        spelling = b"-" + raw[at : at + 1]
        row = table.rows.get(spelling)
        if row is None:
            return _unknown(raw)
        at += 1
        if row.values != FLAG:
            glued = at < len(raw)
            skip = 1 if glued and table.style in (ARGPARSE, GO) and raw[at : at + 1] == b"=" else 0
            hits.append(_Hit(row, spelling, at + skip if glued else 0))
            return _Kind(tuple(hits), splits=glued and raw[at : at + 1] == NUL)
        hits.append(_Hit(row, spelling, 0))
    return _Kind(tuple(hits))


def _dashes(table: Table, raw: bytes) -> _Kind:
    """Return what the mpiexec programs take a word for."""
    name, equals, _ = raw.partition(b"=") if table.equals else (raw, b"", b"")
    if name in table.rows:
        return _Kind((_Hit(table.rows[name], name, len(name) + 1 if equals else 0),))
    return _unknown(name)


_FINDERS = {ARGPARSE: _argparse, GETOPT: _getopt, GO: _getopt, DASHES: _dashes}
