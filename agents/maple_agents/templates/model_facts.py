"""Models known by name, and what training one needs: `templates/models/`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from ..ask.sites.model import SiteFile
from ..base.near_names import nearest
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
    return next(((family, member) for family in load() for member in family.members if member.name == name), None)


def fact(file: SiteFile, key_path: str) -> Any:
    """Return what stands at *key_path*: "modules.pytorch.0" is a `Load`, "network.variables.2" a variable.

    A list is indexed from 0. Raises `ValueError` with one line: the key that is not there, and the nearest known one.
    """
    value: Any = file
    walked: list[str] = []
    for key in key_path.split("."):
        known = _keys(value)
        if key not in known:
            place = ".".join((file.id, *walked))
            raise ValueError("%s: %s has no %r%s" % (key_path, place, key, _instead(key, known)))
        value = _under(value, key)
        walked.append(key)
    if value is None:
        raise ValueError("%s: %s says nothing of it" % (key_path, file.id))
    return value


def _keys(value: Any) -> list[str]:
    if isinstance(value, BaseModel):
        return list(type(value).model_fields)
    if isinstance(value, Mapping):
        return [str(key) for key in value]
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [str(index) for index in range(len(value))]
    return []


def _under(value: Any, key: str) -> Any:
    if isinstance(value, BaseModel):
        return getattr(value, key)
    return value[int(key)] if isinstance(value, Sequence) else value[key]


def _instead(key: str, known: Sequence[str]) -> str:
    if not known:
        return "; nothing is below it"
    if all(name.isdigit() for name in known):
        return "; there are 0 to %s" % known[-1]
    return nearest(key, known) or "; there are %s" % ", ".join(known)
