"""What a word becomes: bytes that remember where in the script they stand, with tokens for what only the job will know.

A token is written between NUL bytes, which no shell word can hold. Tokens compare by identity, which is just what the
plan needs: one random number drawn in the batch shell is the same for every task, a host name is not.

    host:3     short name of the job's node number 3      addr:3    an address of that node
    name:3     a name of that node, with or without its domain, as the scheduler writes it
    some:3     a name of one of the job's nodes, not known which
    nodelist   the compressed node list                    job       the job id
    nodefile   the path of the file with the nodes' names (PBS)
    same:...   one unknown value, the same wherever it appears
    task:...   one value per process, all different (a random number, a new uuid)
    vary:...   an unknown value of one process, that may or may not equal another's
"""

from __future__ import annotations

from typing import Iterable, NamedTuple, Optional, Sequence, Tuple

from .edits import Span

NUL = b"\0"
_UNKNOWN = (b"\0same:", b"\0task:", b"\0vary:")


class Piece(NamedTuple):
    """A run of bytes; *start* is the offset in the script where they stand one for one, -1 where they do not.

    *cover* is the span of the expansion (`$NAME`, `$( ... )`) that became this piece, where it was used last.
    """

    text: bytes
    start: int = -1
    cover: Optional[Span] = None


class Text(NamedTuple):
    """A value: pieces in order. *open* means unquoted unknown text that may split into any number of words."""

    pieces: Tuple[Piece, ...] = ()
    open: bool = False

    @property
    def raw(self) -> bytes:
        """The bytes, tokens included."""
        if len(self.pieces) == 1:
            return self.pieces[0].text
        return b"".join(piece.text for piece in self.pieces)

    @property
    def known(self) -> bool:
        """Whether no unknown value is inside (a host name or job id counts as known)."""
        return not self.open and not any(mark in piece.text for piece in self.pieces for mark in _UNKNOWN)

    @property
    def literal(self) -> bool:
        """Whether there is no token at all inside."""
        return not self.open and not any(NUL in piece.text for piece in self.pieces)

    def span(self, start: int = 0, end: Optional[int] = None) -> Optional[Span]:
        """Return the script bytes that bytes *start*:*end* of this text stand in one for one, or None."""
        if len(self.pieces) == 1:
            return self._span_of_one(start, end)
        size = sum(len(piece.text) for piece in self.pieces)
        end = size if end is None else end
        at = 0
        first = last = -1
        for piece in self.pieces:
            low, high = max(start, at), min(end, at + len(piece.text))
            if low < high or (start == end and at <= start <= at + len(piece.text)):
                if piece.start < 0:
                    return None
                begin = piece.start + low - at
                if last >= 0 and begin != last:
                    return None
                first = begin if first < 0 else first
                last = begin + max(high - low, 0)
                if start == end:
                    return Span(begin, begin)
            at += len(piece.text)
        return Span(first, last) if first >= 0 else None

    def _span_of_one(self, start: int, end: Optional[int]) -> Optional[Span]:
        """The usual case of `span`: one piece."""
        text, begin, _ = self.pieces[0]
        low, high = max(start, 0), len(text) if end is None else min(end, len(text))
        if begin < 0 or low > high or (low == high and start != (len(text) if end is None else end)):
            return None
        return Span(begin + low, begin + high)

    def written(self) -> Optional[Span]:
        """Return the script bytes that wrote this text where it is used, expansions as they were written, or None."""
        spans = [piece.cover or _stands(piece) for piece in self.pieces if piece.text or piece.cover]
        known = [span for span in spans if span is not None]
        if not known or len(known) < len(spans):
            return None
        for left, right in zip(known, known[1:]):
            if left.end != right.start:
                return None
        return Span(known[0].start, known[-1].end)

    def slice(self, start: int, end: Optional[int] = None) -> "Text":
        """Return bytes *start*:*end* of this text, origins kept."""
        if len(self.pieces) == 1 and self.pieces[0].text and start >= 0:
            return self._of_one(start, len(self.pieces[0].text) if end is None else end)
        out = []
        at = 0
        size = sum(len(piece.text) for piece in self.pieces)
        end = size if end is None else end
        for piece in self.pieces:
            low, high = max(start, at) - at, min(end, at + len(piece.text)) - at
            if low < high or (not piece.text and piece.cover and start <= at <= end):
                whole = high - low == len(piece.text)
                begin = piece.start + low if piece.start >= 0 else -1
                out.append(piece if whole else Piece(piece.text[low:high], begin))
            at += len(piece.text)
        return Text(tuple(out), self.open)

    def _of_one(self, start: int, end: int) -> "Text":
        """The usual case of `slice`: one piece."""
        piece = self.pieces[0]
        end = min(end, len(piece.text))
        if start == 0 and end == len(piece.text):
            return self
        if start >= end:
            return Text((), self.open)
        return Text((Piece(piece.text[start:end], piece.start + start if piece.start >= 0 else -1),), self.open)

    def covered(self, cover: Optional[Span]) -> "Text":
        """Return this text as what an expansion at *cover* became."""
        if cover is None or len(self.pieces) > 1:
            return self
        if not self.pieces:
            return Text((Piece(b"", -1, cover),), self.open)
        return Text((self.pieces[0]._replace(cover=cover),), self.open)


