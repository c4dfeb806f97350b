"""Rows of a page: sentences folded under their lead, lines of logs cut to the screen, words to copy left whole."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence

import click
from maple_submit_filter.answer.report import columns, folded, place

from ...base import output
from ..read.clean_lines import safe
from ..values import Evidence

NARROW = 30  # columns; a terminal that is narrower folds by itself
MARGIN = " " * 7 + "| "
PIPED = 1000  # characters of a line of a log where no screen sets a width
# A step that is, or holds, a command is copied by hand: a line break of ours in it would end the command.
_COPIED = re.compile(r"""(?:^|\s)-{1,2}[A-Za-z]|[$'"`|=]""")


def head(text: str) -> None:
    """Print the line that tells which job it is about."""
    for row in _folded(place(safe(text)), 0):
        plain(row, bold=True)


def say(lead: str, text: str, fg: str | None = None, bold: bool = False, dim: bool = False) -> None:
    """Print a sentence behind *lead*, folded under itself on a screen. *fg*: colour of the lead alone."""
    for at, row in enumerate(_folded(safe(text), len(lead))):
        begin = lead if at == 0 else " " * len(lead)
        click.echo(_styled(begin, fg, bold, dim) + _styled(row, None, bold, dim), color=output.coloured())


def step(lead: str, text: str) -> None:
    """Print something to do; a command in it is left in one piece, or goes on behind a backslash."""
    if _room() == 0 or not _COPIED.search(text):
        say(lead, text)
        return
    begin = lead
    for row in copied(safe(text), _room() - len(lead)):
        plain(begin + row)
        begin = " " * len(lead)


def lines(evidences: Sequence[Evidence], rows: int, bold: bool = False, dim: bool = False) -> None:
    """Print lines of files under the names of the files, each on at most so many rows. *bold*: they are the proof."""
    file = None
    for evidence in evidences:
        if evidence.file != file:
            click.echo(_styled("  " + safe(short(evidence.file)), "cyan", False, dim), color=output.coloured())
            file = evidence.file
        _rows("%6d | " % evidence.line if evidence.line else MARGIN, evidence.text, rows, bold, dim)


def plain(text: str, bold: bool = False, dim: bool = False) -> None:
    """Print *text* as it is; it has been made safe before."""
    click.echo(_styled(text, None, bold, dim), color=output.coloured())


def short(path: str) -> str:
    """Return a path as seen from here, where that is shorter."""
    try:
        near = os.path.relpath(path)
    except (OSError, ValueError):
        return path
    return near if len(near) < len(path) else path


def cut_up(text: str, room: int, rows: int) -> Iterator[str]:
    """Yield the rows of *text*, cut at blanks where there are some; the end of what has more rows is an ellipsis."""
    for row in range(rows):
        piece = _fitting(text, room)
        if piece == text:
            yield text
            return
        if row == rows - 1:
            yield _fitting(text, room - 1) + output.cut()
            return
        blank = piece.rfind(" ") + 1
        piece = piece[:blank] if blank > room // 2 else piece
        yield piece.rstrip()
        text = text[len(piece) :].lstrip()


def _rows(number: str, text: str, rows: int, bold: bool, dim: bool) -> None:
    room = _room() - len(number)
    shown = list(cut_up(safe(text), room, rows)) if room > 0 else [safe(text)[:PIPED]]
    for at, row in enumerate(shown):
        begin = _styled(number if at == 0 else MARGIN, None, False, dim)
        click.echo(begin + _styled(row, None, bold, dim), color=output.coloured())


def _styled(text: str, fg: str | None, bold: bool, dim: bool) -> str:
    """Style *text*; what is not wished is not said, for "not dim" ends bold on every terminal."""
    return click.style(text, fg=fg, bold=bold or None, dim=dim or None) if fg or bold or dim else text


def _fitting(text: str, room: int) -> str:
    """Return as much of the beginning of *text* as takes at most *room* columns."""
    piece = text[: max(room, 1)]
    while len(piece) > 1 and columns(piece) > room:
        piece = piece[:-1]
    return piece


def _room() -> int:
    """Return the columns of the screen, 0 where none sets a width."""
    return max(NARROW, output.width() - 1) if sys.stdout.isatty() else 0


def _folded(text: str, margin: int) -> list[str]:
    room = _room() - margin
    return list(cut_up(text, room, len(text) + 1)) if room > 0 else [text]


# A step that holds a command, in rows of a screen: the prose is folded, and the command can be copied as it stands.

_COMMAND = re.compile(r"(?<=: )[a-z][\w.-]* .+\Z|(?<=: )[a-z][\w.-]*=.+\Z")  # what stands behind a colon, to the end
_PROSE = re.compile(r"; (?=[A-Z])")  # behind a command prose begins with a capital letter
_WORD = re.compile(r"""(?:[^\s"']|"[^"]*"|'[^']*'|["'])+""")
_SHELL = re.compile(r"""(?:^|[\s=])['"]|[$`|]""")  # without a colon before it it is all one command: left in one piece
_GLUED = re.compile(r"""[-$|>&]|[^=]*=""")  # a word that belongs to the one before it


def copied(text: str, room: int) -> Iterator[str]:
    """Yield the rows of *text*, of at most *room* columns; a word that is wider has a row of its own."""
    if columns(text) <= room:
        yield text
        return
    match = _COMMAND.search(text)
    if match is None:
        yield from [text] if _SHELL.search(text) else _prose(text, room)
        return
    yield from _prose(text[: match.start()].rstrip(), room)
    command, *more = _PROSE.split(match[0], maxsplit=1)
    yield from _command(command, room)
    for prose in more:
        yield from _prose(prose, room)


def _prose(text: str, room: int) -> Iterator[str]:
    """Yield sentences; an option stays beside the word before it."""
    row = ""
    for unit in _units(text):
        if row and columns(row) + 1 + columns(unit) > room:
            yield row
            row = unit
        else:
            row = f"{row} {unit}".lstrip()
    yield row


def _units(text: str) -> list[str]:
    units: list[str] = []
    for word in _WORD.findall(text):
        if units and _GLUED.match(word):
            units[-1] += " " + word
        else:
            units.append(word)
    return units


def _command(text: str, room: int) -> Iterator[str]:
    """Yield a command, which the shell reads as one line: broken between words, never in quotes."""
    words = [word.replace(" ", "\0") for word in _WORD.findall(text)]
    *rows, last = folded(" ".join(words), room - 2)
    yield from (row.replace("\0", " ") + " \\" for row in rows)
    yield last.replace("\0", " ")
