"""What front.conf says of the process that reads a user's files: its program, its interpreter, and our packages.

It runs in every user's name, so only the installing user may be able to change any of it, and everybody must reach it.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from .interpreter import Interpreter, inspect
from .refusals import ancestors, who_else_writes

OLDEST = (3, 11)  # of what reads configs
PACKAGES = ("maple_submit_filter", "maple_agents", "yaml")


def keys(pinned: Interpreter) -> dict[str, str]:
    """Return the keys of front.conf; {} where no user's process could run it, or others than we could change it."""
    python = next((one for one in (pinned.path, Path(sys.executable)) if _runs(one)), None)
    folders = [folder for folder in map(_folder, PACKAGES) if folder]
    program = os.path.join(_folder("maple_agents"), "maple_agents", "admission", "child.py")
    if python is None or not all(_is_ours(one) for one in (program, *folders)):
        return {}
    path = ":".join(dict.fromkeys(folders))
    return {"child": program, "child_python": os.path.realpath(python), "child_path": path}


def _runs(python: Path) -> bool:
    found = inspect(str(python))
    return isinstance(found, Interpreter) and found.version >= OLDEST and _is_ours(str(found.path))


def _folder(package: str) -> str:
    """Return the folder that holds a package, "" where there is none."""
    found = importlib.util.find_spec(package)
    where = found.origin if found is not None else None
    return os.path.dirname(os.path.dirname(os.path.realpath(where))) if where else ""


def _is_ours(path: str) -> bool:
    real = Path(os.path.realpath(path))
    if ":" in path or "\n" in path or not real.exists():
        return False
    return not any(who_else_writes(one) for one in ancestors(real)) and _is_open((real, *real.parents))


def _is_open(paths: Iterable[Path]) -> bool:
    """Return whether everybody may read or enter all of these; an installation for oneself is for oneself."""
    return os.geteuid() != 0 or all(_lets(one, 0o005 if one.is_dir() else 0o004) for one in paths)


def _lets(path: Path, everybody: int) -> bool:
    return path.stat().st_mode & everybody == everybody
