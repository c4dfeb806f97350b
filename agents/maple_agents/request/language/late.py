"""Patterns that are compiled when they are first needed: a request needs few of them."""

from __future__ import annotations

import re
from collections.abc import Iterator


class Late:
    """A pattern without regard to case. *needs*: pieces in lower case; where none of them stands it matches nowhere."""

    def __init__(self, pattern: str, *needs: str) -> None:
        self._pattern = pattern
        self._needs = needs
        self._compiled: re.Pattern[str] | None = None

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """Yield the matches in *text*, from left to right."""
        low = text.lower()
        if self._needs and not any(piece in low for piece in self._needs):
            return iter(())
        return self._ready().finditer(text)

    def match(self, text: str, at: int = 0) -> re.Match[str] | None:
        """Return the match that begins at a character of *text*."""
        return self._ready().match(text, at)

    def search(self, text: str) -> re.Match[str] | None:
        """Return the first match in *text*."""
        return self._ready().search(text)

    def _ready(self) -> re.Pattern[str]:
        if self._compiled is None:
            self._compiled = re.compile(self._pattern, re.IGNORECASE)
        return self._compiled
