"""Words of a script: plain runs, quotes, process substitutions and patterns."""

from __future__ import annotations

import re
from typing import List, Optional, Pattern

from ..types.edits import Span
from .cursor import Cursor, Unreadable
from .nodes import Literal, Part, ProcessSub, Program, Word

# What ends a plain run everywhere: blanks, operators, and the bytes that quote or expand.
PLAIN = re.compile(rb"[^ \t\n|&;()<>$`\"'\\]+")
PLAIN_WORD = re.compile(rb"[^ \t\n|&;()<>$`\"'\\]+(?=[ \t\n|&;)]|\Z)")
IN_QUOTES = re.compile(rb"(?:[^\"\\$`]+|\\[^\"\\$`\n])+")
IN_PARENTHESES = re.compile(rb"[^()$`\"'\\]+")
IN_REGEX = re.compile(rb"[^ \t\n&;()<>$`\"'\\]+")
IN_ANSI = re.compile(rb"(?:[^'\\]+|\\.)*", re.DOTALL)


QUOTE, APOSTROPHE, BACKSLASH, DOLLAR, BACKQUOTE = b"\"'\\$`"
OPEN, CLOSE, LESS, GREATER, NEWLINE, BANG, HASH, COLON, SLASH = b"()<>\n!#:/"
OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE = b"[]{}"
IN_DOUBLE_QUOTES_ESCAPED = b'$`"\\'


class WordReader(Cursor):
    """Reads words. Each method takes the parts so far and appends to them."""

    __slots__ = ()

    def dollar(self, parts: List[Part], quoted: bool) -> None:
        """Read what a dollar begins; a dollar that begins nothing stands for itself."""
        raise NotImplementedError

    def backquoted(self, parts: List[Part], quoted: bool) -> None:
        """Read a command in backquotes."""
        raise NotImplementedError

    def substitution(self) -> Program:
        """Read commands up to, and with, a closing parenthesis."""
        raise NotImplementedError

    def words_of(self, word: Word) -> bytes:
        """Return the word as it stands in the source."""
        return self.src[word.span.start : word.span.end]

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


def is_bare(part: Part) -> bool:
    return isinstance(part, Literal) and part.quote == b""


# What `$'...'` stands for.

ESCAPE = re.compile(
    rb"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|c(.)|(.))", re.DOTALL
)
LETTERS = {
    b"a": b"\a", b"b": b"\b", b"e": b"\x1b", b"E": b"\x1b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t",
    b"v": b"\v", b"\\": b"\\", b"'": b"'", b'"': b'"', b"?": b"?",
}  # fmt: skip


def decoded(text: bytes) -> bytes:
    """Return the inside of `$'...'` with its escapes replaced."""
    return ESCAPE.sub(_byte, text)


def _byte(match: "re.Match[bytes]") -> bytes:
    octal, hexadecimal, short, long, control, other = match.groups()
    if octal:
        return bytes((int(octal, 8) & 0xFF,))
    if hexadecimal:
        return bytes((int(hexadecimal, 16),))
    if short or long:
        return _encoded(int(short or long, 16))
    if control:
        return bytes((control[0] & 0x1F,))
    return LETTERS.get(other, match.group())


def _encoded(point: int) -> bytes:
    return chr(point).encode("utf-8", "surrogatepass") if point <= 0x10FFFF else b"\xef\xbf\xbd"
