"""A socket for hooks of this host: one event a connection, taken from root and the scheduler's users alone."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Awaitable, Callable, Collection

from ..base import sockets
from ..base.log import log
from ..base.peers import Stranger, peer_of
from .events import MOST, BadEvent, Ended, ended

SECONDS = 2.0  # that a hook may take to say one line
MOST_OPEN = 64
KEPT, NOT_KEPT = b"kept\n", b"not kept\n"


class EventsSocket:
    """*trusted*: uids whose word counts, besides that of root. *keep* returns whether an event is in the store."""

    def __init__(self, trusted: Collection[int], keep: Callable[[Ended], Awaitable[bool]]) -> None:
        self._trusted, self._keep = frozenset((0, *trusted)), keep
        self._server: asyncio.Server | None = None
        self._open = 0

    async def start(self, path: str) -> None:
        """Listen; what is in the way is said, and nothing is raised."""
        try:
            self._server = await asyncio.start_unix_server(self._serve, sock=sockets.bound(path), limit=MOST + 1)
        except (sockets.NoSocket, OSError) as error:
            log().error("no socket for events", why=str(error))

    async def stop(self) -> None:
        """Listen no longer."""
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open += 1
        try:
            if self._open <= MOST_OPEN and self._may(writer.get_extra_info("socket")):
                writer.write(KEPT if await self._heard(reader) else NOT_KEPT)
                await asyncio.wait_for(writer.drain(), SECONDS)
        except (OSError, ValueError, asyncio.TimeoutError) as error:
            log().warning("an event was not taken", why=str(error) or "late")
        finally:
            self._open -= 1
            with contextlib.suppress(OSError):
                writer.close()

    def _may(self, connection: socket.socket) -> bool:
        """Return whether the kernel names one whose word counts. The stream has its own copy of the descriptor."""
        try:
            with socket.socket(fileno=os.dup(connection.fileno())) as copy:
                peer = peer_of(copy)
        except Stranger as error:
            log().warning("an event from a stranger", why=str(error))
            return False
        if peer.uid not in self._trusted:
            log().warning("an event from a user who is not the scheduler's", uid=peer.uid)
        return peer.uid in self._trusted

    async def _heard(self, reader: asyncio.StreamReader) -> bool:
        """Read one line and keep it. Raises `BadEvent`."""
        line = await asyncio.wait_for(reader.readline(), SECONDS)
        if not line.endswith(b"\n"):
            raise BadEvent("not a whole line")
        return await self._keep(ended(line.rstrip(b"\n")))
