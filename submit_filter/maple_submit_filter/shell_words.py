"""Words of a script: quotes, parameters, substitutions, arithmetic."""

from __future__ import annotations

import re
from typing import List, Optional, Pattern

from .edits import Span
from .shell import Arith, CommandSub, Literal, Param, Part, ProcessSub, Program, Word
from .shell_cursor import Cursor, Unreadable
from .shell_quotes import decoded

# What ends a plain run everywhere: blanks, operators, and the bytes that quote or expand.
PLAIN = re.compile(rb"[^ \t\n|&;()<>$`\"'\\]+")
PLAIN_WORD = re.compile(rb"[^ \t\n|&;()<>$`\"'\\]+(?=[ \t\n|&;)]|\Z)")
IN_QUOTES = re.compile(rb"(?:[^\"\\$`]+|\\[^\"\\$`\n])+")
IN_PARENTHESES = re.compile(rb"[^()$`\"'\\]+")
IN_BRACKETS = re.compile(rb"[^][$`\"'\\]+")
IN_BRACES = re.compile(rb"[^}$`\"'\\]+")
IN_PATTERN = re.compile(rb"[^}/$`\"'\\]+")
IN_OFFSET = re.compile(rb"[^}:($`\"'\\]+")
IN_REGEX = re.compile(rb"[^ \t\n&;()<>$`\"'\\]+")
IN_BACKQUOTES = re.compile(rb"(?:[^`\\]+|\\.)*", re.DOTALL)
IN_ANSI = re.compile(rb"(?:[^'\\]+|\\.)*", re.DOTALL)

MOST_READ_TWICE = 2  # times the length of the script: keeps the time linear whatever stands in it

PARAMETER = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]")
BRACED_PARAMETER = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-]")
LENGTH = re.compile(rb"#(?:[A-Za-z_][A-Za-z0-9_]*[}[]|[0-9]+\}|[@*#?$!-]\})")
NAMES = re.compile(rb"!([A-Za-z_][A-Za-z0-9_]*)([@*])\}")
OPERATOR = re.compile(rb":[-=?+]|[-=?+]|##?|%%?|//|/#|/%|/|\^\^?|,,?|~~?|:|@(?=[A-Za-z]\})")
UNESCAPED_IN_BACKQUOTES = re.compile(rb"\\[$`\\]")
UNESCAPED_IN_QUOTED_BACKQUOTES = re.compile(rb"\\[$`\\\"]")

QUOTE, APOSTROPHE, BACKSLASH, DOLLAR, BACKQUOTE = b"\"'\\$`"
OPEN, CLOSE, LESS, GREATER, NEWLINE, BANG, HASH, COLON, SLASH = b"()<>\n!#:/"
OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE = b"[]{}"
IN_DOUBLE_QUOTES_ESCAPED = b'$`"\\'
PATTERN_OPERATORS = (b"#", b"##", b"%", b"%%", b"^", b"^^", b",", b",,", b"~", b"~~")


