"""What turns texts into vectors: one Protocol, and the error of one that cannot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # numpy comes with the `search` extra; without vectors nobody needs it
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]


class Unavailable(RuntimeError):
    """There is no embedder: a library or its weights are missing or wrong. One line that says which, and what to do."""


class Embedder(Protocol):
    """Texts to vectors whose scalar product is how alike the texts are."""

    @property
    def name(self) -> str:
        """What made the vectors: embedders of one name give the same vector for the same text. Loads nothing."""

    def vectors(self, texts: Sequence[str]) -> Floats:
        """Return a row of unit length for each text: float32, (len(texts), 384) for MiniLM. Raises `Unavailable`."""
