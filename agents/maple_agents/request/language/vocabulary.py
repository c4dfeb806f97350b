"""Word lists and phrase tables: data in `templates/words/`, one file for each module that reads by them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache

import tomllib
from maple_submit_filter.host import places


@cache
def texts(name: str) -> Mapping[str, str]:
    """Return what `templates/words/<name>.toml` of the strongest folder holds. Raises `OSError` where none does."""
    paths = [os.path.join(folder, name + ".toml") for folder in places.folders(os.path.join("templates", "words"))]
    with open(next(filter(os.path.isfile, paths), paths[0] if paths else name), "rb") as file:
        return tomllib.load(file)


def listed(text: str) -> frozenset[str]:
    """Return the words of *text*."""
    return frozenset(text.split())


def either(text: str) -> str:
    """Return a pattern of any of the words of *text*, which may be patterns themselves, tried in their order."""
    return "|".join(text.split())


def alternatives(text: str) -> str:
    """Return a pattern of any of the lines of *text*, which are patterns themselves, tried in their order."""
    return "|".join(text.strip("\n").split("\n"))


def table(text: str) -> dict[str, str]:
    """Return what each phrase means. A line of *text* is a meaning, a colon, and its phrases between commas."""
    meanings: dict[str, str] = {}
    for line in text.strip().splitlines():
        meaning, _, phrases = line.partition(":")
        meanings.update({phrase.strip(): meaning.strip() for phrase in phrases.split(",") if phrase.strip()})
    return meanings


def pattern(text: str) -> str:
    """Return a pattern that stands on several lines."""
    return text.replace("\n", "")
