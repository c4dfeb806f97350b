"""The simple commands of a script, wherever they stand, and the texts in it that another shell will read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from maple_submit_filter.bash.nodes import Assignment, CommandSub, HereDoc, Item, Literal, Program, Simple, Word
from maple_submit_filter.bash.parser import parse
from maple_submit_filter.types.edits import Span

DECLARING = frozenset((b"export", b"declare", b"typeset", b"local", b"readonly"))


class FoundCommand(NamedTuple):
    """A simple command. *item*: the list entry it stands in. *top*: the first byte of the script's own entry.

    *whole*: the entry is nothing else. *group*: the list, with *siblings* entries. *inside*: it stands in `$( )`.
    """

    command: Simple
    item: Span
    top: Span
    whole: bool
    group: Span
    siblings: int
    inside: bool


_NO_COMMAND = Simple(Span(0, 0), (), (), ())


class Given(NamedTuple):
    """A variable that is given a value: `NAME=value`, alone or behind `export`. *span*: all of it."""

    name: bytes
    span: Span
    value: Span
    command: FoundCommand | None
    exported: bool


class Text(NamedTuple):
    """A text that another shell reads: in single quotes, in double quotes, or a here-document.

    *quote*: b"'", b'"', b"<'" (a here-document that nothing is expanded in) or b"<".
    """

    span: Span
    quote: bytes


def simple_commands(source: bytes, start: int = 0, end: int | None = None) -> list[FoundCommand]:
    """Return every simple command of the source, in order."""
    program = parse(source, start, end)
    out: list[FoundCommand] = []
    for item in program.items:
        out += _within(
            item,
            FoundCommand(
                _NO_COMMAND, item.command.span, item.command.span, False, program.span, len(program.items), False
            ),
        )
    return sorted(out, key=lambda command: command.command.span)


def _within(node: object, place: FoundCommand) -> Iterator[FoundCommand]:
    """Yield the simple commands of a part of the tree; *place* tells where it stands, but for the command."""
    if isinstance(node, Item) and isinstance(node.command, Simple):
        yield place._replace(command=node.command, whole=True)
        yield from _children(node.command, place)
    elif isinstance(node, Simple):
        yield place._replace(command=node)
        yield from _children(node, place)
    elif isinstance(node, Program):
        for entry in node.items:
            inner = place._replace(item=entry.command.span, group=node.span, siblings=len(node.items))
            yield from _within(entry, inner)
    elif isinstance(node, CommandSub):
        if node.body is not None:
            yield from _within(node.body, place._replace(inside=True))
    elif isinstance(node, HereDoc):
        yield from _children(node.body, place)
    elif isinstance(node, tuple) and not isinstance(node, (Span, Literal)):
        yield from _children(node, place)


def _children(node: tuple[object, ...], place: FoundCommand) -> Iterator[FoundCommand]:
    for child in node:
        if isinstance(child, tuple):
            yield from _within(child, place)


def given(source: bytes, commands: list[FoundCommand]) -> list[Given]:
    """Return every variable that one of the commands gives a value, in order."""
    out: list[Given] = []
    for command in commands:
        declares = bool(command.command.words) and bare(source, command.command.words[0]) in DECLARING
        out += [_assigned(each, command, declares) for each in command.command.assignments if each.subscript is None]
        if declares:
            out += [each for word in command.command.words[1:] for each in _declared(source, word, command)]
    return sorted(out, key=lambda each: each.span)


def _assigned(each: Assignment, command: FoundCommand, declares: bool) -> Given:
    start = each.span.start + len(each.name) + (2 if each.append else 1)
    return Given(each.name, each.span, Span(start, each.span.end), command, declares)


def _declared(source: bytes, word: Word, command: FoundCommand) -> list[Given]:
    text = source[word.span.start : word.span.end]
    name, equals, _ = text.partition(b"=")
    if not equals or not name.replace(b"_", b"a").isalnum():
        return []
    return [Given(name, word.span, Span(word.span.start + len(name) + 1, word.span.end), command, True)]


def bare(source: bytes, word: Word) -> bytes:
    """Return a word that is plain text, b"" for any other."""
    literals = [part.text for part in word.parts if isinstance(part, Literal)]
    return b"".join(literals) if len(literals) == len(word.parts) else b""


def texts(source: bytes) -> list[Text]:
    """Return every quoted text of several words, and every here-document, in order."""
    out: list[Text] = []
    waiting: list[object] = [parse(source)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, HereDoc):
            out.append(Text(node.span, b"<'" if node.quoted else b"<"))
            continue
        if isinstance(node, Word):
            out += _quoted(source, node)
        if isinstance(node, tuple) and not isinstance(node, (Span, Literal)):
            waiting.extend(node)
    return sorted(set(out), key=lambda text: text.span)


def _quoted(source: bytes, word: Word) -> list[Text]:
    text = source[word.span.start : word.span.end]
    for quote in (b"'", b'"'):
        inner = text[1:-1]
        if (
            len(text) > 2
            and text.startswith(quote)
            and text.endswith(quote)
            and any(blank in inner for blank in b" \n")
        ):
            unescaped = inner.replace(b"\\" + quote, b"") if quote == b'"' else inner
            if quote in unescaped and quote == b"'":
                return []
            return [Text(Span(word.span.start + 1, word.span.end - 1), quote)]
    return []


def context(texts_of: list[Text], offset: int) -> Text | None:
    """Return the innermost text that holds a byte of the source, None for the batch script itself."""
    inside = [text for text in texts_of if text.span.start <= offset < text.span.end]
    return min(inside, key=lambda text: text.span.end - text.span.start) if inside else None
