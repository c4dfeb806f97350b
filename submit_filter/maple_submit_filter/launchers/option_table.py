"""Tables of options: what a launcher's options are called, and how many words their values take.

A table is text, a line per option: its spellings, then how many words its value takes; a comma begins another option
of the same kind. `1:int`, `1:float`, `1:bool` and `1:spawn|fork` say what the launcher's parser takes for a value. Rows
marked `only ...` belong to other releases than the one that the table was compared with; they are read like any other.
A table is taken apart when it is first used: a script needs two or three of fifty.

What one word is to a launcher: options, a value or operand, or something nobody can tell.
"""

from __future__ import annotations

import re
from typing import Dict, List, Mapping, NamedTuple, Sequence, Tuple

from ..types.text import NUL, Text

_NEGATIVE = re.compile(rb"-\d+$|-\d*\.\d+$")
_FIXED_TOKENS = (b"host:", b"addr:", b"name:", b"nodelist", b"nodefile", b"job")  # known to be no option

ARGPARSE = "argparse"
GETOPT = "getopt"
GO = "go"
DASHES = "dashes"

FLAG = "0"
ONE = "1"
PAIR = "2"  # NAME VALUE, two words
ENV = "2="  # NAME VALUE, or one word NAME=VALUE
GLUED = "?"  # a value only behind "=" (or glued to a short option), never the next word

INT = "int"
FLOAT = "float"
BOOL = "bool"


class Row(NamedTuple):
    """One option. *only*: the releases that have it, "" for the one that the table was compared with.

    *kind*: what its value must be: INT, FLOAT, BOOL, or one of the words between bars; "" for any.
    """

    name: str
    spellings: Tuple[bytes, ...]
    values: str
    only: str
    kind: str = ""


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


_read: Dict[Tuple[str, str], Mapping[bytes, Row]] = {}  # tables, by their lines and style


def _rows(lines: str, style: str) -> Mapping[bytes, Row]:
    if (lines, style) not in _read:
        _read[lines, style] = _rows_of(lines, style)
    return _read[lines, style]


def _rows_of(lines: str, style: str) -> Mapping[bytes, Row]:
    rows: Dict[bytes, Row] = {}
    for line in lines.splitlines():
        spellings, _, only = line.partition(" only ")
        options, _, values = spellings.strip().rpartition(" ")
        for option in options.split(",") if options else ():
            row = _row(option.split(), values, only.strip(), style)
            rows.update(dict.fromkeys(row.spellings, row))
    return rows


def _row(words: Sequence[str], values: str, only: str, style: str) -> Row:
    spellings = [word.encode() for word in words]
    if style == DASHES:
        bare = dict.fromkeys(spelling.lstrip(b"-") for spelling in spellings)
        spellings = [dashes + word for word in bare for dashes in (b"-", b"--")]
    longest = [spelling for spelling in spellings if spelling.startswith(b"--")] or spellings
    name = longest[0].lstrip(b"-").replace(b"_", b"-").decode()
    count, _, kind = values.partition(":")
    return Row(name, tuple(spellings), count, only, kind)


class Hit(NamedTuple):
    """An option found in a word; its value begins at byte *at* of the word, 0 where none stands in it."""

    row: Row
    spelling: bytes
    at: int


class Kind(NamedTuple):
    """What a word is: options, or none and then *problem*, *hidden* (it may be any option), or an operand."""

    hits: Tuple[Hit, ...] = ()
    problem: str = ""
    hidden: bool = False
    splits: bool = False
    ends: bool = False
    ambiguous: bool = False


OPERAND = Kind()


def classify(table: Table, text: Text) -> Kind:
    """Return what one word is to the launcher."""
    raw = text.raw
    if not raw.startswith(b"-"):
        return _operand(text, raw)
    if raw == b"-":
        return OPERAND
    if raw == b"--" and table.ends:
        return Kind(ends=True)
    kind = _FINDERS[table.style](table, raw)
    return kind._replace(splits=kind.splits or (text.open and bool(kind.hits)))


def _operand(text: Text, raw: bytes) -> Kind:
    """Return what a word is that does not begin with a dash, as far as that is known."""
    if not raw.startswith(NUL):
        return Kind(splits=text.open, hidden=text.open and not raw)
    kind, _, rest = raw[1:].partition(NUL)
    if kind.startswith(_FIXED_TOKENS) or b"/" in rest.split(NUL)[0]:  # a path, whatever directory it is in
        return Kind(splits=text.open)
    return Kind(hidden=True)


def _hidden(name: bytes) -> bool:
    return NUL in name


def _unknown(name: bytes) -> Kind:
    return Kind(hidden=True) if _hidden(name) else Kind(problem="unknown option %s" % say(name))


def _ambiguous(name: bytes, matches: Sequence[bytes]) -> Kind:
    return Kind(
        problem="ambiguous option %s (%s)" % (say(name), ", ".join(say(match) for match in matches)), ambiguous=True
    )


def say(name: bytes) -> str:
    """Return a spelling as people read it."""
    return name.decode("utf-8", "backslashreplace")


def _argparse(table: Table, raw: bytes) -> Kind:
    """Return what argparse takes a word for (3.6 to 3.13 agree)."""
    name, equals, _ = raw.partition(b"=")
    if raw in table.rows:
        return Kind((Hit(table.rows[raw], raw, 0),))
    if equals and name in table.rows:
        return Kind((Hit(table.rows[name], name, len(name) + 1),))
    if raw.startswith(b"--"):
        matches = [row for row in table.rows if row.startswith(name)] if table.abbreviates else []
        if len(matches) > 1:  # two spellings of one option count as two here
            return _ambiguous(name, matches)
        if matches and not _hidden(name):
            return Kind((Hit(table.rows[matches[0]], name, len(name) + 1 if equals else 0),))
    elif raw[:2] in table.rows:
        return _cluster(table, raw)
    if _NEGATIVE.match(raw) or b" " in raw:
        return OPERAND
    return _unknown(name)


def _getopt(table: Table, raw: bytes) -> Kind:
    """Return what GNU getopt_long takes a word for."""
    if not raw.startswith(b"--"):
        return _cluster(table, raw)
    name, equals, _ = raw.partition(b"=")
    at = len(name) + 1 if equals else 0
    if name in table.rows:
        return Kind((Hit(table.rows[name], name, at),))
    matches = [row for row in table.rows if row.startswith(name)] if table.abbreviates and not _hidden(name) else []
    if len({table.rows[match].name for match in matches}) > 1:
        return _ambiguous(name, matches)
    return Kind((Hit(table.rows[matches[0]], name, at),)) if matches else _unknown(name)


def _cluster(table: Table, raw: bytes) -> Kind:
    """Return the short options in one word; the first that takes a value takes the rest."""
    hits: List[Hit] = []
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
            hits.append(Hit(row, spelling, at + skip if glued else 0))
            return Kind(tuple(hits), splits=glued and raw[at : at + 1] == NUL)
        hits.append(Hit(row, spelling, 0))
    return Kind(tuple(hits))


def _dashes(table: Table, raw: bytes) -> Kind:
    """Return what the mpiexec programs take a word for."""
    name, equals, _ = raw.partition(b"=") if table.equals else (raw, b"", b"")
    if name in table.rows:
        return Kind((Hit(table.rows[name], name, len(name) + 1 if equals else 0),))
    return _unknown(name)


_FINDERS = {ARGPARSE: _argparse, GETOPT: _getopt, GO: _getopt, DASHES: _dashes}
