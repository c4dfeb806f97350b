"""The user's files, read as the user and within bounds: few, small, regular, whatever a link leads to."""

from __future__ import annotations

import hashlib
import os
import stat

from maple_submit_filter.job_records import Part

MOST_BYTES = 256 * 1024  # of one file
MOST_FILES = 24


class Files:
    """Reads each file once; *top*: the folder that names are told relative to."""

    def __init__(self, top: str, most: int = MOST_FILES) -> None:
        self._top, self._most = top, most
        self._known: dict[str, bytes | None] = {}
        self.parts: dict[str, Part] = {}  # by path

    def read(self, path: str, kind: str) -> bytes | None:
        """Return a file's content, None where it may not be read, is no regular file, or is one too many."""
        path = os.path.normpath(path)
        if path not in self._known:
            if len(self._known) >= self._most:
                return None
            self._known[path] = content(path)
        data = self._known[path]
        if data is not None and path not in self.parts:
            lines = data.count(b"\n") + (not data.endswith(b"\n"))
            self.parts[path] = Part(kind, self.name(path), _digest(kind, data), (1, lines))
        return data

    def is_there(self, path: str) -> bool:
        """Return whether there is such a regular file; it counts for nothing."""
        return os.path.isfile(path)

    def name(self, path: str) -> str:
        """Return how a file is spoken of: relative to the top where it lies under it."""
        path = os.path.normpath(path)
        under = path.startswith(self._top.rstrip("/") + "/")
        shown = os.path.relpath(path, self._top) if under else path
        return shown.encode("utf-8", "replace").decode()


def content(path: str) -> bytes | None:
    """Return the content of a small regular file, None for all else; a FIFO or a device is not opened."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return None
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except (OSError, ValueError):
        return None
    try:
        with open(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
            data = file.read(MOST_BYTES + 1)
    except OSError:
        return None
    return data if len(data) <= MOST_BYTES else None


def _digest(kind: str, data: bytes) -> str:
    made = hashlib.sha256(b"%d:%s%d:" % (len(kind), kind.encode(), len(data)))
    made.update(data)
    return made.hexdigest()[:32]
