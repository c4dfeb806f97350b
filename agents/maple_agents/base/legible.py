"""Terminals that know fewer characters than we write: what they lack is spelled, and nothing fails for it."""

from __future__ import annotations

import codecs
import io
import unicodedata
from typing import Optional, TextIO, Tuple

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
