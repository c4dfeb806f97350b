"""Words, commands and here-documents of a bash script, as byte spans: what `parsing.parse` makes of it."""

from __future__ import annotations

from typing import NamedTuple, Optional, Tuple, Union

from ..types.edits import Span

# --- parts of a word ------------------------------------------------------------------------------------------


class Literal(NamedTuple):
    """Text that stands for itself, quotes and backslashes removed.

    *span* covers just the bytes of *text* where they stand one for one in the script (quote characters are outside);
    a run broken by an escape becomes several literals. `$'...'` with escapes is the one case where lengths differ.
    *quote* is b"" (bare), b"'" , b'"', b"\\" or b"$'".
    """

    span: Span
    text: bytes
    quote: bytes


class Param(NamedTuple):
    """`$name`, `${name}`, `${name:-word}`, `${name[index]}`, `${#name}`, `${!name}` ...

    *name* is the bare name or special character (b"1", b"@", b"?"). *op* is b"" for a plain use, else the operator as
    written: b":-" b"-" b":=" b"=" b":?" b"?" b":+" b"+" b"#" b"##" b"%" b"%%" b"/" b"//" b"/#" b"/%" b":" (substring)
    b"^" b"^^" b"," b",," b"@" (transform); b"length" for `${#name}`, b"indirect" for `${!name}`,
    b"keys" for `${!name[@]}`.
    *arg* is the word behind the operator (for b"/" forms it is the pattern and *arg2* the replacement; for b":" the
    offset and length). *subscript* is the index word, where there is one (b"@" and b"*" included).
    """

    span: Span
    name: bytes
    op: bytes
    arg: Optional["Word"]
    arg2: Optional["Word"]
    subscript: Optional["Word"]
    quoted: bool


class CommandSub(NamedTuple):
    """`$( ... )` or backquotes. *body* is already parsed (spans in the same bytes; None: backquotes with escapes)."""

    span: Span
    body: Optional["Program"]
    quoted: bool


class Arith(NamedTuple):
    """`$(( ... ))` or `$[ ... ]`: *text* is the expression as a word (its parameters may be expanded first)."""

    span: Span
    text: "Word"
    quoted: bool


class ProcessSub(NamedTuple):
    """`<( ... )` or `>( ... )`; *direction* is b"<" or b">"."""

    span: Span
    direction: bytes
    body: Optional["Program"]


Part = Union[Literal, Param, CommandSub, Arith, ProcessSub]


class Word(NamedTuple):
    """One word: *span* from its first byte (an opening quote counts) to its last."""

    span: Span
    parts: Tuple[Part, ...]


# --- commands ---------------------------------------------------------------------------------------------------


class Assignment(NamedTuple):
    """`name=value`, `name+=value`, `name[index]=value` or `name=( words )` in front of, or as, a command."""

    span: Span
    name: bytes
    subscript: Optional[Word]
    append: bool
    value: Optional[Word]  # None for an array or for `name=` (empty: a Word without parts)
    array: Optional[Tuple[Word, ...]]


class HereDoc(NamedTuple):
    """The body of a here-document. *quoted*: the delimiter was quoted, nothing in the body is expanded."""

    span: Span  # of the body, first byte of the first line to the byte before the delimiter line
    delimiter: bytes
    quoted: bool
    strip_tabs: bool
    body: Word  # literals only when quoted
    closed: bool  # False: the file ended first


class Redirect(NamedTuple):
    """`2>file`, `>>file`, `<<EOF`, `<<<word`, `>&2`, `{fd}>file` ...; *op* is the operator's bytes."""

    span: Span
    fd: Optional[bytes]
    op: bytes
    target: Optional[Word]
    heredoc: Optional[HereDoc]


class Simple(NamedTuple):
    """A simple command."""

    span: Span
    assignments: Tuple[Assignment, ...]
    words: Tuple[Word, ...]
    redirects: Tuple[Redirect, ...]


class Pipeline(NamedTuple):
    """Two or more commands joined by `|` or `|&`, or one negated by `!`, or prefixed by `time`."""

    span: Span
    commands: Tuple["Command", ...]
    negated: bool


class AndOr(NamedTuple):
    """`a && b || c`: *operators* has one entry less than *commands*."""

    span: Span
    commands: Tuple["Command", ...]
    operators: Tuple[bytes, ...]


class Group(NamedTuple):
    """`{ ...; }` (*kind* b"{") or `( ... )` (*kind* b"(")."""

    span: Span
    kind: bytes
    body: "Program"
    redirects: Tuple[Redirect, ...]


class If(NamedTuple):
    span: Span
    branches: Tuple[Tuple["Program", "Program"], ...]  # (condition, body), elif included
    otherwise: Optional["Program"]
    redirects: Tuple[Redirect, ...]


class Loop(NamedTuple):
    """*kind*: b"for", b"select" (variable, words; words None means "$@"), b"cfor" (*header* holds the raw text),
    b"while", b"until" (*condition*)."""

    span: Span
    kind: bytes
    variable: bytes
    words: Optional[Tuple[Word, ...]]
    condition: Optional["Program"]
    header: bytes
    body: "Program"
    redirects: Tuple[Redirect, ...]


class Case(NamedTuple):
    span: Span
    word: Word
    arms: Tuple[Tuple[Tuple[Word, ...], "Program", bytes], ...]  # patterns, body, terminator b";;" b";&" b";;&"
    redirects: Tuple[Redirect, ...]


class Function(NamedTuple):
    span: Span
    name: bytes
    body: "Command"


class Test(NamedTuple):
    """`[[ ... ]]`: the words between, operators as bare literals."""

    span: Span
    words: Tuple[Word, ...]
    redirects: Tuple[Redirect, ...]


class ArithCommand(NamedTuple):
    """`(( ... ))`."""

    span: Span
    text: Word
    redirects: Tuple[Redirect, ...]


class Unread(NamedTuple):
    """Bytes that were not understood, and why."""

    span: Span
    why: str


Command = Union[Simple, Pipeline, AndOr, Group, If, Loop, Case, Function, Test, ArithCommand, Unread]


class Item(NamedTuple):
    """One command of a list, and whether `&` sends it to the background."""

    command: Command
    background: bool


class Program(NamedTuple):
    """A list of commands."""

    span: Span
    items: Tuple[Item, ...]


def unread(program: Program) -> Tuple[Unread, ...]:
    """Return every `Unread` anywhere inside *program*, substitutions and here-documents included, in order."""
    unread: list[Unread] = []
    waiting: list[object] = [program]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Unread):
            unread.append(node)
        elif isinstance(node, tuple) and not isinstance(node, (Span, Literal)):
            waiting.extend(node)
    return tuple(sorted(unread, key=lambda part: part.span))
