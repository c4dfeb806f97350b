"""Parameters in braces, with all their operators."""

from __future__ import annotations

import re
from typing import List, Optional, Pattern

from ..types.edits import Span
from .expansions import IN_BRACKETS, ExpansionReader
from .nodes import Param, Part, Word
from .words import (
    APOSTROPHE,
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
)

IN_BRACES = re.compile(rb"[^}$`\"'\\]+")
IN_PATTERN = re.compile(rb"[^}/$`\"'\\]+")
IN_OFFSET = re.compile(rb"[^}:($`\"'\\]+")
BRACED_PARAMETER = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-]")
LENGTH = re.compile(rb"#(?:[A-Za-z_][A-Za-z0-9_]*[}[]|[0-9]+\}|[@*#?$!-]\})")
NAMES = re.compile(rb"!([A-Za-z_][A-Za-z0-9_]*)([@*])\}")
OPERATOR = re.compile(rb":[-=?+]|[-=?+]|##?|%%?|//|/#|/%|/|\^\^?|,,?|~~?|:|@(?=[A-Za-z]\})")


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
