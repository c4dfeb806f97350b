"""The private copy of a changed script, where there is no C front; `front/copy.c` has the same folders and sweeps."""

from __future__ import annotations

import os
from typing import Mapping, Optional

from . import own_folders


def place(script: bytes, name: bytes, environment: Mapping[bytes, bytes]) -> Optional[bytes]:
    """Write the script under its base name in a folder named by its hash; return the path, None where unsafe."""
    import hashlib

    own = own_folders.made(own_folders.CACHE, environment)
    if own is None or name in (b"", b".", b".."):
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
