"""The service's files: written whole or not at all, never over somebody else's, and taken away while they are ours."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import maple_submit_filter

from ..refusals import Refused
from ..release import atomic
from ..release.layout import Placed, restore

Undo = list[Callable[[], object]]


def placed(file: File) -> Placed:
    """Return what the receipt says of a file that is to be written."""
    return Placed(str(file.path), "settings" if file.kept else "unit", hashlib.sha256(file.content).hexdigest())


def refuse_foreign(files: Iterable[File], former: Iterable[Placed]) -> None:
    """Refuse where a unit stands that is not of this installation, or was changed since."""
    known = {placed.path: placed for placed in former}
    for file in files:
        old = known.get(str(file.path))
        if file.kept or not os.path.lexists(file.path) or (old and is_ours(old)) or holds(file.path, file.content):
            continue
        raise Refused(f"{file.path} is there and is not ours", "move it away, or choose another folder with --units")


def write(file: File, former: Iterable[Placed], undo: Undo) -> Placed:
    """Write a file, unless it is the administrator's by now; return what the receipt says of it."""
    known = next((before for before in former if before.path == str(file.path)), None)
    there = file.path.read_bytes() if file.path.is_file() else None
    if there == file.content:
        return placed(file)
    if file.kept and there is not None and not (known and is_ours(known)):
        return known or Placed(str(file.path), "settings", "")
    undo.append(lambda: restore(file.path, there))
    atomic.write(file.path, file.content, file.mode)
    return placed(file)


def is_ours(placed: Placed) -> bool:
    """Return whether the file is as it was written."""
    path = Path(placed.path)
    return path.is_file() and not path.is_symlink() and atomic.sha256(path) == placed.what


def holds(path: Path, content: bytes) -> bool:
    """Return whether that very file is there already, as after a run that was killed."""
    return path.is_file() and not path.is_symlink() and path.read_bytes() == content


def remove(placed: Placed) -> bool:
    """Take a file away if it is as it was written; return whether it is gone."""
    path = Path(placed.path)
    atomic.sweep(path)
    if is_ours(placed):
        path.unlink()
    return not os.path.lexists(path)


# A file of the service's part of an installation, and where those that it is made of lie.


class File(NamedTuple):
    """*kept*: from when it is there it is the administrator's, and no update changes it."""

    path: Path
    content: bytes
    kept: bool = False
    mode: int = 0o644


def checkout() -> Path:
    """Return the folder above our packages, where this is a checkout."""
    return Path(maple_submit_filter.__file__).resolve().parents[2]
