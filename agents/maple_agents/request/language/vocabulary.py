"""Word lists and phrase tables, written as text."""

from __future__ import annotations


def listed(text: str) -> frozenset[str]:
    """Return the words of *text*."""
    return frozenset(text.split())


def table(text: str) -> dict[str, str]:
    """Return what each phrase means. A line of *text* is a meaning, a colon, and its phrases between commas."""
    found: dict[str, str] = {}
    for line in text.strip().splitlines():
        meaning, _, phrases = line.partition(":")
        found.update({phrase.strip(): meaning.strip() for phrase in phrases.split(",") if phrase.strip()})
    return found
