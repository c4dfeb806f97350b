"""Compound commands and functions."""

from __future__ import annotations

import re
from typing import List, Optional, Tuple

from ..types.edits import Span
from .nodes import (
    ArithCommand,
    Case,
    Command,
    Function,
    Group,
    If,
    Literal,
    Loop,
    Program,
    Simple,
    Test,
    Unread,
    Word,
)
from .simple import SimpleReader
from .words import CLOSE, OPEN, is_bare

RESERVED = re.compile(
    rb"(?:if|then|elif|else|fi|for|while|until|do|done|case|esac|select|function|coproc|time|[{}!]|\[\[)"
    rb"(?=[ \t\n;|&()<>]|\\\n|\Z)"
)
ARM_END = re.compile(rb";;&|;;|;&")
NAME = re.compile(rb"[^ \t\n|&;()<>$`\"'\\]+")
FUNCTION_PARENTHESES = re.compile(rb"[ \t]*\([ \t]*\)")
TEST_OPERATOR = re.compile(rb"&&|\|\||[()<>]")
PROCESS_SUBSTITUTION = re.compile(rb"[<>]\(")
IN = re.compile(rb"in(?=[ \t\n;|&()<>]|\\\n|\Z)")
COPROCESS_NAME = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*[ \t]+(?=[({]|if |for |while |until |case |\[\[)")
FI = frozenset((b"elif", b"else", b"fi"))
ONLY = {word: frozenset((word,)) for word in (b"then", b"fi", b"do", b"done", b"}", b")")}
ARM_ENDS = frozenset((b";;", b"esac"))
SEMICOLON, BAR = b";|"
# What a command lacks whose word does not come; people read it behind the line in which it begins.
UNENDED = {
    b"then": "an if without then", b"fi": "an if without fi",
    b"do": "a loop without do", b"done": "a loop without done",
    b"esac": "a case without esac", b"}": "a { without }",
}  # fmt: skip


class CompoundReader(SimpleReader):
    """Reads compound commands; the reserved word that begins one has been read."""

    __slots__ = ()

    def command(self) -> Command:
        """Read one command."""
        raise NotImplementedError

    # --- functions ------------------------------------------------------------------------------------------------

    def function_named(self, start: int, name: Word) -> Function:
        """Read `name() body`; the cursor is on the parenthesis."""
        match = FUNCTION_PARENTHESES.match(self.src, self.pos, self.end)
        if not match or not all(is_bare(part) for part in name.parts):
            raise self.fail("unexpected (")
        self.pos = match.end()
        return self.function_body(start, self.words_of(name))

    def function(self, start: int) -> Function:
        """Read `function name [()] body`."""
        self.skip_blanks()
        name = NAME.match(self.src, self.pos, self.end)
        if not name:
            raise self.fail("a function without a name")
        self.pos = name.end()
        match = FUNCTION_PARENTHESES.match(self.src, self.pos, self.end)
        self.pos = match.end() if match else self.pos
        return self.function_body(start, name.group())

    def function_body(self, start: int, name: bytes) -> Function:
        self.skip_lines()
        self.deeper()
        body = self.command()
        self.depth -= 1
        if isinstance(body, (Simple, Function)):
            raise self.fail("a function whose body is no compound command")
        return Function(Span(start, body.span.end), name, body)

    # --- compound commands ----------------------------------------------------------------------------------------

    def keyword(self, *words: bytes) -> bytes:
        """Read one of *words*, or fail: the script ends, or something else ends the list."""
        match = RESERVED.match(self.src, self.pos, self.end)
        if match and match.group() in words:
            self.pos = match.end()
            return match.group()
        raise self.fail(UNENDED[words[-1]])

    def parenthesis(self) -> Command:
        """Read `(( ... ))` or `( ... )`."""
        start = self.pos
        text = self.arithmetic(start)
        if text is not None:
            redirects, stop = self.redirects()
            return ArithCommand(Span(start, stop), text, redirects)
        self.pos = start + 1
        body = self.program(ONLY[b")"])
        if not self.at(CLOSE):
            raise self.fail("no closing )")
        self.pos += 1
        redirects, stop = self.redirects()
        return Group(Span(start, stop), b"(", body, redirects)

    def braces(self, start: int) -> Command:
        body = self.program(ONLY[b"}"])
        self.keyword(b"}")
        redirects, stop = self.redirects()
        return Group(Span(start, stop), b"{", body, redirects)

    def conditional(self, start: int) -> Command:
        branches: List[Tuple[Program, Program]] = []
        otherwise: Optional[Program] = None
        word = b"elif"
        while word == b"elif":
            condition = self.program(ONLY[b"then"])
            self.keyword(b"then")
            branches.append((condition, self.program(FI)))
            word = self.keyword(b"elif", b"else", b"fi")
        if word == b"else":
            otherwise = self.program(ONLY[b"fi"])
            self.keyword(b"fi")
        redirects, stop = self.redirects()
        return If(Span(start, stop), tuple(branches), otherwise, redirects)

    def conditional_loop(self, start: int) -> Command:
        kind = self.src[start : self.pos]
        condition = self.program(ONLY[b"do"])
        self.keyword(b"do")
        body = self.program(ONLY[b"done"])
        self.keyword(b"done")
        redirects, stop = self.redirects()
        return Loop(Span(start, stop), kind, b"", None, condition, b"", body, redirects)

    def counted_loop(self, start: int) -> Command:
        """Read `for` or `select` with a name, or `for (( ; ; ))`."""
        kind = self.src[start : self.pos]
        self.skip_blanks()
        words: Optional[Tuple[Word, ...]] = None
        header = name = b""
        text = self.arithmetic(self.pos) if kind == b"for" and self.at(OPEN) else None
        if text is not None:
            kind, header = b"cfor", self.words_of(text)
        else:
            match = NAME.match(self.src, self.pos, self.end)
            if not match:
                raise self.fail("%s without a name" % kind.decode())
            name, self.pos = match.group(), match.end()
            words = self.loop_words()
        self.skip_blanks()
        self.pos += 1 if self.at(SEMICOLON) else 0
        self.skip_lines()
        body = self.loop_body()
        redirects, stop = self.redirects()
        return Loop(Span(start, stop), kind, name, words, None, header, body, redirects)

    def loop_words(self) -> Optional[Tuple[Word, ...]]:
        """Read `in words`; None if there is no `in`."""
        self.skip_blanks()
        if self.at(SEMICOLON):
            return None
        self.skip_lines()
        if not IN.match(self.src, self.pos, self.end):
            return None
        self.pos += 2
        words: List[Word] = []
        while True:
            self.skip_blanks()
            word = self.word()
            if word is None:
                return tuple(words)
            words.append(word)

    def loop_body(self) -> Program:
        opening = self.keyword(b"{", b"do")
        closing = b"done" if opening == b"do" else b"}"
        body = self.program(ONLY[closing])
        self.keyword(closing)
        return body

    def case(self, start: int) -> Command:
        self.skip_blanks()
        word = self.word()
        if word is None:
            raise self.fail("case without a word")
        self.skip_lines()
        if not IN.match(self.src, self.pos, self.end):
            raise self.fail("case without in")
        self.pos += 2
        arms: List[Tuple[Tuple[Word, ...], Program, bytes]] = []
        self.skip_lines()
        while not self.at_esac():
            arms.append(self.arm())
            self.skip_lines()
        self.keyword(b"esac")
        redirects, stop = self.redirects()
        return Case(Span(start, stop), word, tuple(arms), redirects)

    def at_esac(self) -> bool:
        match = RESERVED.match(self.src, self.pos, self.end)
        return match is not None and match.group() == b"esac"

    def arm(self) -> Tuple[Tuple[Word, ...], Program, bytes]:
        """Read `pattern | pattern ) commands ;;`."""
        self.pos += 1 if self.at(OPEN) else 0
        patterns: List[Word] = []
        while True:
            self.skip_blanks()
            pattern = self.word()
            if pattern is None:
                raise self.fail(UNENDED[b"esac"] if self.pos >= self.end else "an arm of case without a pattern")
            patterns.append(pattern)
            self.skip_blanks()
            if not self.at(BAR):
                break
            self.pos += 1
        if not self.at(CLOSE):
            raise self.fail("a pattern of case without )")
        self.pos += 1
        body = self.program(ARM_ENDS)
        ending = ARM_END.match(self.src, self.pos, self.end)
        self.pos = ending.end() if ending else self.pos
        return tuple(patterns), body, ending.group() if ending else b";;"

    def test(self, start: int) -> Command:
        """Read `[[ ... ]]`; its operators are bare literals."""
        words: List[Word] = []
        self.deeper()
        regex = False
        while True:
            self.skip_lines()
            word = self.test_word(regex)
            if word is None:
                raise self.fail("no closing ]]")
            text = self.words_of(word)
            if text == b"]]":
                break
            words.append(word)
            regex = text == b"=~"
        self.depth -= 1
        redirects, stop = self.redirects()
        return Test(Span(start, stop), tuple(words), redirects)

    def test_word(self, regex: bool) -> Optional[Word]:
        if regex:
            return self.rest_of_word(self.pos, [], regex=True)
        operator = TEST_OPERATOR.match(self.src, self.pos, self.end)
        if not operator or PROCESS_SUBSTITUTION.match(self.src, self.pos, self.end):
            return self.word()
        span = Span(*operator.span())
        self.pos = span.end
        return Word(span, (Literal(span, operator.group(), b""),))

    def coprocess(self, start: int) -> Command:
        """Read a coprocess, which nobody here follows."""
        self.skip_blanks()
        name = COPROCESS_NAME.match(self.src, self.pos, self.end)
        self.pos = name.end() if name else self.pos
        command = self.command()
        return Unread(Span(start, command.span.end), "coproc is not followed")
