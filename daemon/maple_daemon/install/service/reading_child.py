"""The process that reads a user's files: its interpreter, and its packages, which lie in the release with all else.

It runs in every user's name. So nothing of a checkout or of an environment's packages is run: a release has copies of
its own, which its manifest and `maple admin doctor` know, and the front looks at their owners each time.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from ..refusals import Refused, ancestors, who_else_writes
from ..release.interpreter import Interpreter, inspect, reason
from ..release.layout import Release
from ..release.sources import copy_tree

OLDEST = (3, 11)  # of what reads configs
PACKAGES = ("maple_submit_filter", "maple_agents", "yaml")


def python_for(pinned: Interpreter) -> Interpreter | None:
    """Return the interpreter that every user's process can run and nobody else can change, None where there is none."""
    interpreters = (inspect(str(path)) for path in (pinned.path, Path(sys.executable)))
    return next(
        (interpreter for interpreter in interpreters if isinstance(interpreter, Interpreter) and _fits(interpreter)),
        None,
    )


def packages() -> tuple[Path, ...]:
    """Return the folders of the packages that it needs; raises `Refused` where one is not installed."""
    return tuple(_folder(package) for package in PACKAGES)


def keys(release: Release, python: Interpreter) -> dict[str, str]:
    """Return the keys of front.conf; every path is of this very release, but for the interpreter."""
    return {"child": str(release.child), "child_python": str(python.path)}


def fill(release: Release, python: Interpreter) -> None:
    """Copy the packages into a release, with the interpreter's byte code; raises `Refused`."""
    for package in packages():
        copy_tree(package, release.reader / package.name)
    words = ["-IS", "-m", "compileall", "-q", "-s", str(release.root), "--invalidation-mode", "unchecked-hash"]
    command = [str(python.path), *words, str(release.reader)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", env={}, check=False)
    if done.returncode:
        raise Refused(f"{python.path} cannot compile Maple: {reason(done)}", "name another with --python")


def _fits(python: Interpreter) -> bool:
    real = python.path
    safe = not any(who_else_writes(path) for path in ancestors(real))
    return python.version >= OLDEST and safe and _is_open((real, *real.parents))


def _folder(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.origin:
        raise Refused(f"--daemon: the package {package} is not there", "install the whole of maple-hpc")
    return Path(os.path.realpath(spec.origin)).parent


def _is_open(paths: Iterable[Path]) -> bool:
    """Return whether everybody may read or enter all of these; an installation for oneself is for oneself."""
    return os.geteuid() != 0 or all(_lets(path, 0o005 if path.is_dir() else 0o004) for path in paths)


def _lets(path: Path, everybody: int) -> bool:
    return path.stat().st_mode & everybody == everybody
