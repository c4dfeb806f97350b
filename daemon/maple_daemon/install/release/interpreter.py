"""Which Python runs the helper, pinned by its real path, and which one reads a user's files, with its packages.

The front is compiled with the very flags that its tests use: they are read from its own Makefile.

What reads a user's files runs in his name. So nothing of a checkout or of an environment's packages is run: a release
has copies of its own, which its manifest and `maple admin doctor` know, and the front looks at their owners each time.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from ..refusals import Refused, ancestors, who_else_writes
from .layout import Release
from .sources import copy_tree

# A static program starts sooner and is out of reach of LD_PRELOAD; without a static libc a dynamic one will do.
LINKS = (("-static",), ("-fPIE", "-pie", "-Wl,-z,relro,-z,now"))

OLDEST = (3, 9)
# The system's own interpreters first: they are there on every node and outlive a user's environments.
SYSTEM = (
    "/usr/bin/python3",
    "/usr/libexec/platform-python",
    *(f"/usr/bin/python3.{minor}" for minor in range(20, 8, -1)),
)


class Interpreter(NamedTuple):
    """A Python that was tried, with its real path."""

    path: Path
    version: tuple[int, ...]


def pin(asked: str = "") -> Interpreter:
    """Return the interpreter to use: the one asked for, or the first of the system's that will do."""
    if asked:
        inspected = inspect(asked)
        if isinstance(inspected, str):
            raise Refused(f"--python: {asked} {inspected}", "name a Python of 3.9 or newer that only root can change")
        return inspected
    for candidate in candidates():
        inspected = inspect(candidate)
        if not isinstance(inspected, str):
            return inspected
    raise Refused("no Python of 3.9 or newer was found for the helper", "install one, or name it with --python PATH")


def candidates() -> Iterator[str]:
    """Yield where a Python may be, the best first; the one that runs this command is the last resort."""
    yield from SYSTEM
    yield sys.executable


def inspect(path: str) -> Interpreter | str:
    """Return the interpreter at *path*, or why it will not do."""
    if not path.startswith("/"):
        return "is a relative path"
    real = Path(os.path.realpath(path))
    if not os.access(real, os.X_OK) or real.is_dir():
        return "is not there or not executable"
    for folder in ancestors(real):
        if why := unsafe(folder):
            return f"lies below {folder}, which {why}"
    version = ask_version(real)
    if version < OLDEST:
        return f"is Python {'.'.join(map(str, version))}" if version else "does not answer as Python"
    return Interpreter(real, version)


def unsafe(path: Path) -> str:
    """Return why an interpreter there will not do, "" when it will.

    For everybody only root may be able to change it; for oneself the site's software folders, whoever keeps them, do.
    """
    why = who_else_writes(path)
    return why if os.geteuid() == 0 or "everybody" in why else ""


def ask_version(path: Path) -> tuple[int, ...]:
    """Return the version of the Python at *path*, () when it is none."""
    question = "import sys; print(*sys.version_info[:3])"
    try:
        done = subprocess.run([path, "-IS", "-c", question], capture_output=True, timeout=20, env={}, check=False)
        return tuple(int(word) for word in done.stdout.split()) if done.returncode == 0 else ()
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return ()


def compile_front(compiler: str, folder: Path, prefix: Path, program: Path) -> None:
    """Make the front from the sources in *folder*; refuse with the compiler's own words where it cannot be made."""
    code = [folder / name for name in ("front.c", *variable(folder, "PARTS"))]
    flags = [*variable(folder, "WARN"), *variable(folder, "HARDEN"), f'-DMAPLE_PREFIX="{prefix}"']
    for link in LINKS:
        words = [compiler, *flags, *link, "-o", str(program), *map(str, code)]
        environment = {"PATH": os.defpath, "LC_ALL": "C", "TMPDIR": str(program.parent)}
        done = subprocess.run(words, capture_output=True, text=True, errors="replace", env=environment, check=False)
        if done.returncode == 0:
            return
    raise Refused(
        f"the front does not compile: {reason(done)}", "--no-compiler takes the front that came built with Maple"
    )


def refuse_foreign(program: Path) -> None:
    """Refuse a front that this machine cannot start, as one of another architecture. It finds no command to become."""
    try:
        subprocess.run([program], stdin=subprocess.DEVNULL, capture_output=True, env={"PATH": "/nonexistent"},
                       timeout=10, check=False)  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Refused(
            f"the front that came with Maple does not run here: {error}", "install cc, to compile it"
        ) from None


def variable(folder: Path, name: str) -> list[str]:
    """Return the words of a variable of the front's Makefile."""
    lines = (folder / "Makefile").read_text().splitlines()
    return next((line.split("=", 1)[1].split() for line in lines if line.split("=", 1)[0].strip() == name), [])


def reason(done: subprocess.CompletedProcess[str]) -> str:
    """Return the line that says best why a command failed: the first that speaks of an error, else the last."""
    lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    return next((line for line in lines if "error" in line.lower()), lines[-1] if lines else f"exit {done.returncode}")


OLDEST_READER = (3, 11)  # of what reads configs
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
    return python.version >= OLDEST_READER and safe and _is_open((real, *real.parents))


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
