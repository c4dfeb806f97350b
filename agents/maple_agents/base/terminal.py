"""Standard error, and who is there to answer."""

from __future__ import annotations

import codecs
import io
import os
import re
import sys
import time
import traceback
import unicodedata
from functools import partial
from pathlib import Path
from typing import Mapping, Optional, TextIO, Tuple, Union

from maple_submit_filter.answer.report import columns, folded
from maple_submit_filter.host import own_folders

_WORDS = re.compile(r"""(?:[^\s"']|"[^"]*"|'[^']*')+""")  # of a shell's command; one in quotes may hold blanks


def at_terminal() -> bool:
    """Tell whether somebody can be asked: standard input and stderr are a terminal."""
    return bool(sys.stdin and sys.stdin.isatty() and sys.stderr and sys.stderr.isatty())


def coloured() -> bool:
    """Tell whether colours are wanted on stderr."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb"
    return sys.stderr.isatty() and not plain


def on_screen(line: str, stream: Optional[TextIO] = None) -> list[str]:
    """Return a line for *stream* (stderr) as the rows that a terminal shows; one line where a program reads it.

    What begins with four blanks is to be copied.
    """
    stream = stream or sys.stderr
    if not stream or not stream.isatty():
        return [line]
    return copied(line, width(stream)) if line.startswith("    ") else folded(line, width(stream))


def copied(line: str, most: int) -> list[str]:
    """Return a command as rows of at most *most* columns, which a shell that they are pasted into reads as one.

    What is no command (a call of Lua, a setting without blanks) stays in one piece.
    """
    indent = line[: len(line) - len(line.lstrip(" "))]
    words = _WORDS.findall(line)
    rows = [indent + "".join(words[:1])]
    if columns(line) <= most or "(" in rows[0] or "".join(words).replace(" ", "") != line.replace(" ", ""):
        return [line]
    for word in words[1:]:
        if columns(rows[-1]) + 1 + columns(word) + 2 <= most:
            rows[-1] += " " + word
        else:
            rows[-1] += " \\"
            rows.append(indent + "  " + word)
    return rows


def width(stream: TextIO) -> int:
    """Return the columns of the terminal behind *stream*; stdout may lead elsewhere. COLUMNS comes first."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isascii() and columns.isdigit() and int(columns) > 0:
        return int(columns)
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


# Terminals that know fewer characters than we write: what they lack is spelled, and nothing fails for it.

NAME, NAME_IN_C = "maple.legible", "maple.legible-in-c"
SPELLED = {"▸": ">", "…": "...", "–": "-", "—": "-", "→": "->", "×": "x", "≤": "<=", "≥": ">=", "·": "-", "•": "-",
           "✓": "ok", "✗": "no", "│": "|", "├": "|", "└": "`", "─": "-", "█": "#", "‘": "'", "’": "'", "“": '"',
           "”": '"'}  # fmt: skip


def make(*streams: Optional[TextIO]) -> None:
    """Let the streams spell what their encoding has no character for, whatever it is; others stay as they are.

    In the locale C they begin with "surrogateescape": bytes of a path that are no text then go out as they are.
    """
    codecs.register_error(NAME, partial(_spelled, False))
    codecs.register_error(NAME_IN_C, partial(_spelled, True))
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper) and stream.errors in ("strict", "surrogateescape"):
            stream.reconfigure(errors=NAME if stream.errors == "strict" else NAME_IN_C)


def _spelled(as_bytes: bool, error: UnicodeError) -> Tuple[Union[str, bytes], int]:
    """Return what stands for the first character that cannot be written, and where to go on."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letter = error.object[error.start]
    if as_bytes and "\udc80" <= letter <= "\udcff":
        return bytes([ord(letter) - 0xDC00]), error.start + 1
    return _plain(letter), error.start + 1


def _plain(letter: str) -> str:
    plain = SPELLED.get(letter) or unicodedata.normalize("NFKD", letter).encode("ascii", "ignore").decode()
    return plain or letter.encode("ascii", "backslashreplace").decode()


# Where tracebacks go: a log in the user's own state folder, kept small.

MOST = 256 * 1024  # bytes; a log that has grown larger is begun anew


def written(error: BaseException, environ: Mapping[str, str] = os.environ) -> Optional[Path]:
    """Return the log that the traceback of *error* was added to, secrets masked; None where none can be written."""
    from .secrets.masking import masked  # what failed may have had a script or a log in its hands

    try:
        folder = own_folders.state(environ)
        if folder is None:
            return None
        log = Path(folder) / "failures.log"
        log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = "w" if log.exists() and log.stat().st_size > MOST else "a"
        with log.open(mode, encoding="utf-8", errors="backslashreplace") as file:
            file.write(time.strftime("%Y-%m-%dT%H:%M:%S%z\n"))
            file.write(masked("".join(traceback.format_exception(error))))
        return log
    except OSError:
        return None
