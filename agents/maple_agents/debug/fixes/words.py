"""The plain words of a script's commands, wherever they stand, with the bytes that write them."""

from __future__ import annotations

from typing import NamedTuple

from maple_submit_filter.edits import Span
from maple_submit_filter.shell import Literal, Word

from ...extraction.script_walk import Found, found, texts


class PlainWord(NamedTuple):
    """A word without expansions that stands one for one in the script. *nth*: its place in its command, 0 is the name.

    *command*: the span of its command. *text*: quotes removed; *span*: its bytes without quotes.
    """

    text: str
    span: Span
    nth: int
    command: Span


def plain_words(source: bytes) -> list[PlainWord]:
    """Return the plain words of every command in order, those in texts for another shell among them."""
    commands = found(source)
    for one in texts(source):
        commands += found(source, *one.span)
    words = {each.span: each for one in commands for each in _of(one, source)}
    return [words[span] for span in sorted(words)]


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
