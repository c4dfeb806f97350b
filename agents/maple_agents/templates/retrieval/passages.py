"""The piece of text that can be found, and what was found."""

from __future__ import annotations

import hashlib
from typing import NamedTuple


class Passage(NamedTuple):
    """A piece of text that can be found.

    *id* is unique in its index. *title* and *text* are what is searched; of a text beyond some 200 words MiniLM reads
    the beginning only, so long documents come as several passages. *kind* is the caller's own word for what it is,
    *source* shows people where it stands: a path, an address.
    """

    id: str
    title: str
    text: str
    kind: str
    source: str

    @property
    def whole(self) -> str:
        """Title and text in one, as they are embedded."""
        return "%s: %s" % (self.title, self.text) if self.title and self.text else self.title or self.text


class Rank(NamedTuple):
    """The place (1 is the first) of a passage in one ranking, and the value that it got there.

    *by* is "words" (value: BM25, larger is better, unbounded) or "meaning" (value: cosine, -1 to 1).
    """

    by: str
    place: int
    value: float


class Hit(NamedTuple):
    """A passage that was found. *score*: how sure it is that it fits, 0 to 1; *ranks*: where it stood, and why."""

    passage: Passage
    score: float
    ranks: tuple[Rank, ...]

    def value(self, by: str) -> float:
        """Return what the ranking *by* gave to it, 0 where it does not stand in that one."""
        return next((rank.value for rank in self.ranks if rank.by == by), 0.0)


def digest(text: str) -> bytes:
    """Return the hash that names a text, 32 bytes. Lone surrogates, as in undecodable file names, are no error."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
