"""What a language model is to Maple: messages and a schema go in; out come a checked answer, or one line why not.

Whether a JSON value is of the shape that a schema asks for, and how an answer's text is read.

Servers differ in how much of a schema they obey, and some ignore it: so every answer is held against it here as well.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, NoReturn, Protocol

from maple_submit_filter.answer.report import printable

Schema = Mapping[str, Any]  # JSON Schema, draft 2020-12
_MOST_SHOWN = 300  # characters of a reason: it may come from a server


def of_object(properties: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an object that has all of *properties* and no other, as strict servers demand."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


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
        sentence = one_line(wrong) + (f"; {remedy}" if remedy else "")
        super().__init__(printable(f"the model {name}: {sentence}" if name else sentence))


def one_line(text: str) -> str:
    """Return *text* on one line, cut after 300 characters."""
    joined = " / ".join(line.strip() for line in text[: 10 * _MOST_SHOWN].splitlines() if line.strip())
    return joined if len(joined) <= _MOST_SHOWN else joined[: _MOST_SHOWN - 1] + "…"


def read(text: str) -> object:
    """Return the JSON value that *text* is, or that its only fenced block is.

    Raises `ValueError` in one line: no JSON, a name said twice, a number that is none, brackets too deep.
    """
    try:
        return json.loads(_bare(text), object_pairs_hook=_once_each, parse_constant=_no_number, parse_float=_finite)
    except RecursionError:
        raise ValueError("its brackets are nested too deep") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"no JSON: {error.msg} at character {error.pos}") from None


def mismatch(value: object, schema: Schema) -> str:
    """Return which word of *schema* a value breaks, and where, in one line; "" where it conforms.

    The line holds names and bounds of the schema and nothing of the value, which a model wrote.
    """
    from jsonschema import Draft202012Validator  # a tenth of a second: only where a model has answered
    from jsonschema.exceptions import best_match

    error = best_match(Draft202012Validator(schema).iter_errors(value))
    if error is None:
        return ""
    at = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path)
    return f"the answer{at} breaks {error.validator}: {json.dumps(error.validator_value)}"[:150]


def _bare(text: str) -> str:
    """Return *text* without what reasoning models say first, and without the fence around the JSON."""
    answer = text.rpartition("</think>")[2].strip() if text.lstrip().startswith("<think>") else text.strip()
    if answer.startswith("```") and answer.endswith("```") and answer.count("```") == 2 and "\n" in answer:
        return answer[answer.index("\n") : -3]
    return answer


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        raise ValueError("it says one name twice")
    return table


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number of JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else _no_number(digits)
