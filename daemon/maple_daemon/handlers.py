"""From a request to a reply: from memory, else from a worker, else by the caller's own helper."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple, Protocol

from maple_submit_filter import answer as answers
from maple_submit_filter import learnt
from maple_submit_filter.decide import Decision
from maple_submit_filter.frames import FileFacts, Reply, Request

from .exact import Known, Memory, key_of
from .peers import Peer
from .rules_in_force import InForce
from .workers import Decided

LEAST_DEADLINE, MOST_DEADLINE = 0.01, 5.0  # seconds; a front that says nothing gets `USUAL_DEADLINE`
USUAL_DEADLINE = 0.05


class Forged(Exception):
    """The request says that it comes from somebody else than the kernel says."""


class Deciders(Protocol):
    """Whoever works out what is not known yet."""

    def decide(self, uid: int, frame: bytes) -> asyncio.Future[Decided]:
        """Return what will be decided. Raises `Busy`."""


class Handled(NamedTuple):
    """*how*: "memory", "decided", "helper" (only the caller's helper can), "off" or "late" (no reply)."""

    reply: Reply | None
    how: str
    key: bytes = b""


class Handler:
    """Answers requests of all users; remembers by user."""

    def __init__(self, in_force: InForce, memory: Memory, deciders: Deciders) -> None:
        self.in_force, self.memory, self.deciders = in_force, memory, deciders
        self._working: dict[bytes, asyncio.Future[Known]] = {}  # asked for right now, so that it is decided once
        self.kept: Callable[[bytes, int], Awaitable[bytes | None]] = _no_store
        self.keep: Callable[[bytes, int, bytes], None] = lambda key, uid, data: None
        self.heard: Callable[[Request, Peer, Handled, Decision | None, float], None] = _nobody
        self.over: Callable[[bytes, bytes], None] = lambda nonce, taught: None  # a conversation, and what it taught

    async def answer(self, request: Request, frame: bytes, peer: Peer) -> Handled:
        """Return the reply, or None when it would come too late. Raises `Forged`, `Busy` and `ValueError`."""
        if request.submission.uid != peer.uid:
            raise Forged("uid %d says it is %d" % (peer.uid, request.submission.uid))
        began = time.monotonic()
        handled, decision = await self._handled(request, frame, peer)
        self.heard(request, peer, handled, decision, time.monotonic() - began)
        return handled

    async def _handled(self, request: Request, frame: bytes, peer: Peer) -> tuple[Handled, Decision | None]:
        mode = answers.mode_of(request, self.in_force.policy, peer.gids)
        if mode == "off" or request.submission.script is None:
            return Handled(Reply(request.nonce, request.hash), "off"), None
        key = key_of(request, peer.uid, self.in_force.facts)
        known, how = self.memory.get(key) or await self._kept(key, peer.uid), "memory"
        if known is None:
            known, how = await self._in_time(key, request, frame, peer), "decided"
        if known is None:
            return Handled(None, "late", key), None
        if not known.learnt:
            return Handled(_by_helper(request), "helper", key), None
        decision, files = learnt.unpack(known.learnt)
        reply = answers.answered(request, self.in_force.site, self.in_force.policy, mode, decision)
        return Handled(reply._replace(conditions=files), how, key), decision

    async def _kept(self, key: bytes, uid: int) -> Known | None:
        """Return what the store knows, which outlives this process; None also where it does not answer at once."""
        kept = await self.kept(key, uid)
        if kept is None:
            return None
        known = Known(kept)
        self.memory.put(key, known)
        return known

    def learn(self, key: bytes, uid: int, data: bytes) -> bool:
        """Remember what a helper learnt of the submission of that key; return whether it could be read."""
        try:
            _, files = learnt.unpack(data)
        except ValueError:
            return False
        if not files or any(not _usable(one) for one in files):
            return False
        self.memory.put(key, Known(data))
        self.keep(key, uid, data)
        return True

    async def _in_time(self, key: bytes, request: Request, frame: bytes, peer: Peer) -> Known | None:
        """Return what is decided within the caller's deadline, else None; it is decided all the same, for the next."""
        working = self._working.get(key)
        if working is None:
            working = asyncio.ensure_future(self._decided(key, peer.uid, self.deciders.decide(peer.uid, frame)))
            self._working[key] = working
            working.add_done_callback(lambda done: self._done(key, done))
        seconds = request.deadline / 1000 or USUAL_DEADLINE
        done, _ = await asyncio.wait({working}, timeout=min(MOST_DEADLINE, max(LEAST_DEADLINE, seconds)))
        return working.result() if done and not working.cancelled() else None

    def _done(self, key: bytes, done: asyncio.Future[Known]) -> None:
        self._working.pop(key, None)
        with contextlib.suppress(asyncio.CancelledError):
            done.exception()  # looked at, so that nobody complains that it was not

    async def _decided(self, key: bytes, uid: int, deciding: asyncio.Future[Decided]) -> Known:
        facts = self.in_force.facts
        decided = await deciding
        known = Known(b"" if decided.wants_files else decided.learnt)
        if facts == self.in_force.facts and (decided.learnt or decided.wants_files):
            self.memory.put(key, known)
            if known.learnt:
                self.keep(key, uid, known.learnt)
        return known


async def _no_store(key: bytes, uid: int) -> bytes | None:
    return None


def _nobody(request: Request, peer: Peer, handled: Handled, decision: Decision | None, seconds: float) -> None:
    """Nobody listens."""


def _by_helper(request: Request) -> Reply:
    return Reply(request.nonce, request.hash, ask_helper=True)


def _usable(file: FileFacts) -> bool:
    return 0 < len(file.path) < 4096 and b"\0" not in file.path and len(file.facts) < 160
