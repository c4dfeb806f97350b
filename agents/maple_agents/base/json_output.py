"""JSON as the commands print it, all by one function.

What is printed is a `TypedDict`, whose class is the one definition of its shape: what makes the value is checked
against it, and `make docs` writes `docs/json/` from it. A `NamedTuple` is an object with its fields, bytes are text.
"""

from __future__ import annotations

import json

import click

from .difference import text


def echo(value: object, ascii_only: bool = True) -> None:
    """Print *value* as JSON."""
    click.echo(json.dumps(plain(value), indent=2, ensure_ascii=ascii_only))


def plain(value: object) -> object:
    """Return *value* as JSON has it."""
    if isinstance(value, bytes):
        return text(value)
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, (list, tuple)) else value
