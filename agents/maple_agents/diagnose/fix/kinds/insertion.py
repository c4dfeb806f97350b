"""Where a line may be put into a batch script: on its own, in front of what starts the processes.

A line of its own moves the numbers of the lines behind it by one. A submission that Maple repairs unasked never does
that; this copy is for its user to read, and there a clear line says more than a word squeezed into another one. In
front of the first launch and not at the top, because what the script sets before, by itself, by modules or by files
that it sources, is then overruled.
"""

from __future__ import annotations

import re

from maple_submit_filter.bash.parser import parse
from maple_submit_filter.types.edits import Edit, Span

from ..registry import Given

_COMMENT = re.compile(rb"[ \t]*(#[^\n]*)?(\r?\n|\Z)")
_OURS = re.compile(rb"[ \t]*#[ \t]*maple:")  # silences the line below, so it stays there
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def line(given: Given, text: bytes, because: str) -> Edit | None:
    """Return the edit that puts a line in front of the first launch, else in front of the first command.

    None where there is no command, the script is for no shell like bash, or the very line is there already. No
    directive comes behind a command by it.
    """
    source = given.job.source
    at = place(given)
    if at is None or text in (one.strip() for one in source.split(b"\n")):
        return None
    return Edit(Span(at, at), text + newline(source), because)


def place(given: Given) -> int | None:
    """Return the start of the line to put another one before, None where there is none."""
    source, starts = given.job.source, [step.span.start for step in given.plan.steps]
    top = before_commands(source)
    if not given.job.script.is_shell or top >= len(source):
        return None
    at = _line_of_entry(source, min(starts)) if starts else top
    return max(top, at)


def _line_of_entry(source: bytes, offset: int) -> int:
    """Return the start of the line on which the script's own entry around *offset* begins, with no other before it.

    A function, a loop or a branch is one entry: what is exported in front of it holds inside.
    """
    entries = [item.command.span for item in parse(source).items]
    begun = [span.start for span in entries if span.start <= offset]
    for start in reversed(begun):
        at = source.rfind(b"\n", 0, start) + 1
        continued = source[:at].endswith((b"\\\n", b"\\\r\n"))
        if not source[at:start].strip() and not continued:
            return _above_notes(source, at)
    return 0


def _above_notes(source: bytes, at: int) -> int:
    while at > 0:
        before = source.rfind(b"\n", 0, at - 1) + 1
        if not _OURS.match(source, before):
            break
        at = before
    return at


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


def is_name(text: str) -> bool:
    """Return whether *text* can be a variable's name."""
    return _NAME.match(text) is not None
