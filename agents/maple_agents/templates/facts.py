"""A fact of a site file by its key path, as the parts of the repository name it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from ..ask.sites.mistakes import nearest
from ..ask.sites.model import SiteFile


def fact(file: SiteFile, key_path: str) -> Any:
    """Return what stands at *key_path*: "modules.pytorch.0" is a `Load`, "network.variables.2" a variable.

    A list is indexed from 0. Raises `ValueError` with one line: the key that is not there, and the nearest known one.
    """
    found: Any = file
    walked: list[str] = []
    for key in key_path.split("."):
        known = _keys(found)
        if key not in known:
            place = ".".join((file.id, *walked))
            raise ValueError("%s: %s has no %r%s" % (key_path, place, key, _instead(key, known)))
        found = _under(found, key)
        walked.append(key)
    if found is None:
        raise ValueError("%s: %s says nothing of it" % (key_path, file.id))
    return found


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
    if all(one.isdigit() for one in known):
        return "; there are 0 to %s" % known[-1]
    return nearest(key, known) or "; there are %s" % ", ".join(known)
