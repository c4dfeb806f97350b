"""What may hang (a file system elsewhere) is done by a child and given up at the deadline, as in front/process.c."""

from __future__ import annotations

import os
import select
import signal
import time
from typing import Callable, Optional


class Files:
    """All touches of files together have *most* seconds; once these are spent, each further one has a tenth of them."""

    def __init__(self, most: float) -> None:
        self._most, self._spent = most, 0.0
        self.late = False  # the last one

    def in_time(self, work: Callable[[], Optional[bytes]]) -> bytes:
        """Return what *work* returns in a child, b"" where that fails or is late."""
        begun = time.monotonic()
        deadline = begun + max(self._most - self._spent, self._most / 10)
        out, into = os.pipe()
        child = os.fork()
        if child == 0:
            os._exit(_perform(work, into))
        os.close(into)
        try:
            return _collect(out, deadline)
        finally:
            self.late = time.monotonic() >= deadline
            os.close(out)
            end(child)
            self._spent += time.monotonic() - begun


def let_go(into: int) -> int:
    """Close all of the caller's in a child, whose pipes others read to their end; return where *into* is now."""
    os.dup2(into, 0)
    nothing = os.open(os.devnull, os.O_RDWR)
    for fd in (1, 2):
        if fd != nothing:
            os.dup2(nothing, fd)
    os.closerange(3, min(os.sysconf("SC_OPEN_MAX"), 65536))
    return 0


def _perform(work: Callable[[], Optional[bytes]], into: int) -> int:
    try:
        os.write(let_go(into), work() or b"")
        return 0
    except BaseException:
        return 1


def _collect(out: int, deadline: float) -> bytes:
    left = deadline - time.monotonic()
    return os.read(out, 1 << 16) if left > 0 and select.select([out], [], [], left)[0] else b""


def end(child: int) -> None:
    """End the child; one that is stuck in the kernel must not hold the submission."""
    os.kill(child, signal.SIGKILL)
    for _ in range(100):
        if os.waitpid(child, os.WNOHANG)[0]:
            return
        time.sleep(0.001)
