"""Tables of options: what a launcher's options are called, and how many words their values take.

A table is text, a line per option: its spellings, then how many words its value takes; a comma begins another option
of the same kind. Rows marked `only ...` belong to other releases than the one that the table was compared with; they
are read like any other. A table is taken apart when it is first used: a script needs two or three of fifty.
"""

from __future__ import annotations

from functools import cache
from typing import Mapping, NamedTuple, Sequence, Tuple

ARGPARSE = "argparse"
GETOPT = "getopt"
GO = "go"
DASHES = "dashes"

FLAG = "0"
ONE = "1"
PAIR = "2"  # NAME VALUE, two words
ENV = "2="  # NAME VALUE, or one word NAME=VALUE
GLUED = "?"  # a value only behind "=" (or glued to a short option), never the next word


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
