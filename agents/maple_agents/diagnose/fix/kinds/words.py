"""The plain words of a script's commands, wherever they stand, with the bytes that write them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from maple_submit_filter.bash.nodes import Literal, Word
from maple_submit_filter.types.edits import Span

from ....request.script.walk import Found, found

_SHELLS = (b"bash", b"sh", b"dash", b"zsh", b"ksh")
_COMMAND = re.compile(rb"-[a-z]*c\Z")


class PlainWord(NamedTuple):
    """A word without expansions that stands one for one in the script. *nth*: its place in its command, 0 is the name.

    *command*: the span of its command. *text*: quotes removed; *span*: its bytes without quotes.
    """

    text: str
    span: Span
    nth: int
    command: Span


def plain_words(source: bytes) -> list[PlainWord]:
    """Return the plain words of every command, and of every text that `bash -c` is given; a command's in order."""
    commands = found(source)
    for text in [text for one in commands for text in _texts(one, source)]:
        commands += found(source, *text)
    words = {each.span: each for one in commands for each in _of(one, source)}
    return sorted(words.values(), key=lambda one: (one.command, one.nth))


def _texts(one: Found, source: bytes) -> Iterator[Span]:
    """Yield where the texts stand that a shell among the command's words reads: the word behind `-c`."""
    words = [source[slice(*word.span)] for word in one.command.words]
    shells = [at for at, word in enumerate(words) if word.rpartition(b"/")[2] in _SHELLS]
    for at in range(shells[0] + 2 if shells else len(words), len(words)):
        if _COMMAND.match(words[at - 1]) and words[at][:1] in (b"'", b'"') and words[at][-1:] == words[at][:1]:
            span = one.command.words[at].span
            yield Span(span.start + 1, span.end - 1)


def _of(one: Found, source: bytes) -> list[PlainWord]:
    out = []
    for index, word in enumerate(one.command.words):
        span = _whole(word)
        if span is None:
            continue
        text = source[slice(*span)]
        if text.isascii():
            out.append(PlainWord(text.decode(), span, index, one.command.span))
    return out


def _whole(word: Word) -> Span | None:
    """Return where a word of one literal stands, None for any other."""
    if len(word.parts) != 1 or not isinstance(word.parts[0], Literal) or word.parts[0].quote == b"\\":
        return None
    span = word.parts[0].span
    return span if span.end - span.start == len(word.parts[0].text) else None
