"""Simple commands: assignments, words, redirections."""

from __future__ import annotations

import re
from typing import List, Optional, Tuple

from ..types.edits import Span
from .heredocs import HereDocReader
from .nodes import Assignment, Command, Function, Literal, Redirect, Simple, Word
from .words import CLOSE, OPEN, OPEN_BRACKET

# An ordinary argument: no redirection, comment, quote or expansion, ended by a blank or an operator.
ARGUMENT = re.compile(rb"[ \t]+([A-Za-z_./:@%,+=\-][^ \t\n|&;()<>$`\"'\\]*)(?=[ \t\n|&;)]|\Z)")
ASSIGNED = re.compile(rb"([A-Za-z_][A-Za-z0-9_]*)(\+?=|\[)")
ARRAY_ASSIGNED = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*\+?=\(")
DECLARING = frozenset((b"declare", b"typeset", b"local", b"export", b"readonly", b"alias", b"eval"))
REDIRECT = re.compile(
    rb"(?:([0-9]+|\{[A-Za-z_][A-Za-z0-9_]*\})(?=[<>]))?(<<<|<<-|<<|<>|<&|>>|>&|>\||[<>](?!\())|(&>>|&>)"
)


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
        match = REDIRECT.match(self.src, self.pos, self.end)
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
        found: List[Redirect] = []
        while True:
            self.skip_blanks()
            redirect = self.redirect()
            if redirect is None:
                return tuple(found), stop
            found.append(redirect)
            stop = self.pos
