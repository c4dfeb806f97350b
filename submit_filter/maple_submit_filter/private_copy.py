"""The private copy of a changed script, where there is no C front; `front/copy.c` has the same folders and sweeps."""

from __future__ import annotations

import os
import stat
from typing import Mapping, Optional, Sequence


def own_folder(base: bytes, environment: Mapping[bytes, bytes], below_home: Sequence[bytes]) -> Optional[bytes]:
    """Return the folder `maple` among the user's caches or state, created and checked; None if it is not safe."""
    root = environment.get(base, b"")
    if not root.startswith(b"/"):
        root = environment.get(b"HOME", b"")
        if not root.startswith(b"/"):
            return None
        for name in below_home:
            root = os.path.join(root, name)
            _make(root)
    path = os.path.join(root, b"maple")
    return path if _private(path) else None


def place(script: bytes, name: bytes, environment: Mapping[bytes, bytes]) -> Optional[bytes]:
    """Write the script under its base name in a folder named by its hash; return the path, None where unsafe."""
    import hashlib

    own = own_folder(b"XDG_CACHE_HOME", environment, (b".cache",))
    if own is None or name in (b"", b".", b".."):
        return None
    submit = os.path.join(own, b"submit")
    folder = os.path.join(submit, hashlib.sha256(script).hexdigest()[:32].encode())
    if not _private(submit) or not _private(folder):
        return None
    path, passing = os.path.join(folder, name), os.path.join(folder, b".new.%d" % os.getpid())
    fd = os.open(passing, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with open(fd, "wb") as file:
        file.write(script)
    os.rename(passing, path)
    os.utime(folder)
    return path


def _make(path: bytes) -> None:
    if not os.path.lexists(path):
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:  # another submission was faster
            return


def _private(path: bytes) -> bool:
    _make(path)
    found = os.lstat(path)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        return False
    if stat.S_IMODE(found.st_mode) != 0o700:
        os.chmod(path, 0o700)
    return True
