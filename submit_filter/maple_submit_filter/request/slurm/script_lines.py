"""Which lines of a batch script sbatch reads as directives, and what it refuses outright (asked of 22.05.8).

Also what a user would want to know of them: those never read, those that only look like one.
"""

from __future__ import annotations

import os
import re
from typing import Iterator, List, Sequence, Tuple

from ...bash import nodes
from ...bash.parser import parse
from ...types.edits import Span
from ...types.job import Oddity, Setting
from ..directives import BLANK, DirectiveLine, directive_line

SHELLS = frozenset((b"bash", b"sh", b"dash", b"ksh", b"zsh", b"ash", b"rbash", b"ksh93", b"mksh"))
# sbatch looks for `#PBS` and `#BSUB` up to this many lines that do not begin with `#`, behind commands as well.
FOREIGN_LINES = 100
LARGEST = 4 * 1024 * 1024  # MaxScriptSize unless the site says otherwise
DOS_BREAKS = "Batch script contains DOS line breaks"
_LIKE = re.compile(rb"([ \t]*)#([ \t]*)([A-Za-z]{5,7})(?=[ \t]+-)")
_VARIABLE = re.compile(rb"\$(?:[A-Za-z_][A-Za-z0-9_]*|\{[A-Za-z_][^}]*\})")
_FREE_TEXT = ("comment", "wrap", "admin-comment", "extra")  # a dollar there harms nobody
WANTED = b"SBATCH"


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


def near_misses(source: bytes, lines: Sequence[Tuple[Span, int]]) -> Iterator[Oddity]:
    """Yield comments among *lines* that look like a directive. `##SBATCH` is how people switch one off: no oddity."""
    for span, line in lines:
        match = _LIKE.match(source, span.start, span.end)
        if not match or source.startswith(b"#SBATCH", span.start):
            continue
        why = _why_missed(*match.groups())
        if why and _is_meant(source[match.end() : span.end]):
            yield Oddity("near-miss", span, line, "this line %s, so it is a comment" % why)


def _why_missed(before: bytes, between: bytes, word: bytes) -> str:
    """Return why sbatch passes over what may have been meant as its word, "" where it is another one."""
    if word == WANTED:
        return "begins with a blank" if before else "has a blank behind #"
    if between and word.islower():
        return ""  # the command itself: how the script is to be submitted
    from ..unread_directives import misspelled

    return "is not spelled #SBATCH" if misspelled(word.upper(), WANTED) else ""


def _is_meant(rest: bytes) -> bool:
    from ..unread_directives import says_options_only
    from .options import SBATCH

    return says_options_only(rest, SBATCH)


def late(source: bytes, lines: Sequence[Tuple[Span, int]], is_shell: bool) -> Iterator[Oddity]:
    """Yield the directives behind the first command. Text that is written to another script is none."""
    if not lines:
        return
    taken = literals(source) if is_shell else []
    for span, line in lines:
        if not any(part.start <= span.start < part.end for part in taken):
            yield Oddity("late", span, line, "behind the first command: sbatch does not read it")


def literals(source: bytes) -> List[Span]:
    """Return the spans of all literals: of here-documents and of quoted text that goes over several lines."""
    spans: List[Span] = []
    waiting: List[object] = [parse(source)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, nodes.Literal):
            spans.append(node.span)
        elif isinstance(node, tuple) and not isinstance(node, Span):
            waiting.extend(node)
    return spans


def variables(settings: Sequence[Setting]) -> Iterator[Oddity]:
    """Yield the settings whose value holds a `$NAME`, which nobody expands there."""
    for setting in settings:
        match = _VARIABLE.search(setting.value)
        span = setting.origin.value_span or setting.origin.span
        if match and span and setting.name not in _FREE_TEXT:
            name = match.group().decode("utf-8", "backslashreplace")
            yield Oddity("variable", span, setting.origin.line, "%s is not expanded in a directive" % name)
