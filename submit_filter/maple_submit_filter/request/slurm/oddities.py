"""What a user would want to know of a script's directives: those never read, those that only look like one."""

from __future__ import annotations

import re
from typing import Iterator, List, Sequence, Tuple

from ...bash import nodes
from ...bash.parser import parse
from ...types.edits import Span
from ...types.job import Oddity
from ...types.settings import Setting

_LIKE = re.compile(rb"([ \t]*)#([ \t]*)([A-Za-z]{5,7})(?=[ \t]+-)")
_VARIABLE = re.compile(rb"\$(?:[A-Za-z_][A-Za-z0-9_]*|\{[A-Za-z_][^}]*\})")
_FREE_TEXT = ("comment", "wrap", "admin-comment", "extra")  # a dollar there harms nobody
WANTED = b"SBATCH"


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
