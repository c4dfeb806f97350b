"""Reads a bash script: its words, commands and here-documents, as byte spans.

`parse` never raises on any bytes: what it cannot read becomes an `Unread` with the reason, and reading goes on where
that is possible. Spans count in the bytes that were given to `parse`.
"""

from __future__ import annotations

import gc
import re
from typing import Callable, Dict, FrozenSet, List, Optional, Tuple

from ..types.edits import Span
from .compound import ARM_END, RESERVED, CompoundReader
from .cursor import Unreadable
from .nodes import AndOr, Command, HereDoc, Item, Pipeline, Program, Unread
from .parameters import NOTHING
from .rereading import LEAST, MOST, Cut, Items, Known, Reuse, items_of, recall, remember, reusable
from .simple import attach
from .words import CLOSE, OPEN


def parse(source: bytes, start: int = 0, end: Optional[int] = None) -> Program:
    """Return the commands in *source*[start:end]; spans count in *source*.

    Never raises: a construct that cannot be read is an `Unread` item. Time is linear in the length of the source.
    """
    if start == 0 and end is None and LEAST <= len(source) <= MOST:
        known = recall(source)
        return known.program if known is not None else _parsed(source, 0, len(source))
    stop = len(source) if end is None else min(max(end, 0), len(source))
    return _parsed(source, min(max(start, 0), stop), stop)


def _parsed(source: bytes, begin: int, stop: int) -> Program:
    collecting = gc.isenabled()
    gc.disable()  # a tree has no cycles, and looking for some in it again and again takes more time than reading
    try:
        program, reader = read(source, begin, stop)
        program = _with(reader.documents, program)
        if not reader.failures and begin == 0 and LEAST <= stop == len(source) <= MOST:
            remember(Known(source, program, tuple(reader.cuts)))
        return program
    except RecursionError:  # only where the caller itself stands close to the limit
        whole = Span(begin, stop)
        return Program(whole, (Item(Unread(whole, "nested too deeply"), False),))
    finally:
        if collecting:
            gc.enable()


def _with(documents: Dict[int, HereDoc], program: Program) -> Program:
    """Return a program with its here-documents; what was taken over has its own."""
    items = program.items
    if isinstance(items, Items):
        made = [attach(item, documents) if type(item) is Item else item for item in items.all]
        return program._replace(items=Items(made))
    attached: Program = attach(program, documents)
    return attached


# Lists of commands: what separates, joins and ends them, and how reading goes on behind an error.

TERMINATORS = frozenset((b"then", b"elif", b"else", b"fi", b"do", b"done", b"esac", b"}"))
JOINS = re.compile(rb"&&|\|\|")
PIPE = re.compile(rb"\|&|\|(?!\|)")
TIME_OPTION = re.compile(rb"-p(?=[ \t\n;|&()<>]|\Z)|--(?=[ \t\n;|&()<>]|\Z)")
NEWLINE, SEMICOLON, AMPERSAND = b"\n;&"


class CommandReader(CompoundReader):
    """Reads commands. Behind each the cursor stands just behind its last byte, or on blanks that follow."""

    __slots__ = ("cuts", "reuse")

    def __init__(self, source: bytes, start: int, end: int, reuse: Optional[Reuse] = None) -> None:
        super().__init__(source, start, end)
        self.reuse = reuse
        self.cuts: List[Cut] = []

    def taken_over(self, items: List[Item]) -> bool:
        """At the top level: return whether what comes was read before, and then add it to *items*."""
        if self.awaited:
            return False
        if self.reuse is None or self.failures or self.pos not in self.reuse.begins:
            self.cuts.append((self.pos, len(items)))
            return False
        self.pos = self.reuse.take(self.pos, items, self.cuts)
        return True

    def program(self, ends: FrozenSet[bytes]) -> Program:
        """Read commands up to one of *ends* (which is not read) or the end.

        Where a command cannot be read, the rest of its line is an `Unread`, and reading goes on behind; in a
        substitution the command around it is the one that cannot be read, for nobody knows where the substitution ends.
        """
        start = self.pos
        self.deeper()
        top = self.depth == 1 and not self.inside
        items: List[Item] = []
        state = (self.depth, self.inside, self.end, self.awaited)
        while True:
            begin = self.pos
            try:
                self.skip_lines()
                if self.pos >= self.end or self.ended(ends):
                    break
                if top and self.taken_over(items):
                    continue
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
        return Program(Span(start, self.pos), items_of(items) if top else tuple(items))

    def ended(self, ends: FrozenSet[bytes]) -> bool:
        """Return whether one of *ends* is at the cursor. Anything else that ends a list is an error."""
        byte = self.src[self.pos]
        if byte == CLOSE:
            closer = b")"
        elif byte == SEMICOLON:
            closer = b";;"
            if not ARM_END.match(self.src, self.pos, self.end):
                raise self.fail("nothing in front of ;")
        else:
            match = RESERVED.match(self.src, self.pos, self.end)
            if not match or match.group() not in TERMINATORS:
                return False
            closer = match.group()
        if closer not in ends:
            raise self.fail("%s without its beginning" % closer.decode())
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
    whole = start == 0 and LEAST <= end == len(source) <= MOST
    reader = CommandReader(source, start, end, reusable(source) if whole else None)
    program = reader.program(NOTHING)
    for awaited in reader.awaited:
        reader.documents[awaited.at] = reader.document(awaited)
    return program._replace(span=Span(start, end)), reader
