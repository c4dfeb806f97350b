"""What an installation refuses, and why: each refusal is one line and one line of help.

What the doctor says of one thing.
"""

from __future__ import annotations

import grp
import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class Refused(Exception):
    """The installation was not begun or not changed; *help* says what to do."""

    def __init__(self, says: str, help: str) -> None:
        super().__init__(says)
        self.says = says
        self.help = help


def absolute(path: str, option: str) -> Path:
    """Return *path* without dots and doubled slashes; refuse a relative one, whose meaning changes with the folder."""
    if not path.startswith("/"):
        raise Refused(f"{option}: {path} is a relative path", f"give it from the root: {os.path.abspath(path)}")
    if any(character in path for character in "\n\r\0"):
        raise Refused(f"{option}: the path holds a line break", "choose a path without one")
    return Path(os.path.normpath(path))


def ancestors(path: Path) -> Iterator[Path]:
    """Yield the folders from *path* up to the root, as far as they exist."""
    for folder in (path, *path.parents):
        if folder.exists():
            yield folder


def safe_folder(path: Path, option: str) -> None:
    """Refuse a folder that someone else could change: what lies there runs in every user's name."""
    for folder in ancestors(Path(os.path.realpath(path))):
        why = who_else_writes(folder)
        if why:
            raise Refused(
                f"{option}: {folder} {why}", f"choose a folder that only you can change, or chmod go-w {folder}"
            )


def who_else_writes(path: Path) -> str:
    """Return why somebody else may change what lies at *path*, or "" when nobody may."""
    status = path.stat()
    if status.st_uid not in (0, os.geteuid()):
        return f"belongs to {user_name(status.st_uid)}"
    if status.st_mode & stat.S_ISVTX and path.is_dir():
        return ""  # as in /tmp: others add to it, but may not replace what is ours
    if status.st_mode & stat.S_IWOTH:
        return "is writable by everybody"
    if status.st_mode & stat.S_IWGRP and status.st_gid != 0 and not private_group(status.st_gid):
        return f"is writable by the group {group_name(status.st_gid)}"
    return ""


def private_group(gid: int) -> bool:
    """Return whether the group is the caller's own, as distributions make one for each user."""
    return os.geteuid() != 0 and group_name(gid) == user_name(os.geteuid())


def user_name(uid: int) -> str:
    """Return the name of a user, or the number where there is none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def group_name(gid: int) -> str:
    """Return the name of a group, or the number where there is none."""
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)


class Check(NamedTuple):
    """*state*: "ok", "wrong" or "note" (works, but look at it). *todo* is "" where nothing is to be done."""

    name: str
    state: str
    says: str
    todo: str = ""
