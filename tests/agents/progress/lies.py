"""Transcripts of a model that is asked about a training and lies: what it saw, what was asked, what it said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import tomllib
from maple_agents.ask.models.protocol import Limit, ModelError, read
from maple_agents.progress.formats import formats
from maple_agents.progress.log_ends import progress
from maple_agents.progress.own_words import meant
from maple_agents.progress.values import Run

CASES = Path(__file__).parents[2] / "cases" / "progress-questions.toml"
NOW = 1_780_000_900.0


class Transcript(NamedTuple):
    """*said*: the model's words, letter by letter. *means*: the question that is believed, "" for a lie."""

    name: str
    asked: str
    said: str
    means: str

    def __str__(self) -> str:
        return self.name


class Recorded:
    """A model that says what was recorded; its text is read as a server's is."""

    name = "recorded"

    def __init__(self, said: str) -> None:
        self._said = said

    def answer(self, messages: Any, schema: Any, limit: Limit = Limit()) -> object:  # noqa: B008
        try:
            return read(self._said)
        except ValueError as error:
            raise ModelError(self.name, str(error)) from None


def log() -> str:
    """Return the log that all of them saw, with lines that speak to a model."""
    return str(_file()["log"])


def transcripts() -> Iterator[Transcript]:
    """Yield them, lies and right answers."""
    for case in _file()["case"]:
        yield Transcript(case["name"], case["asked"], case["said"], case.get("means", ""))


def believed(one: Transcript, folder: Path) -> str:
    """Return the question that is believed, "" where nothing is."""
    path = folder / "train.log"
    path.write_text(log())
    found = progress([str(path)], formats(), NOW, Run(job="4711", state="running"))
    try:
        return meant(one.asked, found, Recorded(one.said))
    except ModelError:
        return ""


def _file() -> dict[str, Any]:
    return tomllib.loads(CASES.read_text("utf-8"))
