"""The command in the folder that users have on PATH: ours is replaced or taken away, anybody else's is left alone."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from . import user_commands
from .command import is_front
from .refusals import Refused
from .release import atomic
from .release.layout import Layout, Release
from .release.receipt import Placed


def place(command: Path, where: Layout, kind: str, former: Placed | None) -> Placed:
    """Put the front at *command* in one rename and say what was put; refuse to replace what is not ours."""
    refuse_foreign(command, where, former)
    front = Release(where.current).front
    if kind == "link":
        atomic.link(command, str(front))
        return Placed(str(command), "link", str(front))
    copy(front, command)
    return Placed(str(command), "copy", atomic.sha256(command))


def refuse_foreign(command: Path, where: Layout, former: Placed | None) -> None:
    """Refuse when something stands at *command* that this installation did not put there."""
    if not os.path.lexists(command) or is_ours(command, where, former):
        return
    if is_front(command):
        raise Refused(f"{command} belongs to another installation of Maple", "uninstall that one first")
    raise Refused(f"{command} is there and is not ours", "choose another --bin, or move that file away yourself")


def is_ours(command: Path, where: Layout, former: Placed | None) -> bool:
    """Return whether what stands at *command* was put there by the installation below this prefix."""
    if former is not None and former.kind == user_commands.KIND:
        return user_commands.is_ours(former)
    if command.is_symlink():
        return os.readlink(command) == str(Release(where.current).front)
    return former is not None and former.kind == "copy" and command.is_file() and atomic.sha256(command) == former.what


def copy(source: Path, target: Path) -> None:
    """Copy a program to *target* in one rename."""
    handle, draft = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    os.close(handle)
    try:
        shutil.copyfile(source, draft)
        os.chmod(draft, 0o755)
        os.replace(draft, target)
    except BaseException:
        os.unlink(draft)
        raise


def remove(one: Placed, where: Layout) -> bool:
    """Take the command away if it is still ours; return whether it is gone."""
    command = Path(one.path)
    atomic.sweep(command)
    if not os.path.lexists(command):
        return True
    if not is_ours(command, where, one):
        return False
    command.unlink()
    return True
