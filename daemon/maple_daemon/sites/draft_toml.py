"""The words of a drafted site file: tables whose every value says in a comment where it was read."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Union

from .draft_values import shown

Value = Union[str, int, bool, datetime.date, Sequence[str]]
_WIDE = 100  # columns; a comment that would begin behind them stands above its value


class Entry(NamedTuple):
    """A key, what it is, and where that was read, "" where the table says it for all."""

    key: str
    value: Value
    read: str = ""


class Block(NamedTuple):
    """A table. *path*: its head, the empty one for the file itself. *notes*: comments above it. *each*: one of many."""

    path: Sequence[str]
    entries: Sequence[Entry]
    notes: Sequence[str] = ()
    each: bool = False


def file_of(head: Sequence[str], blocks: Iterable[Block], end: Sequence[str]) -> str:
    """Return the text of a file: comments, tables, comments."""
    parts = ["\n".join(_comment(line) for line in head), *(_block(one) for one in blocks)]
    parts.append("\n".join(_comment(line) for line in end))
    return "\n\n".join(part for part in parts if part) + "\n"


def seconds(value: int) -> str:
    """Return a time as a site file says it: `h:mm:ss`, with days before it from a thousand hours on."""
    hours, rest = divmod(value, 3600)
    clock = "%02d:%02d" % divmod(rest, 60)
    return "%02d:%s" % (hours, clock) if hours < 1000 else "%d-%02d:%s" % (*divmod(hours, 24), clock)


def _block(block: Block) -> str:
    lines = [_comment(note) for note in block.notes]
    if block.path:
        name = ".".join(_key(one) for one in block.path)
        lines.append("[[%s]]" % name if block.each else "[%s]" % name)
    for entry in block.entries:
        lines += _line(entry)
    return "\n".join(lines)


def _line(entry: Entry) -> list[str]:
    text = "%s = %s" % (entry.key, _value(entry.value))
    if not entry.read:
        return [text]
    if len(text) > _WIDE - 40:
        return [_comment(entry.read), text]
    return ["%s%s" % (text.ljust(40), "# " + shown(entry.read))]


def _comment(text: str) -> str:
    indent = text[: len(text) - len(text.lstrip(" "))]
    return "# %s%s" % (indent, shown(text)) if text else "#"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name, re.ASCII) else _text(name)


def _value(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return "%d" % value
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, str):
        return _text(value)
    words = [_text(one) for one in value]
    line = "[%s]" % ", ".join(words)
    return line if len(line) <= _WIDE else "[\n%s]" % "".join("    %s,\n" % word for word in words)


def _text(text: str) -> str:
    """Return a string with quotes; what a terminal would obey is written out before."""
    return '"%s"' % shown(text).replace("\\", "\\\\").replace('"', '\\"')
