"""Places in a script, and changes to them. A change names a span of bytes and leaves every other byte alone."""

from __future__ import annotations

from typing import NamedTuple, Sequence


class Span(NamedTuple):
    """Bytes *start* up to, not including, *end* of the script as it was submitted."""

    start: int
    end: int


class Safety:
    """How far a fix may go by itself: SAFE is applied, ASK is offered, TELL is only said."""

    SAFE = "safe"
    ASK = "ask"
    TELL = "tell"


class Edit(NamedTuple):
    """New bytes for a span of the script, and why: a rule code, template revision or site key."""

    span: Span
    new: bytes
    because: str


class ArgvEdit(NamedTuple):
    """New words for one word of the submit command's argv (position counts in the whole argv, 0 is the command)."""

    position: int
    new: tuple[bytes, ...]
    because: str


class Fix(NamedTuple):
    """Edits that belong together: made all, or none. *harmless*: a script that is right runs the same with them."""

    edits: tuple[Edit, ...]
    safety: str
    says: str
    argv_edits: tuple[ArgvEdit, ...] = ()
    harmless: bool = False


class Conflict(ValueError):
    """Two edits want the same bytes."""


def in_order(edits: Sequence[Edit]) -> list[tuple[Span, bytes]]:
    """Return the spans and new bytes of *edits*, each once, as they follow each other in the script."""
    return sorted(dict.fromkeys((edit.span, edit.new) for edit in edits), key=lambda change: change[0])


def apply(source: bytes, edits: Sequence[Edit]) -> bytes:
    """Return *source* with *edits* made and every other byte as it was.

    Spans count in *source* itself, so the order of *edits* does not matter; an overlap raises `Conflict`.
    Two insertions at one place are made in the order given. The same edit given twice is made once.
    """
    out: list[bytes] = []
    at = 0
    for span, new in in_order(edits):
        if span.start < at or not 0 <= span.start <= span.end <= len(source):
            raise Conflict("edits overlap at byte %d" % span.start)
        out.append(source[at : span.start])
        out.append(new)
        at = span.end
    out.append(source[at:])
    return b"".join(out)


def written(edits: Sequence[Edit]) -> list[Span]:
    """Return where the new bytes of *edits* stand once `apply` has made them."""
    spans: list[Span] = []
    moved = 0
    for span, new in in_order(edits):
        spans.append(Span(span.start + moved, span.start + moved + len(new)))
        moved += len(new) - (span.end - span.start)
    return spans


def apply_argv(argv: Sequence[bytes], edits: Sequence[ArgvEdit]) -> tuple[bytes, ...]:
    """Return *argv* with the named words replaced; two edits of one word raise `Conflict`."""
    by_index: dict[int, tuple[bytes, ...]] = {}
    for edit in edits:
        if by_index.setdefault(edit.position, edit.new) != edit.new:
            raise Conflict("two edits of argv word %d" % edit.position)
    return tuple(word for index, old in enumerate(argv) for word in by_index.get(index, (old,)))
