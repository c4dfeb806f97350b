"""Standard error, and who is there to answer."""

from __future__ import annotations

import os
import shutil
import sys

from maple_submit_filter.answer.report import folded


def at_terminal() -> bool:
    """Tell whether somebody can be asked: standard input and stderr are a terminal."""
    return bool(sys.stdin and sys.stdin.isatty() and sys.stderr and sys.stderr.isatty())


def coloured() -> bool:
    """Tell whether colours are wanted on stderr."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb"
    return sys.stderr.isatty() and not plain


def on_screen(line: str) -> list[str]:
    """Return a line for stderr as the rows that a terminal shows; one line where a program reads it."""
    return folded(line, shutil.get_terminal_size().columns) if sys.stderr and sys.stderr.isatty() else [line]