class WordReader(Cursor):
    """Reads words. Each method takes the parts so far and appends to them."""

    __slots__ = ()

    def program(self, ends: "frozenset[bytes]") -> Program:
        """Read a list of commands."""
        raise NotImplementedError

    # --- whole words ----------------------------------------------------------------------------------------------

    def word(self) -> Optional[Word]:
        """Read the word that begins at the cursor; None if none begins there."""
        plain = PLAIN_WORD.match(self.src, self.pos, self.end)
        if plain:
            span = Span(self.pos, plain.end())
            self.pos = span.end
            return Word(span, (Literal(span, plain.group(), b""),))
        return self.rest_of_word(self.pos, [])

    def rest_of_word(self, start: int, parts: List[Part], regex: bool = False) -> Optional[Word]:
        """Read on in a word of which *parts* have been read; None if there is nothing at all.

        *regex*: parentheses and bars belong to the word, as behind `=~`.
        """
        run = IN_REGEX if regex else PLAIN
        stop = self.pos
        while self.pos < self.end:
            plain = run.match(self.src, self.pos, self.end)
            if plain:
                self.literal(parts, plain.end(), b"")
            elif self.continued():
                continue
            elif not self.special(parts, False) and not self.group(parts, regex):
                break
            stop = self.pos
        self.pos = stop
        return Word(Span(start, stop), tuple(parts)) if stop > start else None

    def continued(self) -> bool:
        """Move over a backslash at the end of a line."""
        if self.src.startswith(b"\\\n", self.pos, self.end):
            self.pos += 2
            return True
        return False

    def group(self, parts: List[Part], regex: bool) -> bool:
        """Read a process substitution, an extended pattern such as `@(a|b)`, or a group of a regular expression."""
        byte = self.src[self.pos]
        if byte in (LESS, GREATER) and self.src.startswith(b"(", self.pos + 1, self.end):
            begin = self.pos
            self.pos += 2
            body = self.substitution()
            parts.append(ProcessSub(Span(begin, self.pos), self.src[begin : begin + 1], body))
            return True
        if byte == OPEN and (regex or (parts and self.src[self.pos - 1] in b"?*+@!" and is_bare(parts[-1]))):
            self.literal(parts, self.pos + 1, b"")
            self.balanced(parts, IN_PARENTHESES, OPEN, CLOSE)
            self.literal(parts, self.pos + 1, b"")
            return True
        return False

    def literal(self, parts: List[Part], stop: int, quote: bytes) -> None:
        """Take the bytes up to *stop* as they are."""
        parts.append(Literal(Span(self.pos, stop), self.src[self.pos : stop], quote))
        self.pos = stop

    def balanced(self, parts: List[Part], run: Pattern[bytes], opens: int, closes: int) -> None:
        """Read up to the *closes* that belongs to an *opens* already read, and stay on it."""
        deep = 0
        while self.pos < self.end:
            plain = run.match(self.src, self.pos, self.end)
            if plain:
                self.literal(parts, plain.end(), b"")
            elif self.continued() or self.special(parts, False):
                continue
            elif self.src[self.pos] == closes and deep == 0:
                return
            else:
                deep += 1 if self.src[self.pos] == opens else -1
                self.literal(parts, self.pos + 1, b"")
        raise self.fail("no closing %s" % chr(closes))

    # --- quotes ---------------------------------------------------------------------------------------------------

    def special(self, parts: List[Part], quoted: bool) -> bool:
        """Read one quoted or expanded thing; False if the byte at the cursor neither quotes nor expands."""
        byte = self.src[self.pos]
        if byte == DOLLAR:
            self.dollar(parts, quoted)
        elif byte == QUOTE:
            self.double_quoted(parts)
        elif byte == APOSTROPHE:
            self.single_quoted(parts)
        elif byte == BACKSLASH:
            self.escaped(parts)
        elif byte == BACKQUOTE:
            self.backquoted(parts, quoted)
        else:
            return False
        return True

    def escaped(self, parts: List[Part]) -> None:
        """Read a backslash outside quotes and the byte it quotes."""
        if self.pos + 1 >= self.end:
            self.literal(parts, self.pos + 1, b"")
        elif self.src[self.pos + 1] == NEWLINE:
            self.pos += 2
        else:
            self.pos += 1
            self.literal(parts, self.pos + 1, b"\\")

    def single_quoted(self, parts: List[Part]) -> None:
        stop = self.src.find(b"'", self.pos + 1, self.end)
        if stop < 0:
            raise self.unclosed("'")
        self.pos += 1
        self.literal(parts, stop, b"'")
        self.pos += 1

    def unclosed(self, quote: str) -> Unreadable:
        """Return the exception for a quote that is never closed: bash then reads up to the end, and so do we."""
        self.pos = self.end
        return self.fail("no closing %s" % quote)

    def double_quoted(self, parts: List[Part]) -> None:
        self.pos += 1
        start, before = self.pos, len(parts)
        while self.pos < self.end:
            plain = IN_QUOTES.match(self.src, self.pos, self.end)
            if plain:
                self.literal(parts, plain.end(), b'"')
            elif self.src[self.pos] == QUOTE:
                if len(parts) == before:
                    parts.append(Literal(Span(start, start), b"", b'"'))
                self.pos += 1
                return
            else:
                self.expanded(parts, IN_DOUBLE_QUOTES_ESCAPED)
        raise self.unclosed('"')

    def expanded(self, parts: List[Part], escapes: bytes) -> None:
        """Read what a backslash, dollar or backquote begins in double quotes or a here-document."""
        byte = self.src[self.pos]
        if byte == DOLLAR:
            self.dollar(parts, True)
        elif byte == BACKQUOTE:
            self.backquoted(parts, True)
        elif self.continued():
            pass
        elif self.pos + 1 < self.end and self.src[self.pos + 1] in escapes:
            self.pos += 1
            self.literal(parts, self.pos + 1, b"\\")
        else:
            self.literal(parts, self.pos + 1, b'"')

    def ansi_quoted(self, parts: List[Part]) -> None:
        """Read `$'...'`; the cursor is on the dollar."""
        inside = IN_ANSI.match(self.src, self.pos + 2, self.end)
        stop = inside.end() if inside else self.end
        if stop >= self.end or self.src[stop] != APOSTROPHE:
            raise self.unclosed("'")
        span = Span(self.pos + 2, stop)
        parts.append(Literal(span, decoded(self.src[span.start : stop]), b"$'"))
        self.pos = stop + 1

    # --- substitutions --------------------------------------------------------------------------------------------

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

    # --- ${...} ---------------------------------------------------------------------------------------------------

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

    def words_of(self, word: Word) -> bytes:
        """Return the word as it stands in the source."""
        return self.src[word.span.start : word.span.end]

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


def is_bare(part: Part) -> bool:
    return isinstance(part, Literal) and part.quote == b""


CLOSING = frozenset((b")",))
NOTHING: "frozenset[bytes]" = frozenset()
