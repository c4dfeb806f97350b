"""Where bytes of a script stand in another that has the same lines, but for some that were changed."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, List, NamedTuple, Optional, Tuple

from ...types.edits import Span
from ...types.launch_plan import Noted
from ...types.text import Piece, Text


class Displaced(Exception):
    """A place has no counterpart: its line was changed."""


class Displacement(NamedTuple):
    """*starts*: of the parts of the *old* script; *by*: how far each stands from there now, None for changed lines."""

    old: Text
    new: Text
    starts: Tuple[int, ...]
    by: Tuple[Optional[int], ...]
    changed: bytes  # all lines that were changed, as they were and as they are
    size: int

    def shift(self, start: int, end: int) -> int:
        """Return how far bytes stand from where they stood. Raises `Displaced`."""
        part = bisect_right(self.starts, start) - 1
        by = self.by[part]
        if by is None or (end > start + 1 and bisect_right(self.starts, end - 1) - 1 != part):
            raise Displaced
        return by

    def mentioned_otherwise(self, name: bytes) -> bool:
        """Return whether a name stands in one of the scripts alone."""
        return name in self.changed and (name in self.old.raw) != (name in self.new.raw)

    def span(self, span: Span) -> Span:
        """Return where a span stands now. Raises `Displaced`."""
        by = self.shift(span.start, span.end)
        return Span(span.start + by, span.end + by) if by else span

    def text(self, text: Text) -> Text:
        """Return a text with the places of its pieces as they are now. Raises `Displaced`."""
        if text is self.old:
            return self.new
        pieces = tuple([self._piece(piece) for piece in text.pieces])
        return text if pieces == text.pieces else Text(pieces, text.open)

    def _piece(self, piece: Piece) -> Piece:
        text, start, cover = piece
        if start < 0 and cover is None:
            return piece
        begin = start + self.shift(start, start + len(text)) if start >= 0 else start
        return Piece(text, begin, self.span(cover) if cover is not None else None)

    def noted(self, use: Noted) -> Noted:
        """Return a use as it is noted now. Raises `Displaced`."""
        text, start = use[:2]
        if text is self.old:
            return (self.new, start + self.shift(start, start + 1), *use[2:])
        return (self.text(text), start, *use[2:])

    def value(self, value: Any) -> Any:
        """Return what is made of texts, spans and other values as it stands now. Raises `Displaced`."""
        kind = type(value)
        if kind is Text:
            return self.text(value)
        if kind is Span:
            return self.span(value)
        if kind in (list, tuple):
            return kind([self.value(inner) for inner in value])
        if kind is dict:
            return {key: self.value(inner) for key, inner in value.items()}
        if isinstance(value, tuple):
            return tuple.__new__(kind, [self.value(inner) for inner in value])
        return value


def displacement(old: Text, new: Text) -> Optional[Displacement]:
    """Return how lines of one script stand in another, None where these have another number of lines."""
    was, now = old.raw.split(b"\n"), new.raw.split(b"\n")
    if len(was) != len(now):
        return None
    starts: List[int] = []
    by: List[Optional[int]] = []
    changed: List[bytes] = []
    at, shift = 0, 0
    for before, after in zip(was, now):
        here = shift if before == after else None
        changed += [before, after] if here is None else []
        if not by or by[-1] != here:
            starts.append(at)
            by.append(here)
        at += len(before) + 1
        shift += len(after) - len(before)
    return Displacement(old, new, tuple(starts), tuple(by), b"\n".join(changed), len(old.raw))
