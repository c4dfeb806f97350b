"""Where a line may be put into a batch script: on its own, in front of what starts the processes.

A line of its own moves the numbers of the lines behind it by one. A submission that Maple repairs unasked never does
that; this copy is for its user to read, and there a clear line says more than a word squeezed into another one. In
front of the first launch and not at the top, because what the script sets before, by itself, by modules or by files
that it sources, is then overruled.

The comment that ends a submitted copy tells of that submission; in a new copy it would tell a lie.

The plain words of a script's commands, wherever they stand, with the bytes that write them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from maple_submit_filter.bash.nodes import Literal, Word
from maple_submit_filter.bash.parser import parse
from maple_submit_filter.types.edits import Edit, Span

from ....request.script.walk import FoundCommand, simple_commands
from ..registry import Given

_SHELLS = (b"bash", b"sh", b"dash", b"zsh", b"ksh")
_COMMAND = re.compile(rb"-[a-z]*c\Z")

_FOOTER = re.compile(rb"# maple: repaired \([^\n]*\); record [^\n]*; original sha256 [0-9a-f]+; MAPLE=off [^\n]*\n?\Z")
_BESIDE = re.compile(  # a --wrap command, of one line
    rb"(\S) # maple: repaired \([^\n()]*\); record [0-9a-f]{16}; original sha256 [0-9a-f]{64};"
    rb" MAPLE=off sbatch \.\.\. submits as written(\n?)\Z"
)

_COMMENT = re.compile(rb"[ \t]*(#[^\n]*)?(\r?\n|\Z)")
_OURS = re.compile(rb"[ \t]*#[ \t]*maple:")  # silences the line below, so it stays there
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def line(given: Given, text: bytes, because: str) -> Edit | None:
    """Return the edit that puts a line in front of the first launch, else in front of the first command.

    None where there is no command, the script is for no shell like bash, or the very line is there already. No
    directive comes behind a command by it.
    """
    source = given.job.source
    at = place(given)
    if at is None or text in (part.strip() for part in source.split(b"\n")):
        return None
    return Edit(Span(at, at), text + newline(source), because)


def place(given: Given) -> int | None:
    """Return the start of the line to put another one before, None where there is none."""
    source, starts = given.job.source, [step.span.start for step in given.plan.steps]
    top = before_commands(source)
    if not given.job.script.is_shell or top >= len(source):
        return None
    at = _line_of_entry(source, min(starts)) if starts else top
    return max(top, at)


def _line_of_entry(source: bytes, offset: int) -> int:
    """Return the start of the line on which the script's own entry around *offset* begins, with no other before it.

    A function, a loop or a branch is one entry: what is exported in front of it holds inside.
    """
    entries = [item.command.span for item in parse(source).items]
    begun = [span.start for span in entries if span.start <= offset]
    for start in reversed(begun):
        at = source.rfind(b"\n", 0, start) + 1
        continued = source[:at].endswith((b"\\\n", b"\\\r\n"))
        if not source[at:start].strip() and not continued:
            return _above_notes(source, at)
    return 0


def _above_notes(source: bytes, at: int) -> int:
    while at > 0:
        before = source.rfind(b"\n", 0, at - 1) + 1
        if not _OURS.match(source, before):
            break
        at = before
    return at


def before_commands(source: bytes) -> int:
    """Return the offset of the first line that is neither blank nor a comment: all directives stand before it."""
    at = 0
    while at < len(source):
        blank = _COMMENT.match(source, at)
        if blank is None or blank.end() == at:
            break
        at = blank.end()
    return at


def newline(source: bytes) -> bytes:
    """Return how the lines of a script end."""
    return b"\r\n" if source.count(b"\r\n") * 2 > source.count(b"\n") else b"\n"


def is_name(text: str) -> bool:
    """Return whether *text* can be a variable's name."""
    return _NAME.match(text) is not None


def without_footer(script: bytes) -> bytes:
    """Return a script without the comment that Maple put behind its last line."""
    match = _FOOTER.search(script)
    if match is None or script[: match.start()].rpartition(b"\n")[2]:
        return _BESIDE.sub(rb"\1\2", script)
    return script[: match.start()]


class PlainWord(NamedTuple):
    """A word without expansions that stands one for one in the script. *nth*: its place in its command, 0 is the name.

    *command*: the span of its command. *text*: quotes removed; *span*: its bytes without quotes.
    """

    text: str
    span: Span
    nth: int
    command: Span


def plain_words(source: bytes) -> list[PlainWord]:
    """Return the plain words of every command, and of every text that `bash -c` is given; a command's in order."""
    commands = simple_commands(source)
    for text in [text for command in commands for text in _texts(command, source)]:
        commands += simple_commands(source, *text)
    words = {each.span: each for command in commands for each in _of(command, source)}
    return sorted(words.values(), key=lambda plain_word: (plain_word.command, plain_word.nth))


def _texts(place: FoundCommand, source: bytes) -> Iterator[Span]:
    """Yield where the texts stand that a shell among the command's words reads: the word behind `-c`."""
    words = [source[slice(*word.span)] for word in place.command.words]
    shells = [at for at, word in enumerate(words) if word.rpartition(b"/")[2] in _SHELLS]
    for at in range(shells[0] + 2 if shells else len(words), len(words)):
        if _COMMAND.match(words[at - 1]) and words[at][:1] in (b"'", b'"') and words[at][-1:] == words[at][:1]:
            span = place.command.words[at].span
            yield Span(span.start + 1, span.end - 1)


def _of(place: FoundCommand, source: bytes) -> list[PlainWord]:
    out = []
    for index, word in enumerate(place.command.words):
        span = _whole(word)
        if span is None:
            continue
        text = source[slice(*span)]
        if text.isascii():
            out.append(PlainWord(text.decode(), span, index, place.command.span))
    return out


def _whole(word: Word) -> Span | None:
    """Return where a word of one literal stands, None for any other."""
    if len(word.parts) != 1 or not isinstance(word.parts[0], Literal) or word.parts[0].quote == b"\\":
        return None
    span = word.parts[0].span
    return span if span.end - span.start == len(word.parts[0].text) else None
