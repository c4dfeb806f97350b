"""The piece of text that can be found, and what was found.

What turns texts into vectors: one Protocol, and the error of one that cannot.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]


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


class Unavailable(RuntimeError):
    """There is no embedder: a library or its weights are missing or wrong. One line that says which, and what to do."""


class Embedder(Protocol):
    """Texts to vectors whose scalar product is how alike the texts are."""

    @property
    def name(self) -> str:
        """What made the vectors: embedders of one name give the same vector for the same text. Loads nothing."""

    def vectors(self, texts: Sequence[str]) -> Floats:
        """Return a row of unit length for each text: float32, (len(texts), 384) for MiniLM. Raises `Unavailable`."""
