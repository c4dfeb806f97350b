"""MiniLM, or another model of sentence-transformers, on the processor and without the network."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .embedder import Unavailable
from .weights import INSTALL, Weights, check, named

if TYPE_CHECKING:
    from .embedder import Floats

# Nothing is fetched, no bar is drawn over the user's terminal, and no threads of the tokenizer outlive a fork.
QUIET = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "TRANSFORMERS_VERBOSITY": "error",
}
LONGEST = 4000  # characters of a text that are read; MiniLM itself stops after 256 tokens


FEW = 8  # so few texts are embedded by one thread: on a busy login node threads wait for each other, 30 times as long


class MiniLM:
    """An `Embedder` by sentence-transformers. The library (4 s, 400 MiB) and the weights are loaded at first use."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._model: Any = None

    @property
    def name(self) -> str:
        """What made the vectors."""
        return self._weights.name

    def vectors(self, texts: Sequence[str]) -> Floats:
        """Return a row of unit length for each text. Raises `Unavailable` where the model cannot be loaded."""
        if self._model is None:
            self._model = _loaded(self._weights)
        cut = [text[:LONGEST].encode("utf-8", "replace").decode() for text in texts]  # no lone surrogates
        import numpy as np

        if not cut:
            return np.zeros((0, self._model.get_embedding_dimension()), np.float32)
        with _one_thread() if len(cut) <= FEW else contextlib.nullcontext():
            made = self._model.encode(cut, batch_size=64, normalize_embeddings=True, show_progress_bar=False)
        return np.asarray(made, np.float32)


def configured() -> MiniLM:
    """Return the embedder that is configured and installed, not loaded yet. Raises `Unavailable`."""
    weights = named()
    if importlib.util.find_spec("sentence_transformers") is None:
        raise Unavailable("sentence-transformers is not installed; %s" % INSTALL)
    return MiniLM(weights)


def _loaded(weights: Weights) -> Any:
    check(weights)
    try:
        with _quietly():
            library = importlib.import_module("sentence_transformers")
            return library.SentenceTransformer(
                weights.place, device="cpu", local_files_only=True, trust_remote_code=False
            )
    except Exception as error:  # whatever a library of this size raises, search goes on by words
        says = (str(error).strip().splitlines() or [""])[0]
        raise Unavailable("%s cannot be loaded: %s: %s" % (weights.place, type(error).__name__, says)) from error


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    torch = importlib.import_module("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Set `QUIET`, and put everything back as it was.

    A job that is submitted afterwards must inherit neither HF_HUB_OFFLINE nor what torch sets for its own OpenMP.
    """
    before = dict(os.environ)
    os.environ.update(QUIET)
    try:
        yield
    finally:
        for name in set(os.environ) - set(before):
            del os.environ[name]
        os.environ.update(before)
