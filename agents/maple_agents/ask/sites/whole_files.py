"""The whole of a site's file for who only reads it, as it was checked before: without pydantic, which costs a tenth of
a second.
"""

from __future__ import annotations

import json
from functools import lru_cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from ...base import new_file
from . import checked_by_this, kept_in, path

if TYPE_CHECKING:
    from .model import SiteFile


@lru_cache(maxsize=4)
def whole(site_id: str) -> SiteFile | None:
    """Return the site's file, None where it has none that can be read. What it holds is read, and never changed: tables
    have the keys of `model.py` and none of their methods; dates are words.
    """
    try:
        with open(path(site_id), "rb") as file:
            source = file.read()
    except (OSError, ValueError):
        return None
    of, kept = checked_by_this(source), kept_in("%s.whole" % site_id)
    try:
        with open(kept, "rb") as file:
            table = json.load(file)
        if table["of"] == of:
            return cast("SiteFile", _read(table["file"]))
    except (OSError, ValueError, LookupError, TypeError):
        pass  # not there yet, or not ours: check the file
    plain = _checked(source, path(site_id))
    if plain is None:
        return None
    new_file.keep({"of": of, "file": plain}, kept)
    return cast("SiteFile", _read(plain))


def _checked(source: bytes, filename: str) -> Any:
    from .files import parse

    try:
        return _plain(parse(source, filename))
    except ValueError:
        return None


# A table of the model, and one by names that people chose, are told apart.


def _plain(value: Any) -> Any:
    from pydantic import BaseModel

    if isinstance(value, BaseModel):
        return {"table": {name: _plain(getattr(value, name)) for name in type(value).model_fields}}
    if isinstance(value, dict):
        return {"names": {name: _plain(inner) for name, inner in value.items()}}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def _read(value: Any) -> Any:
    if isinstance(value, list):
        return [_read(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    if "names" in value:
        return {name: _read(inner) for name, inner in value["names"].items()}
    return SimpleNamespace(**{name: _read(inner) for name, inner in value["table"].items()})


__all__ = ["whole"]
