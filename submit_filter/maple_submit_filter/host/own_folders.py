"""Where the user's own state and cache lie: the folder `maple` in XDG's folder, or in the usual one below the home.

A variable that holds no absolute path counts as not set (XDG Base Directory Specification). `front/copy.c` and
`front/audit.c` have the same folders.
"""

from __future__ import annotations

import os
import stat
from typing import Mapping, NamedTuple, Optional, Tuple


class Kind(NamedTuple):
    """A variable that names a folder, and where the folder lies below the home without it."""

    variable: bytes
    below_home: Tuple[bytes, ...]


STATE = Kind(b"XDG_STATE_HOME", (b".local", b"state"))
CACHE = Kind(b"XDG_CACHE_HOME", (b".cache",))


def path(kind: Kind, environment: Mapping[bytes, bytes]) -> Optional[bytes]:
    """Return the folder, which may not be there yet; None where there is no home."""
    root, below = _root(kind, environment)
    return os.path.join(root, *below, b"maple") if root else None


def state(environ: Mapping[str, str] = os.environ) -> Optional[str]:
    """Return the folder of the user's own state, which may not be there yet; None where there is no home of one's own.

    For root a home that others can change is none: `sudo maple` may have kept a user's.
    """
    return _text(STATE, environ)


def cache(environ: Mapping[str, str] = os.environ) -> Optional[str]:
    """Return the same of the user's own cache."""
    return _text(CACHE, environ)


def made(kind: Kind, environment: Mapping[bytes, bytes]) -> Optional[bytes]:
    """Return the folder, created with mode 0700 and checked; None where it is not safe, or there is no home.

    Raises `OSError` where it cannot be made.
    """
    base = made_base(kind, environment)
    if base and os.geteuid() == 0 and not guarded(os.path.realpath(base)):
        return None  # another's
    folder = os.path.join(base or b"", b"maple")
    return folder if base and private(folder) else None


def made_base(kind: Kind, environment: Mapping[bytes, bytes]) -> Optional[bytes]:
    """Return the folder that `maple` lies in, made below a home of one's own; None without a home."""
    base, below = _root(kind, environment)
    ours = bool(below) and os.stat(base).st_uid == os.geteuid()
    for name in below:
        base = os.path.join(base, name)
        if ours:
            _make(base)
    return base or None


def guarded(folder: bytes) -> bool:
    """Return whether nobody but the user and root can change what lies at this path, which holds no link.

    As sshd's StrictModes has it; in a sticky folder others only add to what is there. Raises `OSError`.
    """
    whole = b""
    for name in folder.rstrip(b"/").split(b"/"):
        whole += name + b"/"
        status = os.lstat(whole.rstrip(b"/") or b"/")
        open_to_others = status.st_mode & 0o022 and not status.st_mode & stat.S_ISVTX
        if not stat.S_ISDIR(status.st_mode) or status.st_uid not in (0, os.geteuid()) or open_to_others:
            return False
    return True


def private(folder: bytes) -> bool:
    """Return whether a folder is the user's own and closed to others; it is made, or closed, where it is not yet."""
    _make(folder)
    status = os.lstat(folder)
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        return False
    if stat.S_IMODE(status.st_mode) != 0o700:
        os.chmod(folder, 0o700)
    return True


def _root(kind: Kind, environment: Mapping[bytes, bytes]) -> Tuple[bytes, Tuple[bytes, ...]]:
    """Return the folder that is there, b"" for none, and the names below it."""
    named, home = environment.get(kind.variable, b""), environment.get(b"HOME", b"")
    if named.startswith(b"/"):
        return named, ()
    return (home, kind.below_home) if home.startswith(b"/") else (b"", ())


def _make(folder: bytes) -> None:
    if not os.path.lexists(folder):
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:  # another submission was faster
            return


def _text(kind: Kind, environ: Mapping[str, str]) -> Optional[str]:
    names = (os.fsdecode(kind.variable), "HOME")
    folder = path(kind, {os.fsencode(name): os.fsencode(environ[name]) for name in names if name in environ})
    return os.fsdecode(folder) if folder and (os.geteuid() != 0 or _would_be_guarded(folder)) else None


def _would_be_guarded(folder: bytes) -> bool:
    """Return whether nobody else can change what is there of a path, so that what is made there would be one's own."""
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    try:
        return guarded(os.path.realpath(folder))
    except OSError:
        return False
