"""The cases of reading as qsub reads: `tests/cases/pbs/reading/*.toml`."""

from __future__ import annotations

import os
from typing import Any

import tomllib

from tests.case_files import CASES

FOLDER = os.path.join(CASES, "pbs", "reading")


def table(name: str) -> list[dict[str, Any]]:
    """Return the cases of one file."""
    with open(os.path.join(FOLDER, name + ".toml"), "rb") as file:
        found: list[dict[str, Any]] = tomllib.load(file)["case"]
    return found


def words(said: str) -> list[bytes]:
    """Return the words of a case: `~` stands for a blank, `''` for a word without bytes."""
    return [b"" if word == "''" else word.replace("~", " ").encode() for word in said.split()]
