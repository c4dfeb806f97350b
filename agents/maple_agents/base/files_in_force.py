"""Which files of the template repository are in force; without pydantic, which takes longer to load than these."""

from __future__ import annotations

import os

from maple_submit_filter.host import places


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
