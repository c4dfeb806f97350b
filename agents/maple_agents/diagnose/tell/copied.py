"""A step that holds a command, in rows of a screen: the prose is folded, and the command can be copied as it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator

from maple_submit_filter.answer.report import columns, folded

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
    found = _COMMAND.search(text)
    if found is None:
        yield from [text] if _SHELL.search(text) else _prose(text, room)
        return
    yield from _prose(text[: found.start()].rstrip(), room)
    command, *more = _PROSE.split(found[0], maxsplit=1)
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
