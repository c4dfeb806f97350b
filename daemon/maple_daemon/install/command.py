"""The real submit command: where it is, and whether the shell would find ours before it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from .refusals import Refused, absolute

PATIENCE = 20  # seconds
CHAIN = (b"came back to the front", b"starts the front again")  # what a front says that was started by another
MARK = b"front.conf"  # every front holds these bytes, so that one is never taken for the real command


def is_front(path: Path) -> bool:
    """Return whether the program at *path* is a front of Maple, of whatever version and prefix."""
    try:
        with open(path, "rb") as file:
            return MARK in file.read(4 << 20)
    except OSError:
        return False


def find_real(name: str, path_variable: str, asked: str = "") -> Path:
    """Return the real command: the one asked for, or the first on PATH that is not a front of ours.

    Its path is kept as found, links unresolved: an update of the scheduler moves what they point to.
    """
    if asked:
        return examined(absolute(asked, f"--real-{name}"), name)
    for folder in path_variable.split(":"):
        candidate = Path(folder, name)
        if folder.startswith("/") and runnable(candidate) and not is_front(candidate):
            return candidate
    raise Refused(f"no {name} was found on PATH", f"name it with --real-{name} PATH")


def examined(path: Path, name: str) -> Path:
    """Return *path* if it can be the real command."""
    if not runnable(path):
        raise Refused(f"--real-{name}: {path} is not there or not executable", f"name the scheduler's own {name}")
    if is_front(path):
        raise Refused(f"--real-{name}: {path} is Maple itself", f"name the scheduler's own {name}")
    return path


def runnable(path: Path) -> bool:
    """Return whether *path* is a program that we may start."""
    return path.is_file() and os.access(path, os.X_OK)


def finds_front(front: Path, path_variable: str) -> str:
    """Return why what *front* becomes is not the real command, "" where it is: asked for its version, it may end here.

    A wrapper of the site's that takes its own folder out of PATH and calls the next of that name finds the front.
    """
    environment = {"PATH": path_variable, "MAPLE": "off,verbose", "LC_ALL": "C"}
    try:
        done = subprocess.run([front, "--version"], env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=PATIENCE, check=False)  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"does not tell its version within {PATIENCE} s"
    except OSError as error:
        return f"cannot be asked for its version: {error.strerror}"
    return "is a wrapper that finds the front through PATH" if any(word in done.stderr for word in CHAIN) else ""


def comes_first(folder: Path, real: Path, path_variable: str) -> bool:
    """Return whether a shell with this PATH finds *folder* before the folder of the real command."""
    places = [os.path.realpath(place) for place in path_variable.split(":") if place.startswith("/")]
    ours, theirs = os.path.realpath(folder), os.path.realpath(real.parent)
    return ours in places and (theirs not in places or places.index(ours) < places.index(theirs))


def advice(folder: Path) -> str:
    """Return what makes a shell find *folder* first, ready to be copied."""
    return (
        f"put it in front, for everybody in /etc/profile.d/zz-maple.sh:\n"
        f'    case "$PATH" in {folder}:*) ;; *) PATH={folder}:$PATH ;; esac\n'
        f"or in a module file (Lmod):\n"
        f'    prepend_path("PATH", "{folder}")'
    )
