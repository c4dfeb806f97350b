"""Standard error, and who is there to answer."""

from __future__ import annotations

import codecs
import io
import os
import shutil
import sys
import unicodedata
from typing import Optional, TextIO, Tuple

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


# Terminals that know fewer characters than we write: what they lack is spelled, and nothing fails for it.

NAME = "maple.legible"
SPELLED = {"▸": ">", "…": "...", "–": "-", "—": "-", "→": "->", "×": "x", "≤": "<=", "≥": ">=", "·": "-", "•": "-",
           "✓": "ok", "✗": "no", "│": "|", "├": "|", "└": "`", "─": "-", "█": "#", "‘": "'", "’": "'", "“": '"',
           "”": '"'}  # fmt: skip


def make(*streams: Optional[TextIO]) -> None:
    """Let the streams spell what their encoding has no character for, whatever it is; others stay as they are."""
    codecs.register_error(NAME, _spelled)
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors=NAME)


def _spelled(error: UnicodeError) -> Tuple[str, int]:
    """Return what stands for the characters that cannot be written, and where to go on."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    return "".join(_plain(one) for one in text), error.end


def _plain(one: str) -> str:
    plain = SPELLED.get(one) or unicodedata.normalize("NFKD", one).encode("ascii", "ignore").decode()
    return plain or one.encode("ascii", "backslashreplace").decode()
