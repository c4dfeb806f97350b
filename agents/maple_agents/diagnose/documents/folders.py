"""The site's own documents: what was added, kept as passages in the folders of the installation and of the user.

A document is one JSON file there, named by the hash of where it came from; the document itself is not kept, and is
never opened again. Nothing is fetched from anywhere.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from maple_submit_filter.host import own_folders, places

from ...ask.verified_runs import names_in, read_value, write_value
from .passages import Piece, pieces

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
        documents, left = named(os.path.abspath(path))
        wrong += left
        for document in documents:
            try:
                made.append(_kept(document, folder))
            except Unreadable as error:
                wrong.append(str(error))
    return made, wrong


def _kept(path: str, folder: str) -> Document:
    source, pieces = read(path)
    name = hashlib.sha256(os.fsencode(path)).hexdigest()[:16] + ".json"
    digest = hashlib.sha256(source).hexdigest()
    shown = os.fsencode(path).decode("utf-8", "replace")
    now = time.time()
    kept = write_value(
        folder,
        name,
        {
            "schema": SCHEMA,
            "source": shown,
            "added": now,
            "sha256": digest,
            "passages": [list(piece) for piece in pieces],
        },
    )
    os.chmod(folder, 0o755 if folder == of_site() else 0o700)
    os.chmod(kept, 0o644 if folder == of_site() else 0o600)
    return Document(shown, now, digest, tuple(pieces), kept, folder != of_site())


def remove(source: str, folder: str) -> list[str]:
    """Forget the documents that were added from *source*, or from below it; return where they came from."""
    whole = os.path.abspath(source)
    gone = []
    for document in _in(folder, own=True):
        if document.source in (source, whole) or document.source.startswith(whole.rstrip("/") + "/"):
            os.unlink(document.kept)
            gone.append(document.source)
    return gone


def any_kept(environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether there may be a document, by the names of files alone."""
    mine = own(environ)
    return any(names_in(folder) for folder in (*([mine] if mine else []), *places.folders(FOLDER, environ)))


def every(environ: Mapping[str, str] = os.environ) -> list[Document]:
    """Return the documents of the user and of the site, each once by where it came from; the user's own first."""
    mine = own(environ)
    documents = _in(mine, own=True) if mine else []
    for folder in places.folders(FOLDER, environ):
        documents += _in(folder, own=False)
    return list({document.source: document for document in reversed(documents)}.values())[::-1]


def _in(folder: str, own: bool) -> list[Document]:
    rows = (_read(os.path.join(folder, name), own) for name in names_in(folder))
    return [document for document in rows if document is not None]


def _read(path: str, own: bool) -> Document | None:
    """Return a kept document, None where the file holds none: somebody else's, damaged, or of another version."""
    table = read_value(path, MOST)
    if table is None or table.get("schema") != SCHEMA or not isinstance(table.get("source"), str):
        return None
    rows = table.get("passages")
    pieces = [_piece(row) for row in rows] if isinstance(rows, list) else []
    added = table.get("added")
    when = float(added) if isinstance(added, (int, float)) else 0.0
    return Document(
        table["source"], when, str(table.get("sha256", "")), tuple(piece for piece in pieces if piece), path, own
    )


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


# Files that an administrator or user names as documents: opened as what they are, bounded, no link followed.

MOST_OF_ONE = 8 << 20  # bytes of a document
FILES = 2000  # of one folder
PAGES = 2000  # of a PDF
KINDS = {
    ".md": "markdown", ".markdown": "markdown", ".rst": "rest", ".rest": "rest", ".html": "html", ".htm": "html",
    ".txt": "text", ".text": "text", "": "text", ".pdf": "pdf", ".log": "text", ".adoc": "text",
}  # fmt: skip


class Unreadable(Exception):
    """A document cannot be taken; one line says which and why."""


def named(path: str) -> tuple[list[str], list[str]]:
    """Return the documents that *path* is, or that lie below it, and a line for each that is left out.

    Below a folder, hidden files and folders, links, and files of other kinds are passed over.
    """
    wrong: list[str] = []
    try:
        facts = os.lstat(path)
    except (OSError, ValueError) as error:
        return [], ["%s: %s" % (path, _why(error))]
    if stat.S_ISLNK(facts.st_mode):
        return [], ["%s: is a link; name the file that it leads to" % path]
    if not stat.S_ISDIR(facts.st_mode):
        return [path], []
    documents = sorted(_below(path, wrong))
    if len(documents) > FILES:
        wrong.append("%s: holds more than %d documents; the others are left out" % (path, FILES))
    return documents[:FILES], wrong


def _below(path: str, wrong: list[str]) -> Iterator[str]:
    for folder, below, there in os.walk(
        path, onerror=lambda error: wrong.append("%s: %s" % (error.filename, _why(error)))
    ):
        below[:] = sorted(name for name in below if not name.startswith("."))
        for name in there:
            whole = os.path.join(folder, name)
            kind = KINDS.get(os.path.splitext(name)[1].lower())
            if name.startswith(".") or os.path.islink(whole) or kind is None or (kind == "text" and "." not in name):
                continue
            yield whole


def read(path: str) -> tuple[bytes, list[Piece]]:
    """Return the bytes and the passages of the document at *path*. Raises `Unreadable`."""
    kind = KINDS.get(os.path.splitext(path)[1].lower())
    if kind is None:
        raise Unreadable("%s: is no text, Markdown, reST, HTML or PDF by its name" % path)
    source = _bytes(path)
    if kind == "pdf":
        return source, _of_pdf(path, source)
    if b"\0" in source[:65536]:
        raise Unreadable("%s: holds binary data, no text" % path)
    parts = pieces(source.decode("utf-8-sig", "replace"), kind)
    if not parts:
        raise Unreadable("%s: holds no words" % path)
    return source, parts


def _bytes(path: str) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY)
    except (OSError, ValueError) as error:
        raise Unreadable("%s: %s" % (path, _why(error))) from None
    with open(descriptor, "rb") as file:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise Unreadable("%s: is no regular file" % path)
        try:
            source = file.read(MOST_OF_ONE + 1)
        except OSError as error:
            raise Unreadable("%s: %s" % (path, _why(error))) from None
    if len(source) > MOST_OF_ONE:
        raise Unreadable("%s: is larger than %d MiB; split it" % (path, MOST_OF_ONE >> 20))
    return source


def _of_pdf(path: str, source: bytes) -> list[Piece]:
    """Return the passages of a PDF, by page; where pypdf is not installed it cannot be read."""
    if importlib.util.find_spec("pypdf") is None:
        raise Unreadable("%s: a PDF is read with pypdf, which is not installed; add its text instead" % path)
    import io

    library: Any = importlib.import_module("pypdf")
    try:
        pages = library.PdfReader(io.BytesIO(source)).pages
        texts = [(number, page.extract_text() or "") for number, page in enumerate(pages, 1) if number <= PAGES]
    except Exception as error:  # whatever a parser of a hostile file raises
        raise Unreadable("%s: is no PDF that can be read: %s" % (path, type(error).__name__)) from None
    passages = [
        piece._replace(line=0, heading="page %d" % number) for number, text in texts for piece in pieces(text, "text")
    ]
    if not passages:
        raise Unreadable("%s: holds no words, perhaps pictures of pages" % path)
    return passages


def _why(error: Exception) -> str:
    if isinstance(error, OSError):
        return (error.strerror or str(error)).lower()
    return "is no file name"
