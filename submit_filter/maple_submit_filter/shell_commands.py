"""Commands of a script: simple and compound ones, lists, pipelines, functions."""

from __future__ import annotations

import re
from typing import Callable, Dict, FrozenSet, List, Optional, Tuple

from .edits import Span
from .shell import (
    AndOr,
    ArithCommand,
    Assignment,
    Case,
    Command,
    Function,
    Group,
    If,
    Item,
    Literal,
    Loop,
    Pipeline,
    Program,
    Redirect,
    Simple,
    Test,
    Unread,
    Word,
)
from .shell_cursor import Unreadable
from .shell_heredocs import HereDocReader
from .shell_words import CLOSE, NOTHING, OPEN, OPEN_BRACKET, is_bare

RESERVED = re.compile(
    rb"(?:if|then|elif|else|fi|for|while|until|do|done|case|esac|select|function|coproc|time|[{}!]|\[\[)"
    rb"(?=[ \t\n;|&()<>]|\\\n|\Z)"
)
TERMINATORS = frozenset((b"then", b"elif", b"else", b"fi", b"do", b"done", b"esac", b"}"))
ARM_END = re.compile(rb";;&|;;|;&")
JOINS = re.compile(rb"&&|\|\|")
PIPE = re.compile(rb"\|&|\|(?!\|)")
# An ordinary argument: no redirection, comment, quote or expansion, ended by a blank or an operator.
ARGUMENT = re.compile(rb"[ \t]+([A-Za-z_./:@%,+=\-][^ \t\n|&;()<>$`\"'\\]*)(?=[ \t\n|&;)]|\Z)")
ASSIGNED = re.compile(rb"([A-Za-z_][A-Za-z0-9_]*)(\+?=|\[)")
ARRAY_ASSIGNED = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*\+?=\(")
DECLARING = frozenset((b"declare", b"typeset", b"local", b"export", b"readonly", b"alias", b"eval"))
REDIRECT = re.compile(
    rb"(?:([0-9]+|\{[A-Za-z_][A-Za-z0-9_]*\})(?=[<>]))?(<<<|<<-|<<|<>|<&|>>|>&|>\||[<>](?!\())|(&>>|&>)"
)
NAME = re.compile(rb"[^ \t\n|&;()<>$`\"'\\]+")
FUNCTION_PARENTHESES = re.compile(rb"[ \t]*\([ \t]*\)")
TIME_OPTION = re.compile(rb"-p(?=[ \t\n;|&()<>]|\Z)|--(?=[ \t\n;|&()<>]|\Z)")
TEST_OPERATOR = re.compile(rb"&&|\|\||[()<>]")
PROCESS_SUBSTITUTION = re.compile(rb"[<>]\(")

FI = frozenset((b"elif", b"else", b"fi"))
ONLY = {word: frozenset((word,)) for word in (b"then", b"fi", b"do", b"done", b"}", b")")}
ARM_ENDS = frozenset((b";;", b"esac"))
NEWLINE, SEMICOLON, AMPERSAND, BAR = b"\n;&|"


class CommandReader(HereDocReader):
    """Reads commands. Behind each the cursor stands just behind its last byte, or on blanks that follow."""

    __slots__ = ()

    # --- lists ----------------------------------------------------------------------------------------------------

    def program(self, ends: FrozenSet[bytes]) -> Program:
        """Read commands up to one of *ends* (which is not read) or the end.

        Where a command cannot be read, the rest of its line is an `Unread`, and reading goes on behind; in a
        substitution the command around it is the one that cannot be read, for nobody knows where the substitution ends.
        """
        start = self.pos
        items: List[Item] = []
        self.deeper()
        state = (self.depth, self.inside, self.end, self.awaited)
        while True:
            begin = self.pos
            try:
                self.skip_lines()
                if self.pos >= self.end or self.ended(ends):
                    break
                begin = self.pos
                items.append(self.item())
            except Unreadable as error:
                if state[1]:
                    raise
                self.depth, self.inside, self.end, self.awaited = state
                self.pos = self.line_end(self.pos)
                if self.awaited and self.at(NEWLINE):  # the here-documents of the line are lost with it
                    self.newline()
                items.append(Item(Unread(Span(begin, self.pos), str(error)), False))
        self.depth -= 1
        return Program(Span(start, self.pos), tuple(items))

    def ended(self, ends: FrozenSet[bytes]) -> bool:
        """Return whether one of *ends* is at the cursor. Anything else that ends a list is an error."""
        byte = self.src[self.pos]
        if byte == CLOSE:
            found = b")"
        elif byte == SEMICOLON:
            found = b";;"
            if not ARM_END.match(self.src, self.pos, self.end):
                raise self.fail("nothing in front of ;")
        else:
            match = RESERVED.match(self.src, self.pos, self.end)
            if not match or match.group() not in TERMINATORS:
                return False
            found = match.group()
        if found not in ends:
            raise self.fail("%s without its beginning" % found.decode())
        return True

    def item(self) -> Item:
        """Read one command of a list and what separates it from the next."""
        command = self.and_or()
        self.skip_blanks()
        if self.pos >= self.end:
            return Item(command, False)
        byte = self.src[self.pos]
        if byte == AMPERSAND:
            self.pos += 1
            return Item(command, True)
        if byte == SEMICOLON and not ARM_END.match(self.src, self.pos, self.end):
            self.pos += 1
        elif byte not in (NEWLINE, SEMICOLON, CLOSE) and not self.at_terminator():
            raise self.fail("unexpected %s" % self.src[self.pos : self.pos + 1].decode("ascii", "backslashreplace"))
        return Item(command, False)

    def at_terminator(self) -> bool:
        match = RESERVED.match(self.src, self.pos, self.end)
        return match is not None and match.group() in TERMINATORS

    def and_or(self) -> Command:
        first = self.pipeline()
        commands, operators = [first], []
        while True:
            self.skip_blanks()
            joined = JOINS.match(self.src, self.pos, self.end)
            if not joined:
                break
            self.pos = joined.end()
            self.skip_lines()
            operators.append(joined.group())
            commands.append(self.pipeline())
        if not operators:
            return first
        return AndOr(Span(first.span.start, commands[-1].span.end), tuple(commands), tuple(operators))

    def pipeline(self) -> Command:
        start = self.pos
        prefixed, negated, stop = self.prefixes()
        if prefixed and (self.pos >= self.end or self.src[self.pos] in b"\n;&|)"):
            return Pipeline(Span(start, stop), (), negated)
        commands = [self.command()]
        while True:
            self.skip_blanks()
            piped = PIPE.match(self.src, self.pos, self.end)
            if not piped:
                break
            self.pos = piped.end()
            self.skip_lines()
            commands.append(self.command())
        if len(commands) == 1 and not prefixed:
            return commands[0]
        return Pipeline(Span(start, commands[-1].span.end), tuple(commands), negated)

    def prefixes(self) -> Tuple[bool, bool, int]:
        """Read `time` and `!`; return whether any was there, whether the pipeline is negated, and where they end."""
        prefixed, negated, stop = False, False, self.pos
        while self.pos < self.end and self.src[self.pos] in b"t!":
            match = RESERVED.match(self.src, self.pos, self.end)
            if not match or match.group() not in (b"time", b"!"):
                break
            prefixed, negated, stop = True, negated != (match.group() == b"!"), match.end()
            self.pos = stop
            self.skip_blanks()
            option = TIME_OPTION.match(self.src, self.pos, self.end) if match.group() == b"time" else None
            while option:
                self.pos = stop = option.end()
                self.skip_blanks()
                option = TIME_OPTION.match(self.src, self.pos, self.end)
        return prefixed, negated, stop

    def command(self) -> Command:
        if self.at(OPEN):
            return self.parenthesis()
        match = RESERVED.match(self.src, self.pos, self.end)
        if not match:
            return self.simple()
        reader = COMPOUND.get(match.group())
        if reader is None:
            raise self.fail("unexpected %s" % match.group().decode())
        start, self.pos = self.pos, match.end()
        return reader(self, start)

    # --- simple commands ------------------------------------------------------------------------------------------

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
        raise self.fail("no %s" % words[-1].decode())

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
                raise self.fail("case without esac" if self.pos >= self.end else "an arm of case without a pattern")
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


IN = re.compile(rb"in(?=[ \t\n;|&()<>]|\\\n|\Z)")
COPROCESS_NAME = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*[ \t]+(?=[({]|if |for |while |until |case |\[\[)")
COMPOUND: Dict[bytes, Callable[[CommandReader, int], Command]] = {
    b"{": CommandReader.braces,
    b"if": CommandReader.conditional,
    b"while": CommandReader.conditional_loop,
    b"until": CommandReader.conditional_loop,
    b"for": CommandReader.counted_loop,
    b"select": CommandReader.counted_loop,
    b"case": CommandReader.case,
    b"function": CommandReader.function,
    b"[[": CommandReader.test,
    b"coproc": CommandReader.coprocess,
}


def read(source: bytes, start: int, end: int) -> "Tuple[Program, CommandReader]":
    """Return the commands of a part of *source*, here-documents not yet attached, and the reader that read them."""
    reader = CommandReader(source, start, end)
    program = reader.program(NOTHING)
    for one in reader.awaited:
        reader.documents[one.at] = reader.document(one)
    return program._replace(span=Span(start, end)), reader
