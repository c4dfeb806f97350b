"""The user's files, read as the user and within bounds: few, small, regular, whatever a link leads to."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from maple_submit_filter.answer.packing import facts_of
from maple_submit_filter.types.job_records import Part

MOST_BYTES = 256 * 1024  # of one file
MOST_FILES = 24
T = TypeVar("T")


class Form(Generic[T]):
    """What is made of a file's content and path, and how it comes back from JSON. Raises `TypeError`, `ValueError`."""

    def __init__(self, name: str, made: Callable[[bytes, str], T], kept: Callable[[Any], T]) -> None:
        self.name, self.made, self.kept = name, made, kept


class Extract(NamedTuple):
    """What was made of a file before, as JSON. *facts*: how the file was, as `learnt.facts_of` has it."""

    facts: bytes
    text: str


class Files:
    """Reads each file once; *top*: the folder that names are told relative to.

    *known*: extracts by path: a file that is as it was then is not read again.
    """

    def __init__(self, top: str, most: int = MOST_FILES, known: Mapping[str, Extract] | None = None) -> None:
        self._top, self._most, self._known = top, most, known or {}
        self._made: dict[tuple[str, str, str], Any] = {}  # by path, kind and form
        self._taken: set[str] = set()
        self.parts: dict[str, Part] = {}  # by path
        self.looked: dict[str, bytes] = {}  # every file that was looked for, as it was
        self.extracts: dict[str, str] = {}  # by path
        self.read: list[str] = []  # paths of those whose content was read now

    def extracted(self, path: str, kind: str, form: Form[T]) -> T | None:
        """Return what is made of a file, None where it may not be read, is no regular file, or is one too many."""
        path = os.path.normpath(path)
        name = (path, kind, form.name)
        if name not in self._made:
            if path not in self._taken and len(self._taken) >= self._most:
                return None
            self._taken.add(path)
            self._made[name] = self._kept(path, kind, form) or self._read(path, kind, form)
        made = self._made[name]
        return None if made is None else made[0]

    def is_there(self, path: str) -> bool:
        """Return whether there is such a regular file; it counts for nothing."""
        self._look(os.path.normpath(path))
        return os.path.isfile(path)

    def name(self, path: str) -> str:
        """Return how a file is spoken of: relative to the top where it lies under it."""
        path = os.path.normpath(path)
        under = path.startswith(self._top.rstrip("/") + "/")
        shown = os.path.relpath(path, self._top) if under else path
        return shown.encode("utf-8", "replace").decode()

    def _look(self, path: str) -> bytes:
        """Return how a file is; of one that was looked at before, how it was: a later change shows."""
        if path not in self.looked:
            try:
                self.looked[path] = facts_of(os.fsencode(path))
            except ValueError:
                return b""  # no name of any file
        return self.looked[path]

    def _kept(self, path: str, kind: str, form: Form[T]) -> tuple[T] | None:
        """Return what was made of the file before, if it still is that file."""
        known, facts = self._known.get(path), self._look(path)
        if known is None or not facts or known.facts != facts:
            return None
        try:
            was, of, digest, lines, extract = json.loads(known.text)
            if (was, of) != (form.name, kind) or not isinstance(digest, str) or not isinstance(lines, int):
                return None
            made = form.kept(extract)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None
        self.parts.setdefault(path, Part(kind, self.name(path), digest, (1, lines)))
        self.extracts[path] = known.text
        return (made,)

    def _read(self, path: str, kind: str, form: Form[T]) -> tuple[T] | None:
        self._look(path)
        data = content(path)
        if data is None:
            return None
        lines = data.count(b"\n") + (not data.endswith(b"\n"))
        part = self.parts.setdefault(path, Part(kind, self.name(path), _digest(kind, data), (1, lines)))
        made = form.made(data, path)
        self.read.append(path)
        self.extracts[path] = json.dumps([form.name, kind, part.hash, lines, made], separators=(",", ":"))
        return (made,)


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
