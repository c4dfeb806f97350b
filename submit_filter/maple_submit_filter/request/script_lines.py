"""Which lines of a batch script sbatch reads as directives, and what it refuses outright (asked of 22.05.8)."""

from __future__ import annotations

import os
from typing import List, Tuple

from ..types.edits import Span
from .directives import BLANK, DirectiveLine, directive_line

SHELLS = frozenset((b"bash", b"sh", b"dash", b"ksh", b"zsh", b"ash", b"rbash", b"ksh93", b"mksh"))
# sbatch looks for `#PBS` and `#BSUB` up to this many lines that do not begin with `#`, behind commands as well.
FOREIGN_LINES = 100
LARGEST = 4 * 1024 * 1024  # MaxScriptSize unless the site says otherwise
DOS_BREAKS = "Batch script contains DOS line breaks"


def refusal(source: bytes) -> str:
    """Return what sbatch says of a text that is no batch script, or ""."""
    if not source:
        return "Batch script is empty!"
    if not source.strip(BLANK):
        return "Batch script contains only whitespace!"
    if not source.startswith(b"#!"):
        return "This does not look like a batch script: the first line must begin with #! and name an interpreter"
    if b"\0" in source:
        return "The Slurm controller does not allow scripts that contain a NULL character"
    if b"\r\n" in source:
        return DOS_BREAKS
    if len(source) >= LARGEST:
        return "the script is larger than 4 MiB"
    return ""


def interpreter(source: bytes) -> Tuple[bytes, bool]:
    """Return what stands behind `#!`, and whether it is a shell whose words we can read."""
    if not source.startswith(b"#!"):
        return b"", False
    shebang = source[2:].split(b"\n", 1)[0].strip()
    words = shebang.split()
    if words and os.path.basename(words[0]) == b"env":
        words = [word for word in words[1:] if not word.startswith(b"-") and b"=" not in word]
    return shebang, bool(words) and os.path.basename(words[0]) in SHELLS


def lines_of(source: bytes) -> "List[Span]":
    """Return every line without its newline."""
    spans = []
    start = 0
    while start < len(source):
        stop = source.find(b"\n", start)
        stop = len(source) if stop < 0 else stop
        spans.append(Span(start, stop))
        start = stop + 1
    return spans


def head(source: bytes, lines: List[Span]) -> int:
    """Return how many lines stand before the first command: blank ones and those that begin with #, blanks aside."""
    for index, span in enumerate(lines):
        text = source[span.start : span.end].lstrip(BLANK)
        if text and not text.startswith(b"#"):
            return index
    return len(lines)


def own_lines(source: bytes, lines: List[Span], first_command: int) -> Tuple[DirectiveLine, ...]:
    """Return the `#SBATCH` lines that are read."""
    return tuple(
        directive_line(source, span, index + 1, b"#SBATCH")
        for index, span in enumerate(lines[:first_command])
        if source.startswith(b"#SBATCH", span.start)
    )


def foreign_lines(source: bytes, lines: List[Span], prefix: bytes) -> Tuple[DirectiveLine, ...]:
    """Return the `#PBS` or `#BSUB` lines that are read."""
    if source.find(prefix) < 0:
        return ()
    read = []
    others = 0
    for index, span in enumerate(lines):
        if source.startswith(prefix, span.start):
            read.append(directive_line(source, span, index + 1, prefix))
        elif source[span.start : span.start + 1] != b"#":
            others += 1
            if others > FOREIGN_LINES:
                break
    return tuple(read)
