"""What a dollar or a backquote begins in a word: parameters, commands, arithmetic."""

from __future__ import annotations

import re
from typing import FrozenSet, List, Optional

from ..types.edits import Span
from .cursor import Unreadable
from .nodes import Arith, CommandSub, Param, Part, Program, Word
from .words import BACKQUOTE, CLOSE, CLOSE_BRACKET, IN_PARENTHESES, OPEN, OPEN_BRACKET, WordReader

IN_BRACKETS = re.compile(rb"[^][$`\"'\\]+")
IN_BACKQUOTES = re.compile(rb"(?:[^`\\]+|\\.)*", re.DOTALL)
PARAMETER = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]")
UNESCAPED_IN_BACKQUOTES = re.compile(rb"\\[$`\\]")
UNESCAPED_IN_QUOTED_BACKQUOTES = re.compile(rb"\\[$`\\\"]")
MOST_READ_TWICE = 2  # times the length of the script: keeps the time linear whatever stands in it
CLOSING = frozenset((b")",))
NOTHING: FrozenSet[bytes] = frozenset()


class ExpansionReader(WordReader):
    """Reads expansions. Each method takes the parts so far and appends to them."""

    __slots__ = ()

    def program(self, ends: FrozenSet[bytes]) -> Program:
        """Read a list of commands."""
        raise NotImplementedError

    def braced(self, parts: List[Part], quoted: bool) -> None:
        """Read `${...}`."""
        raise NotImplementedError

    def dollar(self, parts: List[Part], quoted: bool) -> None:
        """Read what a dollar begins; a dollar that begins nothing stands for itself."""
        after = self.src[self.pos + 1 : min(self.pos + 2, self.end)]
        named = PARAMETER.match(self.src, self.pos + 1, self.end)
        if named:
            parts.append(Param(Span(self.pos, named.end()), named.group(), b"", None, None, None, quoted))
            self.pos = named.end()
        elif after == b"{":
            self.braced(parts, quoted)
        elif after == b"(":
            self.parenthesised(parts, quoted)
        elif after == b"[":
            self.bracketed(parts, quoted)
        elif after == b"'" and not quoted:
            self.ansi_quoted(parts)
        elif after == b'"' and not quoted:
            self.pos += 1
            self.double_quoted(parts)
        else:
            self.literal(parts, self.pos + 1, b'"' if quoted else b"")

    def parenthesised(self, parts: List[Part], quoted: bool) -> None:
        """Read `$((...))` or `$(...)`."""
        start = self.pos
        text = self.arithmetic(start + 1)
        if text is not None:
            parts.append(Arith(Span(start, self.pos), text, quoted))
            return
        self.pos = start + 2
        body = self.substitution()
        parts.append(CommandSub(Span(start, self.pos), body, quoted))

    def substitution(self) -> Program:
        """Read commands up to, and with, a closing parenthesis."""
        awaited, self.awaited = self.awaited, []
        self.inside += 1
        body = self.program(CLOSING)
        if not self.at(CLOSE):
            raise self.fail("no closing )")
        self.pos += 1
        self.inside -= 1
        awaited.extend(self.awaited)
        self.awaited = awaited
        return body

    def arithmetic(self, start: int) -> Optional[Word]:
        """Read `((...))` at *start* and return what is inside; None, the cursor anywhere, if it is no arithmetic."""
        if start in self.not_arithmetic or not self.src.startswith(b"((", start, self.end):
            return None
        if self.read_twice > MOST_READ_TWICE * len(self.src) + 10_000:
            raise self.fail("too many (( that are no arithmetic")
        kept = (self.depth, self.inside, self.end, self.awaited)
        try:
            self.deeper()
            self.pos = start + 2
            parts: List[Part] = []
            self.balanced(parts, IN_PARENTHESES, OPEN, CLOSE)
            if self.src.startswith(b"))", self.pos, self.end):
                self.depth -= 1
                self.pos += 2
                return Word(Span(start + 2, self.pos - 2), tuple(parts))
        except Unreadable:
            pass
        self.depth, self.inside, self.end, self.awaited = kept
        self.not_arithmetic.add(start)
        self.read_twice += self.pos - start
        return None

    def bracketed(self, parts: List[Part], quoted: bool) -> None:
        """Read `$[...]`."""
        start = self.pos
        self.pos += 2
        self.deeper()
        text: List[Part] = []
        self.balanced(text, IN_BRACKETS, OPEN_BRACKET, CLOSE_BRACKET)
        self.depth -= 1
        inside = Word(Span(start + 2, self.pos), tuple(text))
        self.pos += 1
        parts.append(Arith(Span(start, self.pos), inside, quoted))

    def backquoted(self, parts: List[Part], quoted: bool) -> None:
        start = self.pos
        inside = IN_BACKQUOTES.match(self.src, start + 1, self.end)
        stop = inside.end() if inside else self.end
        if stop >= self.end or self.src[stop] != BACKQUOTE:
            raise self.unclosed("`")
        escapes = UNESCAPED_IN_QUOTED_BACKQUOTES if quoted else UNESCAPED_IN_BACKQUOTES
        body = None if escapes.search(self.src, start + 1, stop) else self.part_of_source(start + 1, stop)
        self.pos = stop + 1
        parts.append(CommandSub(Span(start, self.pos), body, quoted))

    def part_of_source(self, start: int, end: int) -> Program:
        """Read the commands in a part of the source that ends at *end* whatever it holds."""
        kept, awaited = self.end, self.awaited
        self.pos, self.end, self.awaited = start, end, []
        self.inside += 1
        body = self.program(NOTHING)
        for one in self.awaited:
            self.documents[one.at] = self.document(one)
        self.inside -= 1
        self.end, self.awaited = kept, awaited
        return body
