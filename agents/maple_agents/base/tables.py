"""The files of the template repository: what all have in common, and how one is read."""

from __future__ import annotations

from typing import Annotated, TypeVar

import tomllib
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from .files_in_force import paths


class Table(BaseModel):
    """A table of a file: only the keys named in its class, each with the type named there."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Part(Table):
    """A file of the repository. *revision* counts up with every change; *sources*: where the facts stand."""

    revision: Annotated[int, Field(ge=1)]
    why: Annotated[str, Field(min_length=1)]
    sources: Annotated[list[str], Field(min_length=1)]


Made = TypeVar("Made", bound=Table)


def parse(shape: type[Made], source: bytes, filename: str) -> Made:
    """Return what *source* holds. Raises `ValueError`: a line for each mistake, with file and key path."""
    try:
        table = tomllib.loads(source.decode("utf-8"))
    except ValueError as error:
        raise ValueError("%s: not TOML: %s" % (filename, error)) from None
    return checked(shape, table, filename)


def checked(shape: type[Made], table: object, name: str) -> Made:
    """Return what a table holds that is called *name*. Raises `ValueError`: a line for each mistake, with its key."""
    try:
        return shape.model_validate(table)
    except ValidationError as error:
        raise ValueError("\n".join(_mistakes(error, name))) from None


def read(shape: type[Made], path: str) -> Made:
    """Return the file at *path*. Raises `ValueError` as `parse` does, and `OSError`."""
    with open(path, "rb") as file:
        return parse(shape, file.read(), path)


def _mistakes(error: ValidationError, filename: str) -> list[str]:
    return [
        "%s: %s: %s" % (filename, ".".join(str(part) for part in mistake["loc"]) or "file", mistake["msg"].lower())
        for mistake in error.errors(include_url=False)
    ]


__all__ = ["Part", "Table", "checked", "parse", "paths", "read"]
