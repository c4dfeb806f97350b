"""A store that is broken is laid aside, not thrown away: somebody may want to look, or to rescue rows from it."""

from __future__ import annotations

import contextlib
import glob
import os
import time

KEPT = 3
_MARK = ".broken-"


def lay_aside(path: str) -> str:
    """Rename the database and its log, keep the last three such, and return the new name. Raises OSError."""
    to = _free(path + _MARK + time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()))
    os.rename(path, to)
    for end in ("-wal", "-journal"):  # SQLite finds them beside the database by its name
        with contextlib.suppress(FileNotFoundError):
            os.rename(path + end, to + end)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path + "-shm")
    for old in laid_aside(path)[:-KEPT]:
        _remove(old)
    return to


def laid_aside(path: str) -> list[str]:
    """Return the databases that were laid aside, the oldest first."""
    ends = ("-wal", "-journal", "-shm")
    return sorted(name for name in glob.glob(glob.escape(path) + _MARK + "*") if not name.endswith(ends))


def _free(name: str) -> str:
    number, free = 1, name
    while os.path.lexists(free):
        number += 1
        free = "%s.%d" % (name, number)
    return free


def _remove(path: str) -> None:
    for end in ("", "-wal", "-journal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path + end)
