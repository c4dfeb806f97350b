"""The schemas of what commands print: `fits` holds an answer against one, and lets it have no other keys."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

FOLDER = Path(__file__).parents[1] / "docs" / "json"


def fits(name: str, value: object) -> None:
    """Raise `jsonschema.ValidationError` where *value* is not of the shape of that name."""
    jsonschema.validate(value, closed(name))


@cache
def closed(name: str) -> Any:
    """Return a schema whose objects with named keys have these alone: to others a key may be added, to a test not."""
    return _closed(json.loads((FOLDER / f"{name}.schema.json").read_text("utf-8")))


def _closed(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_closed(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    inside = {key: _closed(inner) for key, inner in schema.items()}
    named = schema.get("type") == "object" and isinstance(schema.get("properties"), dict)
    return {**inside, "additionalProperties": False} if named else inside
