"""Lines that end with carriage returns, as editors of another system write them."""

from __future__ import annotations

import re

from maple_submit_filter.types.edits import Edit, Fix, Safety, Span

from ....request.script.walk import texts
from ..registry import Given, fix


def _ends_commands(source: bytes) -> bool:
    """Return whether a carriage return ends a line that bash reads, and not only lines of here-documents."""
    inside = [text.span for text in texts(source) if text.quote in (b"<", b"<'")]
    return any(
        not any(span.start <= match.start() < span.end for span in inside)
        for match in re.finditer(rb"\r+(?=\n|\Z)", source)
    )


@fix("unix-line-endings")
def unix_line_endings(given: Given) -> Fix | None:
    """Take the carriage return from the end of every line.

    A script with a payload of bytes keeps it, and one whose own lines end well: there it is somebody's text.
    """
    if b"\0" in given.job.source or not _ends_commands(given.job.source):
        return None
    edits = [
        Edit(Span(*match.span()), b"", "unix-line-endings") for match in re.finditer(rb"\r+(?=\n|\Z)", given.job.source)
    ]
    return Fix(tuple(edits), Safety.SAFE, "Windows line ends are converted to Unix ones") if edits else None
