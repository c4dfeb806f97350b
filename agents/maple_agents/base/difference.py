"""The difference between two scripts, as `diff -u` and `patch` write it."""

from __future__ import annotations

import difflib
from typing import Iterable, Iterator


def text(raw: bytes) -> str:
    """Return bytes as text that gives the same bytes again: what is no UTF-8 stands as lone surrogates."""
    return raw.decode("utf-8", "surrogateescape")


def unified(before: bytes, after: bytes, name: str) -> str:
    """Return the unified diff from *before* to *after*, both called *name*; "" where they are equal."""
    if before == after:
        return ""
    name = text(name.encode("utf-8", "surrogateescape")).lstrip("/").replace("\n", " ")
    lines = difflib.unified_diff(_lines(before), _lines(after), f"a/{name}", f"b/{name}")
    return "".join(_ended(lines))


def _lines(raw: bytes) -> list[str]:
    """Return the lines with their newlines; only a newline ends one, as bash and patch count."""
    lines = text(raw).split("\n")
    return [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _ended(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"
