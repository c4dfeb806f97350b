"""A directory of a lab's own: locked while its owner lives, cleaned by a keeper when the owner died.

`cleanup` does the cleaning, so whatever a lab starts must be known to it: of a PBS lab, the process that holds a host
carries the lab's mark in its environment, and all else lives in a host's own host-name namespace.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import subprocess
from typing import Optional

from tests.lab import cleanup, processes
from tests.lab.processes import LabError


class Ground:
    """The directory. *path* "" before `claim` and after `leave`."""

    def __init__(self) -> None:
        self.path = ""
        self._lock: Optional[int] = None
        self._keeper: Optional[subprocess.Popen[bytes]] = None

    def claim(self) -> str:
        """Take a new directory, locked from its first moment, and sweep what dead labs left. Raises `LabError`."""
        parent = f"/tmp/maple-labs-{os.getuid()}"
        os.makedirs(parent, mode=0o755, exist_ok=True)
        if os.stat(parent).st_uid != os.getuid():
            raise LabError(f"{parent} belongs to somebody else")
        cleanup.sweep(parent)
        name = secrets.token_hex(3)
        final, draft = f"{parent}/{name}", f"/tmp/.maple-lab-{os.getuid()}-{name}"
        os.mkdir(draft, 0o755)
        self._lock = os.open(draft, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        os.rename(draft, final)
        self.path = final
        self._keeper = processes.start_keeper(final)
        return final

    def leave(self) -> None:
        """End every process of the lab and remove its directory. May be called twice."""
        if self.path:
            cleanup.clean(self.path)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
        if self._keeper is not None and self._keeper.stdin is not None:
            self._keeper.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._keeper.wait(10)
            self._keeper = None
        self.path = ""