def _stands(piece: Piece) -> Optional[Span]:
    return Span(piece.start, piece.start + len(piece.text)) if piece.start >= 0 else None


EMPTY = Text()


def plain(text: bytes) -> Text:
    """Return a text that stands nowhere in the script."""
    return Text((Piece(text),)) if text else EMPTY


def join(texts: Iterable[Text]) -> Text:
    """Return the texts one behind the other."""
    pieces: list[Piece] = []
    opened = False
    for text in texts:
        opened = opened or text.open
        pieces.extend(text.pieces)
    return Text(tuple(pieces), opened)


def token(kind: bytes, name: bytes = b"") -> bytes:
    """Return the bytes of a token."""
    return NUL + kind + (b":" + name if name else b"") + NUL


def host(index: int) -> bytes:
    """Return the token of a node's short host name."""
    return token(b"host", b"%d" % index)


def node_name(index: int) -> bytes:
    """Return the token of a node's name as the scheduler writes it, with or without its domain."""
    return token(b"name", b"%d" % index)


def unknown(name: bytes) -> Text:
    """Return one unknown value; equal names are equal values."""
    return plain(token(b"same", name))


def number(text: Optional[Text]) -> Optional[int]:
    """Return the whole number that the text is, or None."""
    if text is None or not text.literal:
        return None
    raw = text.raw.strip()
    return int(raw) if raw.isdigit() and len(raw) < 10 else None


def as_clock(seconds: int) -> bytes:
    """Return seconds as both schedulers read them: HH:MM:SS."""
    return b"%02d:%02d:%02d" % (seconds // 3600, seconds // 60 % 60, seconds % 60)


def show(raw: bytes) -> str:
    """Return the bytes as people read them: tokens as <node 0>, <job id>, <unknown>."""
    out = []
    for index, part in enumerate(raw.split(NUL)):
        if index % 2 == 0:
            out.append(part.decode("utf-8", "backslashreplace"))
            continue
        kind, _, name = part.partition(b":")
        if kind in (b"host", b"addr", b"name"):
            out.append("<node %s>" % name.decode())
        elif kind == b"some":
            out.append("<a node>")
        elif kind == b"job":
            out.append("<job id>")
        elif kind == b"nodelist":
            out.append("<node list>")
        elif kind == b"nodefile":
            out.append("<node file>")
        elif kind == b"task":
            out.append("<differs by process>")
        else:
            out.append("<unknown>")
    return "".join(out)


def words(texts: Sequence[Text]) -> Tuple[bytes, ...]:
    """Return the bytes of several texts."""
    return tuple(text.raw for text in texts)
