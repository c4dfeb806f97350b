"""What a dollar or a backquote begins in a word: parameters with all their operators, commands, arithmetic."""

from __future__ import annotations

import re
from typing import FrozenSet, List, Optional, Pattern

from ..types.edits import Span
from .cursor import Unreadable
from .nodes import Arith, CommandSub, Param, Part, Program, Word
from .words import (
    APOSTROPHE,
    BACKQUOTE,
    BACKSLASH,
    BANG,
    CLOSE,
    CLOSE_BRACE,
    CLOSE_BRACKET,
    COLON,
    IN_PARENTHESES,
    OPEN,
    OPEN_BRACKET,
    SLASH,
    WordReader,
)

IN_BRACKETS = re.compile(rb"[^][$`\"'\\]+")
IN_BACKQUOTES = re.compile(rb"(?:[^`\\]+|\\.)*", re.DOTALL)
PARAMETER = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]")
UNESCAPED_IN_BACKQUOTES = re.compile(rb"\\[$`\\]")
UNESCAPED_IN_QUOTED_BACKQUOTES = re.compile(rb"\\[$`\\\"]")
MOST_READ_TWICE = 2  # times the length of the script: keeps the time linear whatever stands in it
CLOSING = frozenset((b")",))
NOTHING: FrozenSet[bytes] = frozenset()

IN_BRACES = re.compile(rb"[^}$`\"'\\]+")
IN_PATTERN = re.compile(rb"[^}/$`\"'\\]+")
IN_OFFSET = re.compile(rb"[^}:($`\"'\\]+")
BRACED_PARAMETER = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-]")
LENGTH = re.compile(rb"#(?:[A-Za-z_][A-Za-z0-9_]*[}[]|[0-9]+\}|[@*#?$!-]\})")
NAMES = re.compile(rb"!([A-Za-z_][A-Za-z0-9_]*)([@*])\}")
OPERATOR = re.compile(rb":[-=?+]|[-=?+]|##?|%%?|//|/#|/%|/|\^\^?|,,?|~~?|:|@(?=[A-Za-z]\})")


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
        self.failures += 1
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
        for document in self.awaited:
            self.documents[document.at] = self.document(document)
        self.inside -= 1
        self.end, self.awaited = kept, awaited
        return body


class ParameterReader(ExpansionReader):
    """Reads `${...}`."""

    __slots__ = ()

    def braced(self, parts: List[Part], quoted: bool) -> None:
        """Read `${...}`."""
        start = self.pos
        self.pos += 2
        self.deeper()
        param = self.braced_parameter(start, quoted)
        if not self.at(CLOSE_BRACE):
            param = None
        if param is None:
            self.text(IN_BRACES, quoted, quoted)
            if not self.at(CLOSE_BRACE):
                raise self.fail("no closing }")
            param = Param(Span(start, start), b"", b"bad", None, None, None, quoted)
        self.depth -= 1
        self.pos += 1
        parts.append(param._replace(span=Span(start, self.pos)))

    def braced_parameter(self, start: int, quoted: bool) -> Optional[Param]:
        """Read all but the closing brace; None if bash would call it a bad substitution."""
        names = NAMES.match(self.src, self.pos, self.end)
        if names:
            self.pos = names.end() - 1
            return Param(Span(start, start), names.group(1), b"names", None, None, None, quoted)
        prefix = b""
        if LENGTH.match(self.src, self.pos, self.end):
            prefix = b"length"
        elif self.at(BANG) and BRACED_PARAMETER.match(self.src, self.pos + 1, self.end):
            prefix = b"indirect"
        self.pos += 1 if prefix else 0
        named = BRACED_PARAMETER.match(self.src, self.pos, self.end)
        if not named:
            return None
        self.pos = named.end()
        subscript = self.subscript() if self.at(OPEN_BRACKET) else None
        param = Param(Span(start, start), named.group(), prefix, None, None, subscript, quoted)
        return param if self.at(CLOSE_BRACE) and not self.is_keys(param) else self.operated(param)

    def is_keys(self, param: Param) -> bool:
        return (
            param.op == b"indirect" and param.subscript is not None and self.words_of(param.subscript) in (b"@", b"*")
        )

    def subscript(self) -> Word:
        """Read `[...]` and return what is inside."""
        self.pos += 1
        start = self.pos
        parts: List[Part] = []
        self.deeper()
        self.balanced(parts, IN_BRACKETS, OPEN_BRACKET, CLOSE_BRACKET)
        self.depth -= 1
        self.pos += 1
        return Word(Span(start, self.pos - 1), tuple(parts))

    def operated(self, param: Param) -> Optional[Param]:
        """Read the operator behind the name, and its words; None if there is none."""
        if self.at(CLOSE_BRACE):
            return param._replace(op=b"keys")
        match = OPERATOR.match(self.src, self.pos, self.end)
        if not match or param.op == b"length":
            return None
        self.pos = match.end()
        op = match.group()
        quoted = param.quoted and op[:1] in b":-=?+" and op != b":"
        arg2 = None
        if op[:1] == b"/":
            arg = self.text(IN_PATTERN, False, False)
            arg2 = self.second(SLASH, IN_BRACES)
        elif op == b":":
            arg = self.text(IN_OFFSET, False, False)
            arg2 = self.second(COLON, IN_BRACES)
        else:
            arg = self.text(IN_BRACES, quoted, quoted)
        return param._replace(op=b"!" + op if param.op else op, arg=arg, arg2=arg2)

    def second(self, separator: int, run: Pattern[bytes]) -> Optional[Word]:
        """Read the second word of an operator if it is there."""
        if not self.at(separator):
            return None
        self.pos += 1
        return self.text(run, False, False)

    def text(self, run: Pattern[bytes], quoted: bool, apostrophes_stay: bool) -> Word:
        """Read a word inside braces up to the first byte that *run* leaves out and that neither quotes nor expands.

        *quoted*: the braces stand in double quotes and the operator's word keeps to them; then apostrophes still hide a
        brace, but stay in the text.
        """
        start = self.pos
        parts: List[Part] = []
        while self.pos < self.end:
            byte = self.src[self.pos]
            plain = run.match(self.src, self.pos, self.end)
            if plain:
                self.literal(parts, plain.end(), b'"' if quoted else b"")
            elif byte == APOSTROPHE and apostrophes_stay:
                self.kept_apostrophes(parts)
            elif quoted and byte == BACKSLASH:
                self.expanded(parts, b'$`"\\}')
            elif byte == OPEN:
                self.literal(parts, self.pos + 1, b"")
                self.balanced(parts, IN_PARENTHESES, OPEN, CLOSE)
                self.literal(parts, self.pos + 1, b"")
            elif not self.special(parts, quoted):
                return Word(Span(start, self.pos), tuple(parts))
        raise self.fail("no closing }")

    def kept_apostrophes(self, parts: List[Part]) -> None:
        stop = self.src.find(b"'", self.pos + 1, self.end)
        if stop < 0:
            raise self.unclosed("'")
        self.literal(parts, stop + 1, b'"')
