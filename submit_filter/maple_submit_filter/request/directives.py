"""The words of directive lines, as sbatch takes them apart (asked of 22.05.8, 24.11.5 and 26.05.5).

Quotes of both kinds group, also inside a word. A backslash takes the next byte as it is, in quotes as well; outside
quotes it cannot keep a blank in a word with 22.05, and does with 24.11: such a line is disputed. `#` outside quotes
ends the line, even inside a word; so does a word that is empty. Nothing is expanded. The words of all lines are one
list: an option may stand on one line and its value on the next.
"""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Tuple

from ..types.edits import Span
from ..types.job import Directive, Origin, Setting
from .options import GivenOption

BLANK = b" \t\n\v\f\r"


class DirectiveWord(NamedTuple):
    """*places*: where in the script each byte of *text* stands. *span*: the word with its quotes. *line*: 1-based."""

    text: bytes
    places: Tuple[int, ...]
    span: Span
    line: int


class DirectiveLine(NamedTuple):
    """A line that sbatch reads, without its newline; *problem* is why sbatch will end here, or "".

    *disputed*: releases of sbatch take it apart in different ways.
    """

    span: Span
    line: int
    prefix: bytes
    words: Tuple[DirectiveWord, ...]
    problem: str
    disputed: bool = False


def directive_line(source: bytes, span: Span, line: int, prefix: bytes) -> DirectiveLine:
    """Take a directive line apart; *span* is the whole line."""
    made = _taken_apart(source, span, line, prefix)
    # What stands behind the word that ended the line of one release is read by another.
    disputed = b"\\" in source[span.start : span.end] and _keeps_a_blank(source, span.start + len(prefix), span.end)
    return made._replace(disputed=True) if disputed else made


def _keeps_a_blank(source: bytes, start: int, end: int) -> bool:
    """Return whether a backslash outside quotes stands before a blank, in a word that is read."""
    quote, pos = -1, start
    while pos < end:
        byte = source[pos]
        if byte == 92:
            if quote < 0 and pos + 1 < end and source[pos + 1] in BLANK:
                return True
            pos += 1
        elif quote < 0 and byte == b"#"[0]:
            return False
        elif quote < 0 and byte in b"\"'":
            quote = byte
        elif byte == quote:
            quote = -1
        pos += 1
    return False


def _taken_apart(source: bytes, span: Span, line: int, prefix: bytes) -> DirectiveLine:
    words: List[DirectiveWord] = []
    pos = span.start + len(prefix)
    while True:
        while pos < span.end and source[pos] in BLANK:
            pos += 1
        if pos >= span.end or source[pos] == b"#"[0]:
            return DirectiveLine(span, line, prefix, tuple(words), "")
        if source[pos] == b":"[0]:
            return DirectiveLine(span, line, prefix, tuple(words), "Unexpected `:`")
        word, pos, problem = _word(source, pos, span.end, line)
        if problem:
            return DirectiveLine(span, line, prefix, tuple(words), problem)
        if not word.text:  # `""`, or a backslash alone: sbatch reads no further in the line
            return DirectiveLine(span, line, prefix, tuple(words), "")
        words.append(word)


def _word(source: bytes, start: int, end: int, line: int) -> Tuple[DirectiveWord, int, str]:
    text = bytearray()
    places: List[int] = []
    quote, escaped, pos = -1, False, start
    while pos < end:
        byte = source[pos]
        if quote < 0 and byte in BLANK:
            break
        if escaped or (byte not in b"\"'\\#" if quote < 0 else byte not in (quote, 92)):
            text.append(byte)
            places.append(pos)
            escaped = False
        elif byte == 92:
            escaped = True
        elif quote < 0 and byte == b"#"[0]:
            break
        else:
            quote = -1 if byte == quote else byte
        pos += 1
    problem = "Unmatched `%c`" % quote if quote >= 0 else ""
    return DirectiveWord(bytes(text), tuple(places), Span(start, pos), line), pos, problem


def origin(words: Tuple[DirectiveWord, ...], option: GivenOption) -> Origin:
    """Return where an option stands. An option and a value on two lines have no common span.

    The value's span holds its quotes too: new bytes in its place are a whole value.
    """
    first, last = words[option.at], words[option.at + option.words - 1]
    alone = _alone(first, option)
    span = Span(first.span.start, last.span.end) if first.line == last.line and alone else None
    return Origin("directive", span, _value_span(words, option), line=first.line, spelling=option.spelling)


def _alone(word: DirectiveWord, option: GivenOption) -> bool:
    """Return whether no other short option shares the word, as in `-HN2`."""
    if option.value_word != option.at:
        return word.text == option.spelling
    return option.value_at - len(option.spelling) in (0, 1) and word.text.startswith(option.spelling)


def _value_span(words: Tuple[DirectiveWord, ...], option: GivenOption) -> "Span | None":
    if option.value_word < 0:
        return None
    word = words[option.value_word]
    start = word.places[option.value_at - 1] + 1 if option.value_at > 0 else word.span.start
    return Span(start, word.span.end)


def directives(lines: Tuple[DirectiveLine, ...], settings: Tuple[Setting, ...]) -> Tuple[Directive, ...]:
    """Return the lines with the settings that stand on each."""
    on: Dict[int, List[Setting]] = {}
    for setting in settings:
        on.setdefault(setting.origin.line, []).append(setting)
    return tuple(Directive(line.span, line.line, line.prefix, tuple(on.get(line.line, ()))) for line in lines)
