"""The folder in which hooks leave events: everybody may write there, nobody but its owner may list it.

Mode 1733, owned by the service. Who wrote a file is what the kernel says of its owner; its name cannot be guessed, so
nobody can lay a trap under it. What is no event of ours is not touched, what pretends to be one is removed and counted.
An event stays until it is in the store, so that one that came while nobody listened is not lost.

A socket for hooks of this host: one event a connection, taken from root and the scheduler's users alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import socket
import stat
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection
from typing import NamedTuple

from ..base import peers
from ..base.peers import Stranger, peer_of
from ..base.telemetry import log
from .events import MOST, BadEvent, Ended, Submitted, ended, submitted

SECONDS = 2.0  # that a hook may take to say one line
MOST_OPEN = 64
KEPT, NOT_KEPT = b"kept\n", b"not kept\n"

OURS = re.compile(r"(?:submitted,[A-Za-z0-9._,+\[\]-]{1,220}|ended\.[A-Za-z0-9]{6,64})", re.ASCII)
DRAFT = re.compile(r"\.ended\.[A-Za-z0-9]{6,64}", re.ASCII)  # an event that is being written
MOST_NAMES = 50_000  # that one look takes in
MOST_OF_USER = 10_000  # events of one user; a flood of his costs nobody else
MOST_READ = 2_000  # ends in one look; the others come with the next
DRAFT_SECONDS = 3_600.0


class NoSpool(Exception):
    """The folder cannot be used; one line why and what to do."""


class SpoolEvents(NamedTuple):
    """What one look found, by the names of the files. *refused*: why, and how often."""

    submitted: dict[str, Submitted]
    ended: dict[str, Ended]
    refused: Counter[str]
    more: bool = False


class Spool:
    """One folder. *trusted*: uids whose word about the end of a job counts, besides that of root."""

    def __init__(self, folder: str, trusted: Collection[int]) -> None:
        self.folder, self._trusted = folder, frozenset((0, *trusted))

    def look(self, now: float | None = None) -> SpoolEvents:
        """Return the events that are there. Raises `NoSpool`."""
        folder = self._open()
        try:
            return self._looked(folder, time.time() if now is None else now)
        except OSError as error:
            raise NoSpool("%s: %s" % (self.folder, _why(error))) from None
        finally:
            os.close(folder)

    def done(self, names: Collection[str]) -> None:
        """Remove events that are kept now."""
        if not names:
            return
        with contextlib.suppress(NoSpool):
            folder = self._open()
            for name in names:
                if OURS.fullmatch(name):
                    _remove(folder, name)
            os.close(folder)

    def _open(self) -> int:
        """Return the folder, opened. Raises `NoSpool` where others could take events away or put false ones in."""
        try:
            folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            raise NoSpool("%s: %s" % (self.folder, _why(error))) from None
        facts = os.fstat(folder)
        wrong = ""
        if facts.st_uid not in (0, os.getuid()):
            wrong = "belongs to uid %d; chown it to the user of the service" % facts.st_uid
        elif facts.st_mode & 0o022 and not facts.st_mode & stat.S_ISVTX:
            wrong = "others may remove each other's files; chmod 1733"
        if wrong:
            os.close(folder)
            raise NoSpool("%s: %s" % (self.folder, wrong))
        return folder

    def _looked(self, folder: int, now: float) -> SpoolEvents:
        events, users = SpoolEvents({}, {}, Counter()), Counter[int]()
        more = False
        for number, name in enumerate(_names(folder)):
            if number >= MOST_NAMES or len(events.ended) >= MOST_READ:
                more = True
                break
            try:
                self._take(folder, name, now, events, users)
            except BadEvent as error:
                events.refused[str(error)] += 1
                _remove(folder, name)
            except FileNotFoundError:
                continue
            except OSError as error:
                events.refused[_why(error)] += 1
        return events._replace(more=more)

    def _take(self, folder: int, name: str, now: float, events: SpoolEvents, users: Counter[int]) -> None:
        draft = DRAFT.fullmatch(name)
        if not draft and not OURS.fullmatch(name):
            events.refused["a name that is none of ours; it stays"] += 1
            return
        facts = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if draft:
            if now - facts.st_mtime > DRAFT_SECONDS:
                _remove(folder, name)
            return
        if not stat.S_ISREG(facts.st_mode) or facts.st_nlink != 1:
            raise BadEvent("no plain file with one name")
        users[facts.st_uid] += 1
        if name.startswith("ended"):
            events.ended[name] = self._end(folder, name)
        elif facts.st_size or users[facts.st_uid] > MOST_OF_USER:
            raise BadEvent("more of one user than is taken" if not facts.st_size else "a submission is an empty file")
        else:
            events.submitted[name] = submitted(name, facts.st_uid, facts.st_mtime)

    def _end(self, folder: int, name: str) -> Ended:
        """Return the event of a file whose owner and size are looked at once it is open. Raises `BadEvent`."""
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, dir_fd=folder)
        try:
            facts = os.fstat(file)
            if not stat.S_ISREG(facts.st_mode) or facts.st_uid not in self._trusted:
                raise BadEvent("the end of a job, from a user who is not the scheduler's")
            if facts.st_size > MOST:
                raise BadEvent("longer than %d bytes" % MOST)
            return ended(os.read(file, MOST + 1))
        finally:
            os.close(file)


def _names(folder: int) -> list[str]:
    """Return names, ends of jobs first: only the scheduler writes those, so a flood of others does not hide them."""
    with os.scandir(folder) as entries:
        names = [entry.name for _, entry in zip(range(4 * MOST_NAMES), entries)]
    return sorted(names, key=lambda name: not name.startswith("ended"))


def _remove(folder: int, name: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(name, dir_fd=folder)


def _why(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


class EventsSocket:
    """*trusted*: uids whose word counts, besides that of root. *keep* returns whether an event is in the store."""

    def __init__(self, trusted: Collection[int], keep: Callable[[Ended], Awaitable[bool]]) -> None:
        self._trusted, self._keep = frozenset((0, *trusted)), keep
        self._server: asyncio.Server | None = None
        self._open = 0

    async def start(self, path: str) -> None:
        """Listen; what is in the way is said, and nothing is raised."""
        try:
            self._server = await asyncio.start_unix_server(self._serve, sock=peers.bound(path), limit=MOST + 1)
        except (peers.NoSocket, OSError) as error:
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
