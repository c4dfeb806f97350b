"""Whether a JSON value is of the shape that a schema asks for, and how an answer's text is read.

Servers differ in how much of a schema they obey, and some ignore it: so every answer is held against it here as well.
"""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from .protocol import Schema


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
    said = text.rpartition("</think>")[2].strip() if text.lstrip().startswith("<think>") else text.strip()
    if said.startswith("```") and said.endswith("```") and said.count("```") == 2 and "\n" in said:
        return said[said.index("\n") : -3]
    return said


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("it says one name twice")
    return found


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number of JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else _no_number(digits)
