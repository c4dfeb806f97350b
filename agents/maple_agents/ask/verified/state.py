"""The folders in which verifications are remembered: the user's own state folder, and the site's."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from maple_submit_filter.host import own_folders, places

SITE_FOLDER = "verified"  # below /etc/maple: records that an administrator has put there for everybody


def own(environ: Mapping[str, str] = os.environ) -> str | None:
    """Return the user's folder for verifications, which may not be there yet; None where there is no home."""
    state = own_folders.state(environ)
    return os.path.join(state, "verify") if state else None


def of_templates(environ: Mapping[str, str] = os.environ) -> list[str]:
    """Return the folders that may hold records of launch templates, the site's first."""
    mine = own(environ)
    return [*places.folders(SITE_FOLDER, environ), *([os.path.join(mine, "templates")] if mine else [])]


def names(folder: str) -> list[str]:
    """Return the names of the JSON files in a folder, sorted; none where it cannot be read."""
    try:
        return sorted(name for name in os.listdir(folder) if name.endswith(".json") and not name.startswith("."))
    except OSError:
        return []


def put(folder: str, name: str, value: Mapping[str, Any]) -> str:
    """Write a JSON file, whole or not at all, and return its path. Raises `OSError`."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    path, new = os.path.join(folder, name), os.path.join(folder, f".{name}.{os.urandom(3).hex()}")
    try:
        with open(new, "x", encoding="utf-8") as file:
            json.dump(value, file, indent=1, sort_keys=True)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        os.rename(new, path)
    except BaseException:
        if os.path.lexists(new):
            os.unlink(new)
        raise
    return path


def get(path: str, most: int = 1 << 20) -> dict[str, Any] | None:
    """Return the table in a JSON file, None where there is none or it is no table."""
    try:
        with open(path, "rb") as file:
            found = json.loads(file.read(most))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
