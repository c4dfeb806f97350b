"""The site's own documents: what was added, kept as passages in the folders of the installation and of the user.

A document is one JSON file there, named by the hash of where it came from; the document itself is not kept, and is
never opened again. Nothing is fetched from anywhere.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from maple_submit_filter.host import own_folders, places

from ...ask.verified.state import get, names, put
from .files import Unreadable, named, read
from .passages import Piece

FOLDER = "documents"
SCHEMA = 1
MOST = 64 << 20  # bytes of one kept document
PASSAGES = 50_000  # of all documents that are searched


@dataclass(frozen=True, slots=True)
class Document:
    """A document as it was added. *kept*: the file that holds its passages; *own*: not the site's."""

    source: str
    added: float
    sha256: str
    pieces: tuple[Piece, ...]
    kept: str
    own: bool


def own(environ: Mapping[str, str] = os.environ) -> str | None:
    """Return the user's folder of documents, which may not be there yet; None where there is no home."""
    folder = own_folders.state(environ)
    return os.path.join(folder, FOLDER) if folder else None


def of_site(environ: Mapping[str, str] = os.environ) -> str:
    """Return the folder of documents that everybody's diagnoses are searched with."""
    return os.path.join(places.etc(environ), FOLDER)


def add(paths: Sequence[str], folder: str) -> tuple[list[Document], list[str]]:
    """Keep the documents that *paths* are, or that lie below them; return them, and a line for each that was not.

    One that was added before from the same place takes its own place. Raises `OSError` for *folder*.
    """
    made: list[Document] = []
    wrong: list[str] = []
    for path in paths:
        found, left = named(os.path.abspath(path))
        wrong += left
        for one in found:
            try:
                made.append(_kept(one, folder))
            except Unreadable as error:
                wrong.append(str(error))
    return made, wrong


def _kept(path: str, folder: str) -> Document:
    source, found = read(path)
    name = hashlib.sha256(os.fsencode(path)).hexdigest()[:16] + ".json"
    digest = hashlib.sha256(source).hexdigest()
    shown = os.fsencode(path).decode("utf-8", "replace")
    now = time.time()
    kept = put(folder, name, {
        "schema": SCHEMA, "source": shown, "added": now, "sha256": digest, "passages": [list(one) for one in found],
    })  # fmt: skip
    os.chmod(folder, 0o755 if folder == of_site() else 0o700)
    os.chmod(kept, 0o644 if folder == of_site() else 0o600)
    return Document(shown, now, digest, tuple(found), kept, folder != of_site())


def remove(source: str, folder: str) -> list[str]:
    """Forget the documents that were added from *source*, or from below it; return where they came from."""
    whole = os.path.abspath(source)
    gone = []
    for one in _in(folder, own=True):
        if one.source in (source, whole) or one.source.startswith(whole.rstrip("/") + "/"):
            os.unlink(one.kept)
            gone.append(one.source)
    return gone


def every(environ: Mapping[str, str] = os.environ) -> list[Document]:
    """Return the documents of the user and of the site, each once by where it came from; the user's own first."""
    mine = own(environ)
    found = _in(mine, own=True) if mine else []
    for folder in places.folders(FOLDER, environ):
        found += _in(folder, own=False)
    return list({one.source: one for one in reversed(found)}.values())[::-1]


def _in(folder: str, own: bool) -> list[Document]:
    rows = (_read(os.path.join(folder, name), own) for name in names(folder))
    return [one for one in rows if one is not None]


def _read(path: str, own: bool) -> Document | None:
    """Return a kept document, None where the file holds none: somebody else's, damaged, or of another version."""
    told = get(path, MOST)
    if told is None or told.get("schema") != SCHEMA or not isinstance(told.get("source"), str):
        return None
    rows = told.get("passages")
    found = [_piece(one) for one in rows] if isinstance(rows, list) else []
    added = told.get("added")
    when = float(added) if isinstance(added, (int, float)) else 0.0
    return Document(told["source"], when, str(told.get("sha256", "")), tuple(one for one in found if one), path, own)


def _piece(row: object) -> Piece | None:
    if not isinstance(row, list) or len(row) != 3:
        return None
    line, heading, text = row
    if not isinstance(line, int) or not isinstance(heading, str) or not isinstance(text, str) or line < 0:
        return None
    return Piece(line, heading, text)


def passages(documents: Iterable[Document]) -> list[tuple[Document, Piece]]:
    """Return the passages of all documents, at most `PASSAGES`."""
    return [(document, piece) for document in documents for piece in document.pieces][:PASSAGES]
