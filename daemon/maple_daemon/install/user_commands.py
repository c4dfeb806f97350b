"""`maple` and `maple-fix` for all users: links beside the front to the programs of the environment that installs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

from .refusals import ancestors, who_else_writes
from .release import atomic
from .release.receipt import Placed
from .service.service_files import hidden

NAMES = ("maple", "maple-fix")
KIND = "tool"


def found(folder: Path) -> tuple[Placed, ...]:
    """Return the links to be placed in *folder*; none to a program that others could change or may not reach."""
    programs = [Path(sys.executable).with_name(name) for name in NAMES]
    return tuple(
        Placed(str(folder / one.name), KIND, str(one)) for one in programs if folder != one.parent and not unfit(one)
    )


def unfit(program: Path) -> str:
    """Return why a program is not one for all users, "" where it is."""
    if not os.access(program, os.X_OK):
        return "is not there"
    if os.geteuid() == 0 and hidden(program):
        return "lies in a home, or its Python does: make it with another, /usr/bin/python3 -m venv /opt/maple-venv"
    real = Path(os.path.realpath(program))
    return next((f"can be changed: {one} {why}" for one in ancestors(real) if (why := who_else_writes(one))), "")


def left_out(folder: Path, placed: Iterable[Placed]) -> dict[str, list[str]]:
    """Return the programs that were not placed, by the reason; one that stands there by itself is no matter."""
    there = {one.path for one in placed}
    found: dict[str, list[str]] = {}
    for name in NAMES:
        program = Path(sys.executable).with_name(name)
        if str(folder / name) not in there and folder != program.parent:
            why = unfit(program) and f"{program.parent} {unfit(program)}" or f"{folder} holds one that is not ours"
            found.setdefault(why, []).append(name)
    return found


def is_ours(one: Placed) -> bool:
    """Return whether the link is as it was placed."""
    return os.path.islink(one.path) and os.readlink(one.path) == one.what


def place(one: Placed, former: Iterable[Placed]) -> bool:
    """Put a link, and return whether it is there: what somebody else has put in its place stays."""
    known = next((old for old in former if old.path == one.path), None)
    if os.path.lexists(one.path) and not is_ours(one) and not (known and known.kind == KIND and is_ours(known)):
        return False
    atomic.link(Path(one.path), one.what)
    return True
