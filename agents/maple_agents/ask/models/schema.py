"""The shape in which a model says slots: each value with the words that it was read from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...base.slots import INTEGERS, LAUNCHERS, NAMES, PARADIGMS, Name
from .protocol import Schema

MOST_NUMBER = 100_000
MOST_TEXT = 200  # characters of a value and of a quote


def of_slots(names: Sequence[Name] = NAMES) -> Schema:
    """Return the schema `{"slots": [{"slot", "value", "quote"}]}` for slots of these *names*, at least one.

    Every object lists all its names as required and allows no other, as strict servers demand.
    """
    numbers = [name for name in names if name in INTEGERS]
    words = [name for name in names if name not in INTEGERS]
    kinds = [_of("nodes", numbers)] if numbers else []
    for limited in ("paradigm", "launcher"):
        kinds += [_of(name, [name]) for name in words if name == limited]
    free = [name for name in words if name not in ("paradigm", "launcher")]
    kinds += [_of("program", free)] if free else []
    return _object({"slots": {"type": "array", "maxItems": len(names), "items": {"anyOf": kinds}}})


def _of(kind: Name, names: Sequence[Name]) -> Schema:
    """Return the shape of one slot out of *names*, all of them with values like those of *kind*."""
    return _object({"slot": {"type": "string", "enum": list(names)}, "value": _value(kind), "quote": _text()})


def _value(kind: Name) -> Schema:
    if kind in INTEGERS:
        return {"type": "integer", "minimum": 1, "maximum": MOST_NUMBER}
    choices = {"paradigm": PARADIGMS, "launcher": LAUNCHERS}.get(kind)
    return {"type": "string", "enum": list(choices)} if choices else _text()


def _text() -> Schema:
    return {"type": "string", "minLength": 1, "maxLength": MOST_TEXT}


def _object(properties: dict[str, Any]) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
