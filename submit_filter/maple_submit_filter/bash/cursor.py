"""A place in a script, and what stands between words: blanks, continued lines, comments, newlines."""

from __future__ import annotations

import re
from typing import Dict, List, NamedTuple, Set

from .nodes import HereDoc

BLANKS = re.compile(rb"(?:[ \t]+|\\\n)*(?:#[^\n]*)?")
LINES = re.compile(rb"(?:[ \t\n]+|\\\n|#[^\n]*)*")
NEWLINE = 10

# Each level takes at most a dozen Python frames, so this many levels stay well within Python's own limit.
DEEPEST = 55


class Unreadable(Exception):
    """The bytes at the cursor are not what bash takes there (or nothing that is understood here)."""


class Awaited(NamedTuple):
    """A here-document whose body begins behind the next newline. *at*: offset of the redirection that asked for it."""

    at: int
    delimiter: bytes
    quoted: bool
    strip_tabs: bool


class Cursor:
    """Where reading stands. *end* is where it must stop; *awaited* are the here-documents of the line so far."""

    __slots__ = (
        "src",
        "pos",
        "end",
        "depth",
        "inside",
        "awaited",
        "documents",
        "not_arithmetic",
        "read_twice",
        "failures",
    )

    def __init__(self, source: bytes, start: int, end: int) -> None:
        self.src = source
        self.pos = start
        self.end = end
        self.depth = 0
        self.inside = 0  # how many substitutions we are in
        self.awaited: List[Awaited] = []
        self.documents: Dict[int, HereDoc] = {}
        self.not_arithmetic: Set[int] = set()  # places of `((` that turned out to be two subshells
        self.read_twice = 0  # how many bytes were read as arithmetic in vain

        self.failures = 0  # how often something could not be read in one way, whether or not in another

    def fail(self, why: str) -> Unreadable:
        """Return the exception to raise."""
        self.failures += 1
        return Unreadable(why)

    def at(self, byte: int) -> bool:
        """Return whether the byte at the cursor is *byte*."""
        return self.pos < self.end and self.src[self.pos] == byte

    def deeper(self) -> None:
        """Note one level of nesting more."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.fail("nested too deeply")

    def skip_blanks(self) -> None:
        """Move over blanks, continued lines and a comment. Only called where a word may begin."""
        match = BLANKS.match(self.src, self.pos, self.end)
        if match:
            self.pos = match.end()

    def skip_lines(self) -> None:
        """Move over blanks, comments and newlines."""
        if not self.awaited:
            match = LINES.match(self.src, self.pos, self.end)
            self.pos = match.end() if match else self.pos
            return
        self.skip_blanks()
        while self.at(NEWLINE):
            self.newline()
            self.skip_blanks()

    def line_end(self, pos: int) -> int:
        """Return the offset of the next newline, or of the end."""
        newline = self.src.find(b"\n", pos, self.end)
        return self.end if newline < 0 else newline

    def newline(self) -> None:
        """Move over the newline at the cursor, and over the here-documents that begin behind it."""
        self.pos += 1
        if self.awaited:
            waiting = tuple(self.awaited)
            self.awaited.clear()  # in place: who goes back to this list after an error must not find them again
            for awaited in waiting:
                self.documents[awaited.at] = self.document(awaited)

    def document(self, awaited: Awaited) -> HereDoc:
        """Read the here-document whose body begins at the cursor."""
        raise NotImplementedError
