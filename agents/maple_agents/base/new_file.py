"""Where the script of `maple new` goes: standard output, or a file that was not there."""

from __future__ import annotations

import contextlib
import os
import sys

from .complaint import Complaint


def put(script: bytes, path: str | None, mode: int | None = None) -> None:
    """Write *script* to standard output, or to a new file at *path*, whole or not at all. Raises `Complaint`.

    *mode*: the file's permissions; None: as the umask has them.
    """
    if path is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(script)
        sys.stdout.buffer.flush()
        return
    free(path)
    try:
        _write(script, path, mode)
    except FileExistsError as error:
        raise _there(path) from error
    except OSError as error:
        raise Complaint("%s: %s" % (path, (error.strerror or str(error)).lower())) from error


def free(path: str) -> None:
    """Raise `Complaint` where something is at *path* already."""
    if os.path.lexists(path):
        raise _there(path)


def _there(path: str) -> Complaint:
    return Complaint("%s: is there already" % path, "Maple overwrites nothing; name another file")


def _write(script: bytes, path: str, mode: int | None) -> None:
    """A link is made only where nothing has the name, so that no file of somebody else's is lost."""
    fresh = "%s.%s" % (path, os.urandom(3).hex())
    try:
        with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "wb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.write(script)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(fresh, path)
        except OSError as error:
            if isinstance(error, FileExistsError) or os.path.lexists(path):
                raise FileExistsError(path) from error
            os.rename(fresh, path)  # a file system without hard links
    finally:
        with contextlib.suppress(OSError):
            os.unlink(fresh)
