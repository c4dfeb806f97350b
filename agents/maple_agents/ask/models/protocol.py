"""What a language model is to Maple: messages and a schema go in; out come a checked answer, or one line why not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol

from maple_submit_filter.answer.report import printable

Schema = Mapping[str, Any]  # JSON Schema, draft 2020-12
_MOST_SHOWN = 300  # characters of a reason: it may come from a server


class Message(NamedTuple):
    """One turn of what is said to the model. *text* is data, whatever stands in it."""

    role: Literal["system", "user", "assistant"]
    text: str


class Limit(NamedTuple):
    """What an answer may cost: *seconds* from the question to the whole answer, *tokens* of the answer."""

    seconds: float = 30.0
    tokens: int = 1024


class Model(Protocol):
    """A language model. *name* is shown to people, and never holds a key."""

    @property
    def name(self) -> str:
        """What it is called: the folder of its weights, or the server and the name it serves."""

    def answer(self, messages: Sequence[Message], schema: Schema, limit: Limit = ...) -> object:
        """Return the JSON value that the model answers with; it conforms to *schema*.

        Raises `ModelError` for everything else: no answer, a late one, one cut short, one of another shape.
        """


class ModelError(Exception):
    """One line: which model, what is wrong, and what to do."""

    def __init__(self, name: str, wrong: str, remedy: str = "") -> None:
        self.name, self.wrong, self.remedy = name, wrong, remedy
        said = one_line(wrong) + (f"; {remedy}" if remedy else "")
        super().__init__(printable(f"the model {name}: {said}" if name else said))


def one_line(text: str) -> str:
    """Return *text* on one line, cut after 300 characters."""
    joined = " / ".join(line.strip() for line in text[: 10 * _MOST_SHOWN].splitlines() if line.strip())
    return joined if len(joined) <= _MOST_SHOWN else joined[: _MOST_SHOWN - 1] + "…"
