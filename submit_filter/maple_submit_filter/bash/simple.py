"""Simple commands: assignments, words, redirections.

Here-documents: their delimiters, their bodies, and how a body finds the redirection that asked for it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import Any, Dict, List, Optional, Sequence, Tuple

from ..types.edits import Span
from .cursor import Awaited, Unreadable
from .nodes import (
    Assignment,
    Command,
    CommandSub,
    Function,
    HereDoc,
    Item,
    Literal,
    Part,
    Program,
    Redirect,
    Simple,
    Unread,
    Word,
)
from .parameters import ParameterReader
from .words import CLOSE, OPEN, OPEN_BRACKET

DELIMITER = re.compile(rb"(?:[^ \t\n|&;()<>\"'\\$]+|\$(?!['\"])|\\.|\$?'[^']*'|\$?\"(?:[^\"\\]+|\\.)*\")+", re.DOTALL)
QUOTING = re.compile(rb"\\\n|\\(.)|\$?'([^']*)'|\$?\"((?:[^\"\\]+|\\.)*)\"", re.DOTALL)
RUN = re.compile(rb"[^\\$`]+")
RUN_OF_LINE = re.compile(rb"[^\\$`\n]*\n|[^\\$`\n]+")
TABS = re.compile(rb"\t+")

# An ordinary argument: no redirection, comment, quote or expansion, ended by a blank or an operator.
ARGUMENT = re.compile(rb"[ \t]+([A-Za-z_./:@%,+=\-][^ \t\n|&;()<>$`\"'\\]*)(?=[ \t\n|&;)]|\Z)")
ASSIGNED = re.compile(rb"([A-Za-z_][A-Za-z0-9_]*)(\+?=|\[)")
ARRAY_ASSIGNED = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*\+?=\(")
DECLARING = frozenset((b"declare", b"typeset", b"local", b"export", b"readonly", b"alias", b"eval"))
MAY_REDIRECT = b"<>&{0123456789"
REDIRECT = re.compile(
    rb"(?:([0-9]+|\{[A-Za-z_][A-Za-z0-9_]*\})(?=[<>]))?(<<<|<<-|<<|<>|<&|>>|>&|>\||[<>](?!\())|(&>>|&>)"
)


class HereDocReader(ParameterReader):
    """Reads here-documents."""

    __slots__ = ()

    def await_document(self, at: int, op: bytes) -> None:
        """Read the delimiter at the cursor; the body follows behind the newline."""
        match = DELIMITER.match(self.src, self.pos, self.end)
        if not match:
            raise self.fail("a here-document without a delimiter")
        self.pos = match.end()
        plain = QUOTING.sub(lambda match: match.group(1) or match.group(2) or match.group(3) or b"", match.group())
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


def attach(node: Any, documents: Dict[int, HereDoc]) -> Any:
    """Return *node* with each here-document at the redirection (by its offset) that asked for it."""
    return _attached(node, documents, sorted(documents)) if documents else node


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


class SimpleReader(HereDocReader):
    """Reads simple commands and redirections."""

    __slots__ = ()

    def function_named(self, start: int, name: Word) -> Function:
        """Read `name() body`; the cursor is on the parenthesis."""
        raise NotImplementedError

    def simple(self) -> Command:
        """Read assignments, words and redirections in whatever order they come."""
        start = stop = self.pos
        assignments: List[Assignment] = []
        words: List[Word] = []
        redirects: List[Redirect] = []
        while True:
            argument = ARGUMENT.match(self.src, self.pos, self.end) if words else None
            if argument:
                span = Span(*argument.span(1))
                words.append(Word(span, (Literal(span, argument.group(1), b""),)))
                self.pos = stop = span.end
                continue
            self.skip_blanks()
            if not self.one_more(assignments, words, redirects):
                break
            stop = self.pos
        if self.at(OPEN) and len(words) == 1 and not assignments and not redirects:
            return self.function_named(start, words[0])
        if stop == start:
            raise self.fail("no command")
        return Simple(Span(start, stop), tuple(assignments), tuple(words), tuple(redirects))

    def one_more(self, assignments: List[Assignment], words: List[Word], redirects: List[Redirect]) -> bool:
        """Read one redirection, assignment or word; False if there is none."""
        redirect = self.redirect()
        if redirect:
            redirects.append(redirect)
            return True
        if not words:
            match = ASSIGNED.match(self.src, self.pos, self.end)
            if match:
                return self.assignment_or_word(match, assignments, words)
        elif self.declares(words):
            self.assignment_or_word(ASSIGNED.match(self.src, self.pos, self.end), assignments, words)
            return True
        word = self.word()
        if word is None:
            return False
        words.append(word)
        return True

    def declares(self, words: List[Word]) -> bool:
        """Return whether `name=( ... )` is at the cursor, as an argument of a command that declares variables."""
        if not ARRAY_ASSIGNED.match(self.src, self.pos, self.end):
            return False
        return self.words_of(words[0]) in DECLARING

    def assignment_or_word(
        self, match: "Optional[re.Match[bytes]]", assignments: List[Assignment], words: List[Word]
    ) -> bool:
        """Read `name=...` or `name[...]=...`; `name[...]` without a value is a word."""
        assert match is not None
        start, name, operator = self.pos, match.group(1), match.group(2)
        self.pos = match.end()
        subscript: Optional[Word] = None
        if operator == b"[":
            self.pos -= 1
            subscript = self.subscript()
            if self.src.startswith(b"=", self.pos, self.end) or self.src.startswith(b"+=", self.pos, self.end):
                operator = b"=" if self.at(61) else b"+="
                self.pos += len(operator)
            else:
                words.append(self.globbed(start, subscript))
                return True
        value, array = self.value()
        span = Span(start, self.pos)
        assignments.append(Assignment(span, name, subscript, operator == b"+=", value, array))
        return True

    def globbed(self, start: int, inside: Word) -> Word:
        """Return the word that began like an element of an array but has no value: `a[bc]d`."""
        before = Span(start, inside.span.start)
        after = Span(inside.span.end, self.pos)
        parts = [Literal(before, self.words_of(Word(before, ())), b""), *inside.parts]
        parts.append(Literal(after, self.words_of(Word(after, ())), b""))
        whole = self.rest_of_word(start, parts)
        return whole if whole else Word(Span(start, self.pos), tuple(parts))

    def value(self) -> Tuple[Optional[Word], Optional[Tuple[Word, ...]]]:
        """Read the value of an assignment: a word, perhaps empty, or an array."""
        if self.at(OPEN):
            return None, self.array()
        start = self.pos
        return self.word() or Word(Span(start, start), ()), None

    def array(self) -> Tuple[Word, ...]:
        """Read `( words )`, which may take several lines; an element may be `[index]=word`."""
        self.pos += 1
        self.deeper()
        elements: List[Word] = []
        while True:
            self.skip_lines()
            if self.at(OPEN_BRACKET):
                start = self.pos
                elements.append(self.globbed(start, self.subscript()))
                continue
            word = self.word()
            if word is None:
                break
            elements.append(word)
        if not self.at(CLOSE):
            raise self.fail("an array that is not closed")
        self.pos += 1
        self.depth -= 1
        return tuple(elements)

    def redirect(self) -> Optional[Redirect]:
        """Read a redirection; None if there is none at the cursor."""
        begins = self.pos < self.end and self.src[self.pos] in MAY_REDIRECT
        match = REDIRECT.match(self.src, self.pos, self.end) if begins else None
        if not match:
            return None
        start, self.pos = self.pos, match.end()
        op = match.group(2) or match.group(3)
        self.skip_blanks()
        if op in (b"<<", b"<<-"):
            self.await_document(start, op)
            return Redirect(Span(start, self.pos), match.group(1), op, None, None)
        target = self.word()
        if target is None:
            raise self.fail("a redirection without a target")
        return Redirect(Span(start, target.span.end), match.group(1), op, target, None)

    def redirects(self) -> Tuple[Tuple[Redirect, ...], int]:
        """Read the redirections behind a compound command; return them and where the command ends."""
        stop = self.pos
        redirects: List[Redirect] = []
        while True:
            self.skip_blanks()
            redirect = self.redirect()
            if redirect is None:
                return tuple(redirects), stop
            redirects.append(redirect)
            stop = self.pos
