"""Which lines of a job script qsub reads as directives, and their words (asked of OpenPBS 23.06).

A directive begins with the prefix, blanks before it aside, and goes on behind a backslash at the end of a line. Reading
ends at the first line that is neither blank, nor a comment, nor begins with a colon. Quotes of both kinds group, also
inside a word, and a backslash outside quotes takes the next byte as it is. There are no comments in a directive, and
nothing is expanded. Each directive is one command line of its own.

Also what a user would want to know of them: those never read, those that only look like one.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Iterator, List, NamedTuple, Sequence, Tuple

from ...types.edits import Span
from ...types.job import Oddity, Setting
from ..directives import BLANK, DirectiveLine, DirectiveWord
from ..slurm.script_lines import lines_of, literals

DEFAULT_PREFIX = b"#PBS"
UNMATCHED = "qsub: unmatched "  # qsub means to show the quote, and shows a NUL
ENDS_EARLY = "qsub: unexpected end-of-file or read error in script"
BACKSLASH, COLON = b"\\:"
_BLANKS = re.compile(rb"[ \t\v\f\r]*")
MARK = b"\xef\xbb\xbf"  # the byte order mark that some editors put first
_LIKE = re.compile(rb"(?m)^[ \t]*(#[ \t]*!?[ \t]*)([A-Za-z]{2,4}):?[ \t]+-[aAcCefhIjJklmMNopqrRSuvVWXzP]")
_OTHER = re.compile(rb"(?m)^#(?:SBATCH|BSUB)(?=[ \t])")
_VARIABLE = re.compile(rb"\$(?:[A-Za-z_][A-Za-z0-9_]*|\{[A-Za-z_][^}]*\})")
_NOT_ASKED = ("stagein", "stageout")  # what becomes of a variable there was not tried


class Head(NamedTuple):
    """The directives that are read, all lines of the script, and how many of them stand before the first command."""

    directives: Tuple[DirectiveLine, ...]
    lines: List[Span]
    first_command: int


class _Text(NamedTuple):
    """What stands behind the prefix, from *start*, with further lines joined; *places*: where each byte stands."""

    text: bytes
    places: Tuple[int, ...]
    start: int
    problem: str


def head(source: bytes, prefix: bytes) -> Head:
    """Read the directives of a script; an empty *prefix* means that there are none."""
    lines = lines_of(source)
    directive_lines: List[DirectiveLine] = []
    index = 0
    while index < len(lines):
        first = lines[index]
        start = directive_start(source, first, prefix)
        if start < 0:
            if is_command(source, first):
                break
            index += 1
            continue
        last = _last_line(source, lines, index)
        joined = _joined(source, lines[index : last + 1], start + len(prefix))
        words, problem = _words(joined, index + 1, source)
        span = Span(first.start, lines[last].end)
        directive_lines.append(DirectiveLine(span, index + 1, prefix, words, joined.problem or problem))
        index = last + 1
    return Head(tuple(directive_lines), lines, index)


def directive_start(source: bytes, line: Span, prefix: bytes) -> int:
    """Return where the prefix stands in a line, -1 where it is no directive."""
    at = _text_start(source, line)
    return at if prefix and source.startswith(prefix, at, line.end) else -1


def is_command(source: bytes, line: Span) -> bool:
    """Return whether qsub takes a line for the first command, where the directives end."""
    at = _text_start(source, line)
    if at == line.end or source[line.start] == COLON:
        return False
    return source[at] not in b"#\0"


def _text_start(source: bytes, line: Span) -> int:
    blanks = _BLANKS.match(source, line.start, line.end)
    return blanks.end() if blanks else line.start


def _end(source: bytes, line: Span) -> int:
    """Return where a line ends for qsub: a NUL byte ends it."""
    nul = source.find(b"\0", line.start, line.end)
    return line.end if nul < 0 else nul


def _last_line(source: bytes, lines: List[Span], index: int) -> int:
    """Return the index of the last line that a directive takes up by backslashes."""
    tail = source[lines[index].start : lines[index].end]
    while index + 1 < len(lines) and tail.endswith(b"\\") and b"\0" not in tail:
        index += 1
        tail = tail[:-1] + source[lines[index].start : lines[index].end]
    return index


def _joined(source: bytes, lines: List[Span], start: int) -> _Text:
    text = bytearray()
    places: List[int] = []
    for line in lines:
        if text.endswith(b"\\"):
            del text[-1], places[-1]
        begin, end = max(line.start, start), _end(source, line)
        text += source[begin:end]
        places += range(begin, end)
    newline_follows = lines[-1].end < len(source)
    early = newline_follows and text.endswith(b"\\") and _end(source, lines[-1]) == lines[-1].end
    return _Text(bytes(text), tuple(places), start, ENDS_EARLY if early else "")


def _words(joined: _Text, line: int, source: bytes) -> Tuple[Tuple[DirectiveWord, ...], str]:
    words: List[DirectiveWord] = []
    pos, size = 0, len(joined.text)
    while True:
        while pos < size and joined.text[pos] in BLANK:
            pos += 1
        if pos >= size:
            return tuple(words), ""
        word, pos, problem = _word(joined, pos, line, source)
        if problem:
            return tuple(words), problem
        words.append(word)


def _word(joined: _Text, start: int, line: int, source: bytes) -> Tuple[DirectiveWord, int, str]:
    text = bytearray()
    places: List[int] = []
    quote, escaped, pos = -1, False, start
    while pos < len(joined.text):
        byte = joined.text[pos]
        if quote >= 0 and byte == quote:
            quote = -1
        elif quote < 0 and not escaped and byte in BLANK:
            break
        elif quote < 0 and not escaped and byte in b"\"'":
            quote = byte
        elif quote < 0 and not escaped and byte == BACKSLASH:
            escaped = True
            pos += 1
            continue
        else:
            text.append(byte)
            places.append(joined.places[pos])
        escaped = False
        pos += 1
    span = Span(joined.places[start], joined.places[pos - 1] + 1)
    at_line = line + source.count(b"\n", joined.start, span.start)
    return DirectiveWord(bytes(text), tuple(places), span, at_line), pos, UNMATCHED if quote >= 0 else ""


def stands(word: DirectiveWord, start: int, end: int) -> "Span | None":
    """Return the span of the bytes *start* to *end* of a word; None where quotes or a line's end stand among them."""
    if start == end:
        if start > 0:
            return Span(word.places[start - 1] + 1, word.places[start - 1] + 1)
        return None
    first, last = word.places[start], word.places[end - 1]
    return Span(first, last + 1) if last - first == end - 1 - start else None


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
