"""What is wrong with a site file, said so that one can mend it: key path, what is wrong, the nearest known word."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from ...base.near_names import meant
from .model import SiteFile

Path = Sequence[str | int]


class Mistakes(ValueError):
    """Every mistake of one site file, a line each, beginning with the file's name."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__("\n".join(lines))
        self.lines = tuple(lines)


def dotted(path: Path) -> str:
    """Return a key path as one would say it: `partition.gpu.node_kinds[0]`."""
    words = ("[%d]" % part if isinstance(part, int) else "." + part for part in path)
    return "".join(words).lstrip(".")


def nearest(word: str, known: Iterable[str]) -> str:
    """Return "; did you mean x?" for the nearest known word, "" when none is near."""
    hint = meant(word, known)
    return "; " + hint if hint else ""


def of_shape(error: ValidationError) -> list[str]:
    """Return a line for each place where a file has not the shape of a `SiteFile`."""
    return sorted(
        {"%s: %s" % (dotted(mistake["loc"]) or "file", _what(mistake)) for mistake in error.errors(include_url=False)}
    )


def _what(error: Any) -> str:
    """Say in our own words what pydantic found."""
    kind, value, context = error["type"], error["input"], error.get("ctx", {})
    if kind == "extra_forbidden":
        return "no such key" + nearest(str(error["loc"][-1]), _known_keys(error["loc"][:-1]))
    if kind == "missing":
        return "is missing"
    if kind == "literal_error":
        choices = [word.strip("'") for word in context["expected"].replace(" or ", ", ").split(", ")]
        return "%r is none of %s%s" % (value, ", ".join(choices), nearest(str(value), choices))
    if kind == "string_pattern_mismatch":
        return "%r is not written as expected (%s)" % (value, context["pattern"])
    if kind == "too_short":
        return "is empty"
    return "%s, not %s" % (error["msg"].replace("Input should be", "should be"), _shown(value))


def _shown(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 40 else shown[:37] + "..."


def _known_keys(path: Path) -> list[str]:
    """Return the keys that the table at *path* may have."""
    table: Any = SiteFile
    for part in path:
        if isinstance(table, type) and issubclass(table, BaseModel):
            field = table.model_fields.get(str(part))
            table = _inner(field.annotation) if field else None
        else:
            table = _inner(get_args(table)[-1]) if get_origin(table) in (dict, list) else None
    return list(table.model_fields) if isinstance(table, type) and issubclass(table, BaseModel) else []


def _inner(annotation: Any) -> Any:
    """Return X of `X | None`, else the annotation itself."""
    if get_origin(annotation) in (Union, UnionType):
        return next((argument for argument in get_args(annotation) if argument is not type(None)), None)
    return annotation
