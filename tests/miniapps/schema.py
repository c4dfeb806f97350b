"""The part of JSON Schema that facts.schema.json uses, so that no library is needed to hold facts against it."""

from __future__ import annotations

import json
from typing import Any, Iterator

from tests.miniapps.started import APPS

SCHEMA = json.loads((APPS / "facts.schema.json").read_text())
KINDS: dict[str, Any] = {
    "object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool,
    "null": type(None),
}  # fmt: skip
KNOWN = {
    "$schema", "title", "description", "type", "required", "additionalProperties", "properties", "items", "enum",
    "minimum",
}  # fmt: skip


def wrong(facts: Any, schema: Any = SCHEMA, where: str = "facts") -> list[str]:
    """Return what is wrong with *facts*, a line each; nothing if they are as the schema says."""
    return list(_wrong(facts, schema, where))


def _wrong(value: Any, schema: dict[str, Any], where: str) -> Iterator[str]:
    assert schema.keys() <= KNOWN, schema.keys() - KNOWN
    kinds = schema.get("type", [])
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if kinds and not any(_is(value, kind) for kind in kinds):
        yield f"{where} is {value!r}, not {kinds}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where} is {value!r}, none of {schema['enum']}"
    if "minimum" in schema and value < schema["minimum"]:
        yield f"{where} is below {schema['minimum']}"
    if isinstance(value, dict):
        yield from _wrong_object(value, schema, where)
    if isinstance(value, list):
        for number, one in enumerate(value):
            yield from _wrong(one, schema.get("items", {}), f"{where}[{number}]")


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, KINDS[kind])


def _wrong_object(value: dict[str, Any], schema: dict[str, Any], where: str) -> Iterator[str]:
    for name in schema.get("required", []):
        if name not in value:
            yield f"{where}.{name} is missing"
    for name, one in value.items():
        if name in schema.get("properties", {}):
            yield from _wrong(one, schema["properties"][name], f"{where}.{name}")
        elif schema.get("additionalProperties") is False:
            yield f"{where}.{name} is not in the schema"
        elif isinstance(schema.get("additionalProperties"), dict):
            yield from _wrong(one, schema["additionalProperties"], f"{where}.{name}")
