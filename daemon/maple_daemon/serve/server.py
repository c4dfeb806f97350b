"""The socket: one connection a submission, its frames read within bounds of size, rate and time."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable

from maple_submit_filter.host import frames

from ..base.peers import Peer, Stranger, peer_of, uid_of
from ..base.settings import Busy, Limits
from ..base.telemetry import cause, log
from ..decide.handlers import Forged, Handled, Handler
from . import identity, queries

READ_SECONDS = 2.0  # for a whole request: the front sends it at once
LEARN_SECONDS = 3.0  # that a helper may take before the front carries back what it learnt
SEND_SECONDS = 2.0
MOST_LEARNT = 2 << 20  # bytes; two rewritten scripts as long as any that is read come to half of it


class Server:
    """Serves connections until it is stopped. *count* is told what became of each: "memory", "busy", "garbled" …"""

    def __init__(self, handler: Handler, limits: Limits, count: Callable[[str], None]) -> None:
        self._handler, self._limits, self._count = handler, limits, count
        self._open: set[asyncio.Task[None]] = set()
        self._accepting: Accepting | None = None
        self.questions: queries.Questions | None = None
        self.lost: Callable[[], int] = lambda: 0  # changes of the memory for which there was no room

    async def start(self, listening: socket.socket) -> None:
        """Accept on a socket that is bound already."""
        self._accepting = Accepting(listening, self._come)

    async def stop(self, seconds: float = 1.0) -> None:
        """Accept no more, and let what is being answered end within *seconds*."""
        if self._accepting is not None:
            self._accepting.stop()
        if self._open:
            _, left = await asyncio.wait(self._open, timeout=seconds)
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    def _come(self, connection: socket.socket) -> None:
        """Take a connection in, or refuse it before it has cost anything."""
        try:
            uid = uid_of(connection)
            self._limits.enter(uid)
        except (Stranger, Busy, OSError) as error:
            connection.close()
            self._count("stranger" if isinstance(error, Stranger) else "busy")
            return
        task = asyncio.get_running_loop().create_task(self._accepted(connection))
        self._open.add(task)
        task.add_done_callback(lambda done: self._left(done, uid))

    def _left(self, task: asyncio.Task[None], uid: int) -> None:
        self._open.discard(task)
        self._limits.leave(uid)

    async def _accepted(self, connection: socket.socket) -> None:
        reader, writer = await asyncio.open_unix_connection(sock=connection)
        try:
            self._count(await self._connection(reader, writer))
        except (OSError, EOFError, asyncio.TimeoutError, asyncio.IncompleteReadError):
            self._count("gone")
        except Exception as error:  # a mistake of ours, or what only looks like a request: it costs this caller alone
            log().error("not answered", why=cause(error))
            self._count("failed")
        finally:
            writer.transport.abort()  # what was written is in the kernel's hands, or nobody reads it

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
        writer.transport.set_write_buffer_limits(0)  # `drain` waits until all is written
        try:
            return await self._talk(reader, writer, peer_of(writer.get_extra_info("socket")))
        except Busy:
            return "busy"
        except Forged:
            return "forged"
        except ValueError:
            return "garbled"

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, peer: Peer) -> str:
        """Answer one request, then take what a helper may have learnt of it."""
        with contextlib.ExitStack() as held:
            async with asyncio.timeout(READ_SECONDS):  # one of them: each costs as much as what it waits for
                head = await reader.readexactly(8)
                if head[:4] == frames.REQUEST:
                    size = frames.size_of(head, frames.REQUEST, frames.MAX_REQUEST)
                    self._limits.spend(peer.uid, size)
                    held.enter_context(self._limits.holding(size, peer.uid))
                    frame = head + await reader.readexactly(size)
            if head[:4] != frames.REQUEST:
                return await self._other(reader, writer, head, peer)
            request = frames.unpack_request(frame)
            handled = await self._handler.answer(request, frame, peer)
            del frame
        if handled.reply is None:
            self._handler.heard(request, peer, handled)
            return handled.how
        taught, reply = b"", frames.pack_reply(handled.reply)
        try:
            self._handler.heard(request, peer, handled)  # whoever has an answer is remembered to have asked
            await _send(writer, reply)
            with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
                taught = await self._learn(reader, request.nonce, peer.uid, handled)
        finally:
            self._handler.over(peer.uid, request.nonce, taught)
        if taught:
            self._count("learnt")
        return handled.how

    async def _other(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes, peer: Peer) -> str:
        """Answer what is no submission. Raises `FrameError`."""
        if self.questions is not None and head[:4] in queries.KINDS:
            return await self._question(reader, writer, head, peer)
        if head == identity.ASK + bytes(4):
            return await self._sent(writer, identity.answer(self._handler.in_force, self.lost()))
        raise frames.FrameError("not a frame of ours")

    async def _question(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes, peer: Peer
    ) -> str:
        """Answer what a user asks about himself."""
        assert self.questions is not None
        size = frames.size_of(head, head[:4], queries.MOST_ASKED)
        with self._limits.holding(size, peer.uid):
            async with asyncio.timeout(READ_SECONDS):
                body = await reader.readexactly(size)
            answer = await self.questions.answer(head[:4], body, peer.uid)
        self._limits.spend(peer.uid, size + len(answer))
        return await self._sent(writer, answer)

    async def _sent(self, writer: asyncio.StreamWriter, answer: bytes) -> str:
        await _send(writer, answer)
        return "question"

    async def _learn(self, reader: asyncio.StreamReader, nonce: bytes, uid: int, handled: Handled) -> bytes:
        """The front hangs up at once, or sends what its helper learnt of the files that this needs."""
        if not handled.key or handled.how == "unread":
            return b""
        try:
            async with asyncio.timeout(LEARN_SECONDS):
                head = await reader.readexactly(8)
                size = frames.size_of(head, frames.LEARNT, MOST_LEARNT)
                self._limits.spend(uid, size)
                with self._limits.holding(size, uid):
                    about, data = frames.unpack_learnt(head + await reader.readexactly(size))
        except TimeoutError:
            return b""
        return data if about == nonce and self._handler.learn(handled.key, uid, data) else b""


async def _send(writer: asyncio.StreamWriter, data: bytes) -> None:
    """Send all of it in time; what the kernel takes at once is waited for by nobody."""
    writer.write(data)
    if writer.transport.is_closing() or writer.transport.get_write_buffer_size():
        async with asyncio.timeout(SEND_SECONDS):
            await writer.drain()


# Accepts connections a few at a time, so that those who are served already wait for no crowd at the door.

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
                connection, _ = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:  # no descriptor or memory is left: another time there may be
                self._pause(error)
                return
            connection.setblocking(False)
            self._come(connection)

    def _pause(self, error: OSError) -> None:
        if self._loop.time() - self._said >= SAY_SECONDS:
            self._said = self._loop.time()
            log().error("cannot accept now", why=error.strerror or type(error).__name__)
        self._loop.remove_reader(self._listening.fileno())
        self._later = self._loop.call_later(PAUSE, self._begin)
