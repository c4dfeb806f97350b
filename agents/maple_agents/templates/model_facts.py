"""Models known by name, and what training one needs: `templates/models/`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ..base.tables import Part, Table, paths, read

KIND = "models"


class Member(Table):
    """One model of a family. *parameters*: how many. *hub*: its name on the hub. *phrases*: what people call it."""

    name: str
    parameters: Annotated[int, Field(ge=1)]
    hub: str = ""
    phrases: Annotated[list[str], Field(min_length=1)]
    layers: int = 0
    hidden: int = 0


class Family(Part):
    """A family of models; one file.

    *gated*: its weights want a token of a user who accepted the licence. *data*: what it is usually trained on, and
    where a job finds it ("text", "images"). *around*: what a job needs besides, a sentence each.
    """

    title: str
    kind: Literal["language", "vision", "encoder", "other"]
    gated: bool = False
    data: Literal["", "text", "images"] = ""
    around: list[str] = []
    members: Annotated[list[Member], Field(min_length=1)]


def load() -> list[Family]:
    """Return every family, sorted by the name of its file. Raises `ValueError` where a file is wrong."""
    return [read(Family, path) for path in paths(KIND).values()]


def find(name: str) -> tuple[Family, Member] | None:
    """Return the family and member of a model's normal name, None where it is not known."""
    return next(((family, one) for family in load() for one in family.members if one.name == name), None)
