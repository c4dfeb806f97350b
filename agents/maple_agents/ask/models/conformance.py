"""Whether a JSON value is of the shape that a schema asks for, and how an answer's text is read.

Servers differ in how much of a schema they obey, and some ignore it: so every answer is held against it here as well.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

from .protocol import Schema

_KINDS: Mapping[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "integer": (int,), "number": (int, float),
    "boolean": (bool,), "null": (type(None),),
}  # fmt: skip
_NOTES = {"title", "description", "$schema"}


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


def mismatch(value: object, schema: Schema, at: str = "the answer") -> str:
    """Return how *value* differs from *schema*, in one line; "" where it conforms.

    Knows type, enum, const, anyOf, bounds of numbers, strings and arrays, items, properties, required and
    additionalProperties. Raises `NotImplementedError` for any other word: a promise that nobody checks is none.
    """
    for word, wanted in schema.items():
        if word in _NOTES:
            continue
        if word not in _CHECKS:
            raise NotImplementedError(f"schema word {word}")
        wrong = _CHECKS[word](value, wanted, schema, at)
        if wrong:
            return wrong
    return ""


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


def _is_kind(value: object, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _KINDS[kind])


def _type(value: object, wanted: Any, schema: Schema, at: str) -> str:
    kinds = [wanted] if isinstance(wanted, str) else wanted
    return "" if any(_is_kind(value, kind) for kind in kinds) else f"{at} is no {' or '.join(kinds)}"


def _same(value: object, other: object) -> bool:
    """True and 1 are two values in JSON."""
    return value == other and isinstance(value, bool) == isinstance(other, bool)


def _enum(value: object, wanted: Any, schema: Schema, at: str) -> str:
    return "" if any(_same(value, one) for one in wanted) else f"{at} is none of what may stand there"


def _const(value: object, wanted: Any, schema: Schema, at: str) -> str:
    return "" if _same(value, wanted) else f"{at} is not {wanted!r}"


def _any_of(value: object, wanted: Any, schema: Schema, at: str) -> str:
    return "" if any(not mismatch(value, one, at) for one in wanted) else f"{at} has none of the shapes asked for"


def _itself(number: Any) -> Any:
    return number  # float() would fail at an integer of 400 digits


def _bound(kind: type | tuple[type, ...], measure: Callable[[Any], Any], sign: int, says: str) -> Callable[..., str]:
    def check(value: object, wanted: Any, schema: Schema, at: str) -> str:
        if not isinstance(value, kind) or isinstance(value, bool) or sign * measure(value) <= sign * wanted:
            return ""
        return f"{at} is {says} {wanted}"

    return check


def _items(value: object, wanted: Any, schema: Schema, at: str) -> str:
    if not isinstance(value, list):
        return ""
    return _first(mismatch(one, wanted, f"{at}[{number}]") for number, one in enumerate(value))


def _properties(value: object, wanted: Any, schema: Schema, at: str) -> str:
    if not isinstance(value, dict):
        return ""
    return _first(mismatch(value[name], one, f"{at}.{name}") for name, one in wanted.items() if name in value)


def _required(value: object, wanted: Any, schema: Schema, at: str) -> str:
    if not isinstance(value, dict):
        return ""
    return _first(f"{at} has no {name}" for name in wanted if name not in value)


def _additional(value: object, wanted: Any, schema: Schema, at: str) -> str:
    if wanted is not False:
        raise NotImplementedError("additionalProperties other than false")
    if not isinstance(value, dict) or value.keys() <= schema.get("properties", {}).keys():
        return ""
    return f"{at} has names that nobody asked for"


def _first(found: Iterator[str]) -> str:
    return next((one for one in found if one), "")


_CHECKS: Mapping[str, Callable[[object, Any, Schema, str], str]] = {
    "type": _type, "enum": _enum, "const": _const, "anyOf": _any_of, "items": _items, "properties": _properties,
    "required": _required, "additionalProperties": _additional,
    "minimum": _bound((int, float), _itself, -1, "less than"), "maximum": _bound((int, float), _itself, 1, "more than"),
    "minLength": _bound(str, len, -1, "shorter than"), "maxLength": _bound(str, len, 1, "longer than"),
    "minItems": _bound(list, len, -1, "shorter than"), "maxItems": _bound(list, len, 1, "longer than"),
}  # fmt: skip
