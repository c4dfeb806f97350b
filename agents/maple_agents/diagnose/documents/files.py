"""Files that an administrator or user names as documents: opened as what they are, bounded, no link followed."""

from __future__ import annotations

import importlib
import importlib.util
import os
import stat
from collections.abc import Iterator
from typing import Any

from .passages import Piece, pieces

MOST = 8 << 20  # bytes of a document
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
    found = sorted(_below(path, wrong))
    if len(found) > FILES:
        wrong.append("%s: holds more than %d documents; the others are left out" % (path, FILES))
    return found[:FILES], wrong


def _below(path: str, wrong: list[str]) -> Iterator[str]:
    for folder, below, names in os.walk(
        path, onerror=lambda error: wrong.append("%s: %s" % (error.filename, _why(error)))
    ):
        below[:] = sorted(name for name in below if not name.startswith("."))
        for name in names:
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
    found = pieces(source.decode("utf-8-sig", "replace"), kind)
    if not found:
        raise Unreadable("%s: holds no words" % path)
    return source, found


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
            source = file.read(MOST + 1)
        except OSError as error:
            raise Unreadable("%s: %s" % (path, _why(error))) from None
    if len(source) > MOST:
        raise Unreadable("%s: is larger than %d MiB; split it" % (path, MOST >> 20))
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
    found = [one._replace(line=0, heading="page %d" % number) for number, text in texts for one in pieces(text, "text")]
    if not found:
        raise Unreadable("%s: holds no words, perhaps pictures of pages" % path)
    return found


def _why(error: Exception) -> str:
    if isinstance(error, OSError):
        return (error.strerror or str(error)).lower()
    return "is no file name"
