"""Here-documents: their delimiters, their bodies, and how a body finds the redirection that asked for it."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import Any, Dict, List, Optional, Sequence, Tuple

from ..types.edits import Span
from .cursor import Awaited, Unreadable
from .nodes import CommandSub, HereDoc, Item, Literal, Part, Program, Redirect, Unread, Word
from .parameters import ParameterReader

DELIMITER = re.compile(rb"(?:[^ \t\n|&;()<>\"'\\$]+|\$(?!['\"])|\\.|\$?'[^']*'|\$?\"(?:[^\"\\]+|\\.)*\")+", re.DOTALL)
QUOTING = re.compile(rb"\\\n|\\(.)|\$?'([^']*)'|\$?\"((?:[^\"\\]+|\\.)*)\"", re.DOTALL)
RUN = re.compile(rb"[^\\$`]+")
RUN_OF_LINE = re.compile(rb"[^\\$`\n]*\n|[^\\$`\n]+")
TABS = re.compile(rb"\t+")


class HereDocReader(ParameterReader):
    """Reads here-documents."""

    __slots__ = ()

    def await_document(self, at: int, op: bytes) -> None:
        """Read the delimiter at the cursor; the body follows behind the newline."""
        match = DELIMITER.match(self.src, self.pos, self.end)
        if not match:
            raise self.fail("a here-document without a delimiter")
        self.pos = match.end()
        plain = QUOTING.sub(lambda one: one.group(1) or one.group(2) or one.group(3) or b"", match.group())
        self.awaited.append(Awaited(at, plain, plain != match.group(), op == b"<<-"))

    def document(self, awaited: Awaited) -> HereDoc:
        """Read the here-document whose body begins at the cursor, and move behind its delimiter line."""
        start = self.pos
        stop, after, closed = self.body_end(awaited)
        parts = self.unexpanded(start, stop, awaited) if awaited.quoted else self.body(start, stop, awaited.strip_tabs)
        self.pos = after
        body = Word(Span(start, stop), tuple(parts))
        return HereDoc(body.span, awaited.delimiter, awaited.quoted, awaited.strip_tabs, body, closed)

    def body_end(self, awaited: Awaited) -> Tuple[int, int, bool]:
        """Return where the body ends, where the script goes on, and whether the delimiter was there.

        A line that a backslash joins to the one before is never the delimiter, unless the delimiter was quoted.
        """
        pos, joined = self.pos, False
        while pos < self.end:
            stop = self.line_end(pos)
            line = self.src[pos:stop]
            if not joined and (line.lstrip(b"\t") if awaited.strip_tabs else line) == awaited.delimiter:
                return pos, min(stop + 1, self.end), True
            joined = not awaited.quoted and (len(line) - len(line.rstrip(b"\\"))) % 2 == 1
            pos = stop + 1
        return self.end, self.end, False

    def unexpanded(self, start: int, stop: int, awaited: Awaited) -> List[Part]:
        """Return the body as it is, in one literal, or in one for each line where tabs are left out."""
        if not awaited.strip_tabs:
            return [Literal(Span(start, stop), self.src[start:stop], b"'")] if stop > start else []
        parts: List[Part] = []
        while start < stop:
            tabs = TABS.match(self.src, start, stop)
            start = tabs.end() if tabs else start
            after = min(self.line_end(start) + 1, stop)
            if after > start:
                parts.append(Literal(Span(start, after), self.src[start:after], b"'"))
            start = after
        return parts

    def body(self, start: int, stop: int, strip_tabs: bool) -> List[Part]:
        """Read what is expanded in a body. What cannot be read is an `Unread` inside a substitution up to its end."""
        kept = (self.depth, self.inside, self.end, self.awaited)
        parts: List[Part] = []
        self.pos, self.end, self.awaited = start, stop, []
        self.inside += 1
        try:
            self.deeper()
            self.body_parts(parts, strip_tabs)
        except Unreadable as error:
            begin = parts[-1].span.end if parts else start
            lost = Unread(Span(begin, stop), str(error))
            parts.append(CommandSub(lost.span, Program(lost.span, (Item(lost, False),)), True))
        self.depth, self.inside, self.end, self.awaited = kept
        return parts

    def body_parts(self, parts: List[Part], strip_tabs: bool) -> None:
        run = RUN_OF_LINE if strip_tabs else RUN
        while self.pos < self.end:
            if strip_tabs and self.src[self.pos - 1] == 10:
                tabs = TABS.match(self.src, self.pos, self.end)
                self.pos = tabs.end() if tabs else self.pos
            plain = run.match(self.src, self.pos, self.end)
            if plain:
                self.literal(parts, plain.end(), b'"')
            elif self.pos < self.end:
                self.expanded(parts, b"$`\\")


def attach(program: Program, documents: Dict[int, HereDoc]) -> Program:
    """Return *program* with each here-document at the redirection (by its offset) that asked for it."""
    if not documents:
        return program
    attached: Program = _attached(program, documents, sorted(documents))
    return attached


def _attached(node: Any, documents: Dict[int, HereDoc], places: Sequence[int]) -> Any:
    if not isinstance(node, tuple) or isinstance(node, (Span, Literal)):
        return node
    span: Optional[Span] = getattr(node, "span", None)
    if span is not None:
        first = bisect_left(places, span.start)
        if first == len(places) or places[first] >= span.end:
            return node
        if isinstance(node, Redirect) and span.start in documents:
            heredoc = documents[span.start]
            body = _attached_parts(heredoc.body, documents, places)
            return node._replace(heredoc=heredoc._replace(body=body))
    children = [_attached(child, documents, places) for child in node]
    if all(new is old for new, old in zip(children, node)):
        return node
    return tuple(children) if span is None and type(node) is tuple else type(node)(*children)


def _attached_parts(body: Word, documents: Dict[int, HereDoc], places: Sequence[int]) -> Word:
    attached: Word = _attached(body, documents, places)
    return attached
