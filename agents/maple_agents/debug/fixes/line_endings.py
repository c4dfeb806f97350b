"""Lines that end with carriage returns, as editors of another system write them."""

from __future__ import annotations

import re

from maple_submit_filter.edits import Edit, Fix, Safety, Span

from .given import Given, fix


@fix("unix-line-endings")
def unix_line_endings(given: Given) -> Fix | None:
    """Take the carriage return from the end of every line."""
    edits = [
        Edit(Span(*one.span()), b"", "unix-line-endings") for one in re.finditer(rb"\r+(?=\n|\Z)", given.job.source)
    ]
    return Fix(tuple(edits), Safety.SAFE, "lines end as Linux wants them") if edits else None
