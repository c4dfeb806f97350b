"""What a user would want to know of a job script's directives: those never read, those that only look like one."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Iterator, List, Sequence, Tuple

from ...types.edits import Span
from ...types.job import Oddity
from ...types.settings import Setting
from ..slurm.oddities import literals
from .script_lines import DEFAULT_PREFIX, Head, directive_start

MARK = b"\xef\xbb\xbf"  # the byte order mark that some editors put first
_LIKE = re.compile(rb"(?m)^[ \t]*(#[ \t]*!?[ \t]*)([A-Za-z]{2,4}):?[ \t]+-[aAcCefhIjJklmMNopqrRSuvVWXzP]")
_OTHER = re.compile(rb"(?m)^#(?:SBATCH|BSUB)(?=[ \t])")
_VARIABLE = re.compile(rb"\$(?:[A-Za-z_][A-Za-z0-9_]*|\{[A-Za-z_][^}]*\})")
_NOT_ASKED = ("stagein", "stageout")  # what becomes of a variable there was not tried


def unread(source: bytes, head: Head, prefix: bytes, is_shell: bool) -> Iterator[Oddity]:
    """Yield the directives behind the first command, and comments before it that are nearly one."""
    if prefix == DEFAULT_PREFIX:
        yield from near_misses(source, head.lines[: head.first_command])
    behind = _behind(source, head, prefix)
    taken = literals(source) if behind and is_shell else []
    for span, line in behind:
        if not any(part.start <= span.start < part.end for part in taken):
            yield Oddity("late", span, line, _why_late(source, head))


def _behind(source: bytes, head: Head, prefix: bytes) -> List[Tuple[Span, int]]:
    """Return the lines behind the first command that begin with the prefix, each with its number."""
    first = head.first_command
    if first == len(head.lines) or not prefix or source.find(prefix, head.lines[first].start) < 0:
        return []
    lines = enumerate(head.lines[first:], first + 1)
    return [(span, line) for line, span in lines if directive_start(source, span, prefix) >= 0]


def _why_late(source: bytes, head: Head) -> str:
    if head.first_command == 0 and source.startswith(MARK):
        return "qsub reads no directive: a byte order mark makes the first line a command"
    return "behind the first command, in line %d: qsub does not read it" % (head.first_command + 1)


def near_misses(source: bytes, lines: Sequence[Span]) -> Iterator[Oddity]:
    """Yield comments that look like `#PBS -l ...`. `##PBS` is how people switch one off: no oddity."""
    for match, span, line in _places(_LIKE, source, lines):
        before, word = match.groups()
        if before == b"#" and word == b"PBS":
            continue
        if word == b"PBS":
            why = "has more than # before PBS"
        elif resembles(word) and (len(word) != 2 or before == b"#"):
            why = "is not spelled #PBS"
        else:
            continue
        if _is_meant(source[match.end(2) : span.end]):
            yield Oddity("near-miss", span, line, "this line %s, so it is a comment" % why)


def _is_meant(rest: bytes) -> bool:
    from ..unread_directives import says_options_only
    from .options import QSUB

    return says_options_only(rest.lstrip(b":"), QSUB)


def _places(
    pattern: "re.Pattern[bytes]", source: bytes, lines: Sequence[Span]
) -> "Iterator[Tuple[re.Match[bytes], Span, int]]":
    """Yield each place of a pattern that begins with a line, with the line and its number; *lines* begin the script."""
    for match in pattern.finditer(source, 0, lines[-1].end if lines else 0):
        index = bisect_right(lines, (match.start(), len(source))) - 1
        yield match, lines[index], index + 1


def resembles(word: bytes) -> bool:
    """Return whether *word* is PBS in other letters' case, or misspelled; `ps` and `bs` are commands."""
    from ..unread_directives import misspelled

    return misspelled(word if len(word) == 2 else word.upper(), b"PBS")


def other_schedulers(source: bytes, head: Head) -> Iterator[Oddity]:
    """Yield the directives of Slurm and LSF before the first command: they are comments to qsub."""
    for match, span, line in _places(_OTHER, source, head.lines[: head.first_command]):
        yield Oddity("other-scheduler", span, line, "%s lines are comments to qsub" % match.group().decode())


def beaten(settings: Sequence[Setting]) -> Iterator[Oddity]:
    """Yield the resources that an earlier `-l` of the script says already: there the first wins."""
    first: "dict[str, Setting]" = {}
    for setting in settings:
        if setting.origin.spelling == b"-l" and first.setdefault(setting.name, setting) is not setting:
            says = "%s stands in line %d already, and in a script the first one counts"
            yield from _at("ignored", setting, says % (setting.name, first[setting.name].origin.line))


def without_effect(settings: Sequence[Setting]) -> Iterator[Oddity]:
    """Yield `-C`, which a script cannot say of itself, and values with a `$NAME`, which nobody expands."""
    for setting in settings:
        if setting.name == "directive-prefix":
            yield from _at("ignored", setting, "-C has no effect inside a script")
        match = _VARIABLE.search(setting.value)
        if match and setting.name not in _NOT_ASKED:
            name = match.group().decode("utf-8", "backslashreplace")
            yield from _at("variable", setting, "%s is not expanded in a directive" % name)


def _at(kind: str, setting: Setting, says: str) -> Iterator[Oddity]:
    span = setting.origin.value_span or setting.origin.span
    if span:
        yield Oddity(kind, span, setting.origin.line, says)
