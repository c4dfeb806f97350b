"""The private copy of a changed script, where there is no C front; `front/copy.c` has the same folders and sweeps."""

from __future__ import annotations

import os
from typing import Callable, Mapping, Optional, Tuple

from . import own_folders


def place(script: bytes, name: bytes, environment: Mapping[bytes, bytes]) -> Optional[bytes]:
    """Write the script under its base name in a folder named by its hash; return the path, None where unsafe."""
    import hashlib

    own = _folder(environment) if name not in (b"", b".", b"..") else None
    if own is None:
        return None
    submit = os.path.join(own, b"submit")
    folder = os.path.join(submit, hashlib.sha256(script).hexdigest()[:32].encode())
    if not own_folders.private(submit) or not own_folders.private(folder):
        return None
    path, passing = os.path.join(folder, name), os.path.join(folder, b".new.%d" % os.getpid())
    fd = os.open(passing, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with open(fd, "wb") as file:
        file.write(script)
    os.rename(passing, path)
    os.utime(folder)
    return path


def _folder(environment: Mapping[bytes, bytes]) -> Optional[bytes]:
    """Return the first folder of the user's own below which nobody else can change anything, as copy.c finds it."""
    uid = b"%d" % os.geteuid()
    wanted = own_folders.on_submit(own_folders.CACHE, environment)
    places: Tuple[Tuple[Callable[[], Optional[bytes]], bytes], ...] = (
        (lambda: own_folders.made_base(own_folders.CACHE, wanted), b"maple"),
        (lambda: b"/run/user/" + uid, b"maple"),
        (lambda: b"/tmp", b"maple-" + uid),
        (lambda: b"/tmp", b"maple-%s.%s" % (uid, os.urandom(8).hex().encode())),
    )
    for base, name in places:
        try:
            found = base()
            folder = os.path.realpath(found) if found else b""
            if folder and own_folders.guarded(folder) and own_folders.private(os.path.join(folder, name)):
                return os.path.join(folder, name)
        except OSError:
            continue
    return None
