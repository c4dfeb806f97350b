"""The releases below the prefix, and which of them is in force."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

from ..refusals import Refused
from .layout import Layout, Release, link, sha256
from .layout import sweep as sweep_folder


def in_force(where: Layout) -> str:
    """Return the name of the release that `current` points to, "" when it points to none that is there."""
    try:
        target = Path(os.readlink(where.current))
    except OSError:
        return ""
    return target.name if (where.prefix / target).is_dir() else ""


def names(where: Layout) -> list[str]:
    """Return the releases that are there."""
    try:
        return sorted(path.name for path in where.releases.iterdir() if path.is_dir() and not path.name.startswith("."))
    except OSError:
        return []


def switch(where: Layout, name: str) -> None:
    """Put a release in force, in one rename."""
    link(where.current, f"releases/{name}")


def chosen(where: Layout, history: tuple[str, ...], wanted: str) -> str:
    """Return the release to go back to: the one in force before, or the one whose version or name is *wanted*."""
    there = names(where)
    now = in_force(where) or (history[-1] if history else "")
    if not wanted:
        before = [name for name in history if name != now and name in there]
        if not before:
            raise Refused(
                "there is no earlier release to go back to", "maple admin rollback --list shows those there are"
            )
        return before[-1]
    fits = [name for name in there if name == wanted or name.rpartition("-")[0] == wanted]
    fits.sort(key=lambda name: history.index(name) if name in history else -1)
    if not fits:
        raise Refused(f"there is no release {wanted}", f"there are: {', '.join(there) or 'none'}")
    return fits[-1]


def manifest(release: Release) -> dict[str, Any]:
    """Return the manifest of a release, {} when there is none to be read."""
    try:
        data = json.loads(release.manifest.read_bytes())
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def listing(root: Path) -> dict[str, list[str]]:
    """Return hash and mode of every file below *root* by its path from there.

    The manifest itself is left out, and front.conf, which `maple admin mode` may change.
    """
    hashes: dict[str, list[str]] = {}
    for path in sorted(root.rglob("*")):
        if path.is_file() and path.name not in ("manifest.json", "front.conf"):
            hashes[str(path.relative_to(root))] = [sha256(path), f"{path.stat().st_mode & 0o7777:o}"]
    return hashes


def damage(release: Release) -> list[str]:
    """Return one line for each file that is not as it was installed."""
    stated = manifest(release).get("files")
    if not isinstance(stated, dict):
        return [f"{release.manifest} is missing or unreadable"]
    real = listing(release.root)
    lines = [f"{name} is missing" for name in stated if name not in real]
    lines += [f"{name} was not installed by Maple" for name in real if name not in stated]
    for name in stated.keys() & real.keys():
        if stated[name][0] != real[name][0]:
            lines.append(f"{name} was changed")
        elif stated[name][1] != real[name][1]:
            lines.append(f"{name} has mode {real[name][1]}, not {stated[name][1]}")
    return sorted(lines)


def discard(where: Layout, name: str) -> None:
    """Remove a release that is not in force."""
    if name and name != in_force(where):
        shutil.rmtree(where.releases / name, ignore_errors=True)


def sweep(where: Layout) -> None:
    """Remove what an interrupted installation left half done."""
    for draft in where.releases.glob(".new.*"):
        shutil.rmtree(draft, ignore_errors=True)
    for own in where.own():
        sweep_folder(own)
