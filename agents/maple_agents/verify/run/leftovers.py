"""What a verification has open, written down, so that the next one can clear up after one that was killed."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable, Mapping
from typing import Any

from ...ask.schedulers import Scheduler, SchedulerError
from ...ask.verified import state
from .workplace import remove


class Opened:
    """The note of one verification: its folder, its job, and the process that answers for both."""

    def __init__(self, token: str, folder: str, scheduler: str, environ: Mapping[str, str] = os.environ) -> None:
        own = state.own(environ)
        self._folder = os.path.join(own, "open") if own else None
        self._name = f"{token}.json"
        self._told: dict[str, Any] = {
            "folder": folder, "scheduler": scheduler, "host": socket.gethostname(), "pid": os.getpid(),
            "started": _started(os.getpid()), "job": None,
        }  # fmt: skip
        self._put()

    def submitted(self, job_id: str) -> None:
        """Note the job."""
        self._told["job"] = job_id
        self._put()

    def close(self) -> None:
        """Forget all of it: nothing is open any more."""
        if self._folder:
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(self._folder, self._name))

    def _put(self) -> None:
        if self._folder:
            with contextlib.suppress(OSError):  # a full disk is no reason not to verify
                state.put(self._folder, self._name, self._told)


def clear(scheduler: Scheduler, environ: Mapping[str, str] = os.environ) -> list[str]:
    """End what dead verifications of this host have left, and return their folders."""
    own = state.own(environ)
    folder = os.path.join(own, "open") if own else ""
    found = []
    for name in state.names(folder):
        path = os.path.join(folder, name)
        told = state.get(path)
        if told is None or not _is_dead(told) or told.get("scheduler") != scheduler.name:
            continue
        job, left = told.get("job"), told.get("folder")
        if isinstance(job, str):
            with contextlib.suppress(SchedulerError):
                scheduler.cancel(job)
        if isinstance(left, str):
            remove(left)
            found.append(left)
        with contextlib.suppress(OSError):
            os.unlink(path)
    return found


def _is_dead(told: Mapping[str, Any], started: Callable[[int], str] | None = None) -> bool:
    if told.get("host") != socket.gethostname() or not isinstance(told.get("pid"), int):
        return False
    return (started or _started)(told["pid"]) != told.get("started")


def _started(pid: int) -> str:
    """Return when a process started, in ticks since boot; "" where there is none. A pid alone is given out again."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[19].decode()
    except (OSError, IndexError):
        return ""
