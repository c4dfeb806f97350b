"""A cluster with all that is written of it, quickly: checking its files costs a quarter of a second."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from maple_submit_filter import __version__
from maple_submit_filter.host import own_folders, places

from ..ask import sites
from ..base import new_file
from ..templates.cluster import Cluster

if TYPE_CHECKING:
    from pydantic import BaseModel

FOLDERS = ("paradigm", "environment", "models", "launch")
_CODE = ("", "../ask/sites", "../templates", "../base")  # whose files make what is kept


def cluster(site_id: str) -> Cluster:
    """Return the cluster of that id: its facts, its checked file, and the parts of the repository that it can use.

    Raises `ValueError` with one line where there is no such site or a file is wrong. What was checked once is kept in
    the user's cache with a hash of the files and of the code that checks them; a cache that cannot be read or written
    is done without.

    Facts that are only likely count here as all others do: nothing is written unasked, and who asked sees it.
    """
    site = sites.load(site_id)._replace(unsure=())
    key, path = _key(site_id), _path(site_id)
    try:
        with open(path, "rb") as file:
            cached = json.load(file)
        if cached["of"] == key:
            return Cluster(site, **_parts(cached["parts"]))
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        pass  # not there yet, or not ours: check the files
    parts = {name: packed(part) for name, part in _checked(site_id).items()}
    new_file.keep({"of": key, "parts": parts}, path)
    return Cluster(site, **_parts(parts))


def _parts(packed: dict[str, Any]) -> dict[str, Any]:
    parts = {name: unpacked(part) for name, part in packed.items()}
    parts["families"] = tuple(parts["families"])
    parts["launches"] = {name: tuple(files) for name, files in parts["launches"].items()}
    return parts


def _checked(site_id: str) -> dict[str, Any]:
    """Return the parts as their files say, each checked. Raises `ValueError`."""
    from ..ask.sites.files import parse
    from ..templates import catalogue, environments, model_facts, paradigms
    from ..templates.environments import Described

    path = sites.path(site_id)
    with open(path, "rb") as file:
        checked = parse(file.read(), path)
    known = {name: paradigms.load(name) for name in paradigms.names()}
    site = sites.load(site_id)
    return {
        "file": checked,
        "environment": environments.load(site_id) or environments.of_draft(Described(site, checked, None)),
        "paradigms": known,
        "launches": {name: catalogue.fitting(paradigm, site, checked) for name, paradigm in known.items()},
        "families": model_facts.load(),
    }


def _key(site_id: str) -> str:
    """Return a hash of the files that the parts come from, and of the code that checks them."""
    here = os.path.dirname(__file__)
    folders = [os.path.normpath(os.path.join(here, module)) for module in _CODE]
    folders += [folder for name in FOLDERS for folder in places.folders(os.path.join("templates", name))]
    stamps = [
        (entry.path, entry.stat().st_mtime_ns) for folder in folders for entry in os.scandir(folder) if entry.is_file()
    ]
    with open(sites.path(site_id), "rb") as file:
        source = file.read()
    return hashlib.sha256(("%s %s" % (__version__, sorted(stamps))).encode() + b"\0" + source).hexdigest()


def _path(site_id: str) -> str:
    """Return where it is kept, "" for nowhere."""
    cache = own_folders.cache()
    return os.path.join(cache, "clusters", "%s.json" % site_id) if cache else ""


# Tables of files that were checked once, without the library that checks them, which costs a quarter of a second.
#
# A kept table has the keys of its file and the properties of its class as attributes, so that whoever reads it need not
# know which of the two it has.


class Kept:
    """A table. Unchangeable."""

    __slots__ = ("__dict__",)

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("%s: a kept table is not changed" % name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Kept) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(tuple(self.__dict__))

    def __repr__(self) -> str:
        return "Kept(%r)" % self.__dict__


def packed(value: object) -> Any:
    """Return *value* as what `json.dumps` takes. A list stands for each table and list, with its kind in front."""
    if hasattr(type(value), "model_fields"):
        return ["table", {name: packed(inner) for name, inner in _attributes(value).items()}]  # type: ignore[arg-type]
    if isinstance(value, Mapping):
        return {name: packed(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return ["list", [packed(inner) for inner in value]]
    return value if value is None or isinstance(value, (str, int, float, bool)) else str(value)


def unpacked(value: Any) -> Any:
    """Return what was packed, with a `Kept` for each table. Raises `ValueError` for what is not ours."""
    if isinstance(value, dict):
        return {name: unpacked(inner) for name, inner in value.items()}
    if not isinstance(value, list):
        return value
    if len(value) != 2 or value[0] not in ("table", "list"):
        raise ValueError("not a kept table")
    if value[0] == "list":
        return [unpacked(inner) for inner in value[1]]
    return Kept({name: unpacked(inner) for name, inner in value[1].items()})


def _attributes(table: BaseModel) -> dict[str, Any]:
    """Return keys and properties of a table by name."""
    names = [*type(table).model_fields, *_properties(type(table))]
    return {name: getattr(table, name) for name in names}


def _properties(shape: type) -> list[str]:
    ours = [base for base in shape.__mro__ if base.__module__.startswith("maple_agents")]
    return [name for our in ours for name, value in vars(our).items() if isinstance(value, property)]
