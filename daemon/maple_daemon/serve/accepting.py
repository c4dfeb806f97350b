"""Accepts connections a few at a time, so that those who are served already wait for no crowd at the door."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

from ..base.log import log

BACKLOG = 128  # as many as are accepted within a few milliseconds; a front that finds more waits for its deadline
AT_ONCE = 32  # connections accepted before those that are open are looked at again
PAUSE = 0.2  # seconds until it is tried again where no descriptor is left
SAY_SECONDS = 60.0


class Accepting:
    """*come* hears of each connection, which does not block."""

    def __init__(self, listening: socket.socket, come: Callable[[socket.socket], None]) -> None:
        self._listening, self._come = listening, come
        self._loop = asyncio.get_running_loop()
        self._said = -SAY_SECONDS
        self._later: asyncio.TimerHandle | None = None
        listening.setblocking(False)
        listening.listen(BACKLOG)
        self._begin()

    def stop(self) -> None:
        """Accept no more."""
        if self._later is not None:
            self._later.cancel()
        self._loop.remove_reader(self._listening.fileno())
        self._listening.close()

    def _begin(self) -> None:
        self._loop.add_reader(self._listening.fileno(), self._accept)

    def _accept(self) -> None:
        for _ in range(AT_ONCE):
            try:
                one, _ = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:  # no descriptor or memory is left: another time there may be
                self._pause(error)
                return
            one.setblocking(False)
            self._come(one)

    def _pause(self, error: OSError) -> None:
        if self._loop.time() - self._said >= SAY_SECONDS:
            self._said = self._loop.time()
            log().error("cannot accept now", why=error.strerror or type(error).__name__)
        self._loop.remove_reader(self._listening.fileno())
        self._later = self._loop.call_later(PAUSE, self._begin)
