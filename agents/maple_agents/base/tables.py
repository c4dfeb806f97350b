"""The files of the template repository: which are in force, what all have in common, and how one is read."""

from __future__ import annotations

import os
from typing import Annotated, TypeVar

import tomllib
from maple_submit_filter.host import places
from pydantic import BaseModel, ConfigDict, Field, ValidationError


def paths(kind: str) -> dict[str, str]:
    """Return the path of every file in force of `templates/<kind>/` by its name without the ending, sorted.

    An empty file is none: a shell makes one before the command whose output it is for has begun.
    """
    files: dict[str, str] = {}
    for folder in places.folders(os.path.join("templates", kind)):
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            if name.endswith(".toml") and not _is_empty(path):
                files.setdefault(name[:-5], path)
    return {name: files[name] for name in sorted(files)}


def _is_empty(path: str) -> bool:
    try:
        return os.path.getsize(path) == 0
    except OSError:
        return False  # whoever reads it says what is wrong with it


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
