"""Which Python runs the helper: pinned by its real path, so that no PATH, conda or module can change it.

Compiles the front with the very flags that its tests use: they are read from the front's own Makefile.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..refusals import Refused, ancestors, who_else_writes

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
