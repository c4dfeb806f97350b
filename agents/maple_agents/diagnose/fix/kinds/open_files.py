"""More open files: as many as the system lets this user have."""

from __future__ import annotations

import re

from maple_submit_filter.types.edits import Edit, Fix, Safety, Span

from ..registry import Given, fix
from .insertion import line

_LIMIT = re.compile(rb"^[ \t]*ulimit[ \t]+(?:-S[ \t]*)?-S?n[ \t]+(\d+)(?=[ \t]*(?:;|&|\||#|\r?\n|\Z))", re.MULTILINE)
_MOST = b'"$(ulimit -Hn)"'


@fix("raise-open-files")
def raise_open_files(given: Given) -> Fix | None:
    """Raise the soft limit of open files to the hard one, where the script sets a lower one, or before it launches."""
    source = given.job.source
    edits = [Edit(Span(*match.span(1)), _MOST, "raise-open-files") for match in _LIMIT.finditer(source)]
    if not edits and b"ulimit -Hn" not in source:
        edit = line(given, b"ulimit -n " + _MOST, "raise-open-files")
        edits = [edit] if edit is not None else []
    return Fix(tuple(edits), Safety.ASK, "as many open files as the hard limit allows") if edits else None
