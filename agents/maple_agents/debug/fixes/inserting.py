"""Where a line may be put into a batch script without pushing a directive behind a command."""

from __future__ import annotations

import re

from maple_submit_filter.edits import Edit, Span

from .given import Given

_COMMENT = re.compile(rb"[ \t]*(#[^\n]*)?(\r?\n|\Z)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def before_commands(source: bytes) -> int:
    """Return the offset of the first line that is neither blank nor a comment: all directives stand before it."""
    at = 0
    while at < len(source):
        blank = _COMMENT.match(source, at)
        if blank is None or blank.end() == at:
            break
        at = blank.end()
    return at


def newline(source: bytes) -> bytes:
    """Return how the lines of a script end."""
    return b"\r\n" if source.count(b"\r\n") * 2 > source.count(b"\n") else b"\n"


def line(given: Given, text: bytes, because: str) -> Edit | None:
    """Return the edit that puts a line in front of the first command, None where there is no command.

    Variables that the script sets itself, and modules that it loads, come after it: what needs them is no such line.
    """
    source = given.job.source
    at = before_commands(source)
    if at >= len(source):
        return None
    return Edit(Span(at, at), text + newline(source), because)


def is_name(text: str) -> bool:
    """Return whether *text* can be a variable's name."""
    return _NAME.match(text) is not None
