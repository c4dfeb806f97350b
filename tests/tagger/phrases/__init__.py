"""What people write of a job, by language: a TOML file each, `en.toml` says what its keys hold."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import tomllib

LANGUAGES = ("en", "de", "es", "fr", "it", "zh")
_KEYS = "terse", "clause", "said"


@cache
def phrases(language: str) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return the phrases of a language: by kind (terse, clause, key, said) and slot; English ones where it has none."""
    data = tomllib.loads(Path(__file__).with_name(language + ".toml").read_text("utf-8"))
    found = {kind: {slot: _lines(text) for slot, text in data[kind].items()} for kind in _KEYS}
    found["key"] = {slot: tuple(text.split("|")) for slot, text in data["key"].items()}
    found["said"]["joint"] = tuple(data["said"]["joint"].split("|"))
    if language != "en":
        english = phrases("en")
        found = {kind: {**english[kind], **found[kind]} for kind in found}
    return found


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line for line in text.split("\n") if line.strip())
