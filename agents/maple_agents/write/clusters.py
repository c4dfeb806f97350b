"""A cluster with all that is written of it, quickly: checking its files costs a quarter of a second."""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any

from maple_submit_filter import __version__
from maple_submit_filter.host import places

from ..ask import sites
from ..templates.cluster import Cluster
from . import kept

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
    packed = {name: kept.packed(part) for name, part in _checked(site_id).items()}
    _keep({"of": key, "parts": packed}, path)
    return Cluster(site, **_parts(packed))


def _parts(packed: dict[str, Any]) -> dict[str, Any]:
    parts = {name: kept.unpacked(part) for name, part in packed.items()}
    parts["families"] = tuple(parts["families"])
    parts["launches"] = {name: tuple(files) for name, files in parts["launches"].items()}
    return parts


def _checked(site_id: str) -> dict[str, Any]:
    """Return the parts as their files say, each checked. Raises `ValueError`."""
    from ..ask.sites.files import parse
    from ..templates import catalogue, environments, model_facts, paradigms

    path = sites.path(site_id)
    with open(path, "rb") as file:
        checked = parse(file.read(), path)
    known = {name: paradigms.load(name) for name in paradigms.names()}
    site = sites.load(site_id)
    return {
        "file": checked,
        "environment": environments.load(site_id),
        "paradigms": known,
        "launches": {name: catalogue.fitting(one, site, checked) for name, one in known.items()},
        "families": model_facts.load(),
    }


def _key(site_id: str) -> str:
    """Return a hash of the files that the parts come from, and of the code that checks them."""
    here = os.path.dirname(__file__)
    folders = [os.path.normpath(os.path.join(here, one)) for one in _CODE]
    folders += [one for name in FOLDERS for one in places.folders(os.path.join("templates", name))]
    found = [(one.path, one.stat().st_mtime_ns) for folder in folders for one in os.scandir(folder) if one.is_file()]
    with open(sites.path(site_id), "rb") as file:
        source = file.read()
    return hashlib.sha256(("%s %s" % (__version__, sorted(found))).encode() + b"\0" + source).hexdigest()


def _path(site_id: str) -> str:
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(home, "maple", "clusters", "%s.json" % site_id)


def _keep(value: object, path: str) -> None:
    fresh = "%s.%d" % (path, os.getpid())
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(fresh, "w", encoding="utf-8") as file:
            json.dump(value, file)
        os.replace(fresh, path)
    except OSError:
        return
