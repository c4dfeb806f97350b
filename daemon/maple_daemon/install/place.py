"""The real submit command, and ours in the folder that users have on PATH: ours is replaced or taken away.

Anybody else's is left alone.

`maple` and `maple-fix` for all users: links beside the front to the programs of the environment that installs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from .refusals import Refused, absolute, ancestors, who_else_writes
from .release import layout
from .release.layout import Layout, Placed, Release
from .service.service_files import hidden

COMMANDS = ("maple", "maple-fix")
LINK = "tool"


def place(command: Path, where: Layout, kind: str, former: Placed | None) -> Placed:
    """Put the front at *command* in one rename and say what was put; refuse to replace what is not ours."""
    refuse_foreign(command, where, former)
    front = Release(where.current).front
    if kind == "link":
        layout.link(command, str(front))
        return Placed(str(command), "link", str(front))
    copy(front, command)
    return Placed(str(command), "copy", layout.sha256(command))


def refuse_foreign(command: Path, where: Layout, former: Placed | None) -> None:
    """Refuse when something stands at *command* that this installation did not put there."""
    if not os.path.lexists(command) or is_ours(command, where, former):
        return
    if is_front(command):
        raise Refused(f"{command} belongs to another installation of Maple", "uninstall that one first")
    raise Refused(f"{command} is there and is not ours", "choose another --bin, or move that file away yourself")


def is_ours(command: Path, where: Layout, former: Placed | None) -> bool:
    """Return whether what stands at *command* was put there by the installation below this prefix."""
    if former is not None and former.kind == LINK:
        return link_is_ours(former)
    if command.is_symlink():
        return os.readlink(command) == str(Release(where.current).front)
    return former is not None and former.kind == "copy" and command.is_file() and layout.sha256(command) == former.what


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


def remove(placed: Placed, where: Layout) -> bool:
    """Take the command away if it is still ours; return whether it is gone."""
    command = Path(placed.path)
    layout.sweep(command)
    if not os.path.lexists(command):
        return True
    if not is_ours(command, where, placed):
        return False
    command.unlink()
    return True


def links_for(folder: Path) -> tuple[Placed, ...]:
    """Return the links to be placed in *folder*; none to a program that others could change or may not reach."""
    programs = [Path(sys.executable).with_name(name) for name in COMMANDS]
    return tuple(
        Placed(str(folder / path.name), LINK, str(path))
        for path in programs
        if folder != path.parent and not unfit_program(path)
    )


def unfit_program(program: Path) -> str:
    """Return why a program is not one for all users, "" where it is."""
    if not os.access(program, os.X_OK):
        return "is not there"
    home = hidden(program) if os.geteuid() == 0 else ""
    if home:
        return f"needs {home}, in a home: install from /usr/bin/python3 -m venv /opt/maple-venv"
    real = Path(os.path.realpath(program))
    return next((f"can be changed: {path} {why}" for path in ancestors(real) if (why := who_else_writes(path))), "")


def commands_left_out(folder: Path, placed: Iterable[Placed]) -> dict[str, list[str]]:
    """Return the programs that were not placed, by the reason; one that stands there by itself is no matter."""
    there = {command.path for command in placed}
    left_out: dict[str, list[str]] = {}
    for name in COMMANDS:
        program = Path(sys.executable).with_name(name)
        if str(folder / name) not in there and folder != program.parent:
            why = (
                unfit_program(program)
                and f"{program.parent} {unfit_program(program)}"
                or f"{folder} holds one that is not ours"
            )
            left_out.setdefault(why, []).append(name)
    return left_out


def link_is_ours(placed: Placed) -> bool:
    """Return whether the link is as it was placed."""
    return os.path.islink(placed.path) and os.readlink(placed.path) == placed.what


def place_link(placed: Placed, former: Iterable[Placed]) -> bool:
    """Put a link, and return whether it is there: what somebody else has put in its place stays."""
    known = next((old for old in former if old.path == placed.path), None)
    if (
        os.path.lexists(placed.path)
        and not link_is_ours(placed)
        and not (known and known.kind == LINK and link_is_ours(known))
    ):
        return False
    layout.link(Path(placed.path), placed.what)
    return True


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
