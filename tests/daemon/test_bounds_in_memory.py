"""What the service holds of users in memory, and of those who read its numbers, has an end."""

from __future__ import annotations

import asyncio
import os
import time
from typing import Any

import pytest
from maple_daemon.base import telemetry
from maple_daemon.base.peers import Peer
from maple_daemon.decide import rules_in_force
from maple_daemon.decide.handlers import Handled
from maple_daemon.remember import drafts, lookup
from maple_daemon.remember.drafts import Draft
from maple_daemon.remember.lookup import Brief, Looker
from maple_daemon.remember.versions import Known, known_of

from tests.daemon.serving import request
from tests.daemon.store.jobs import version


def _draft(uid: int, script: bytes = b"#!/bin/bash\n") -> Draft:
    peer = Peer(1, uid, frozenset(), 1)
    handled = Handled(None, "late", os.urandom(32))
    return drafts.draft_of(request(script, uid=uid), peer, handled, None, rules_in_force.generic(), time.time(), 0.0)


class Slow(Looker):
    """One that looks at nothing before it is told to go on."""

    def __init__(self) -> None:
        nobody: Any = None
        super().__init__(nobody, nobody, lambda: "", lambda what, number: None)
        stand_in: Any = object()
        self._workers = stand_in
        self.go = asyncio.Event()
        self.put_aside: list[Draft] = []
        self.looked = 0

    async def _look(self, draft: Draft, user: lookup.User) -> Brief | None:
        await self.go.wait()
        return Brief("", "", "", 0.0)

    def done(self, draft: Draft, brief: Brief | None) -> None:
        """Hear what became of one."""
        if brief is None:
            self.put_aside.append(draft)
        else:
            self.looked += 1


def test_what_waits_of_one_user_is_bounded_and_another_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Further ones are recorded without a version; when it was looked at there is room again."""
    one = _draft(1)
    monkeypatch.setattr(lookup, "MOST_OF_USER", 3 * one.size)

    async def run() -> None:
        looker = Slow()
        for _ in range(5):
            looker.wait(_draft(1), looker.done)
        looker.wait(_draft(2), looker.done)
        assert [draft.peer.uid for draft in looker.put_aside] == [1, 1]
        looker.go.set()
        while looker.looked < 4:
            await asyncio.sleep(0.01)
        looker.wait(_draft(1), looker.done)
        assert len(looker.put_aside) == 2

    asyncio.run(asyncio.wait_for(run(), 60))


def test_what_waits_of_all_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever they are."""
    monkeypatch.setattr(lookup, "MOST_WAITING", 3 * _draft(1).size)

    async def run() -> None:
        looker = Slow()
        for uid in range(5):
            looker.wait(_draft(uid), looker.done)
        assert [draft.peer.uid for draft in looker.put_aside] == [3, 4]

    asyncio.run(asyncio.wait_for(run(), 60))


def _known(number: int, lines: int) -> Known:
    script = b"".join(b"echo %d of %d\n" % (at, number) for at in range(lines))
    return known_of(version("v%d" % number, script=script))


def test_versions_that_are_held_are_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who was looked at longest ago is read from the store again."""
    each = _known(0, 200).size
    monkeypatch.setattr(lookup, "MOST_VERSIONS", 10 * each)

    async def run() -> None:
        looker = Slow()
        looker.go.set()
        for uid in range(5):
            looker.wait(_draft(uid), looker.done)
            held = looker._users[uid].versions
            held.update((str(number), _known(number, 200)) for number in range(4))
            while looker._users[uid].waiting:
                await asyncio.sleep(0.01)
        assert list(looker._users) == [3, 4] and looker._size <= 10 * each

    asyncio.run(asyncio.wait_for(run(), 60))


def test_the_size_of_a_version_follows_what_it_holds() -> None:
    """A long script and many values take more."""
    assert _known(1, 5000).size > 10 * _known(1, 50).size
    value = version().values[0]
    assert known_of(version(values=(value._replace(value="x" * 50_000),))).size > 50_000
    assert known_of(version(values=(value,) * 500)).size > 100_000


def test_so_many_may_read_the_numbers_at_once_and_no_more(tmp_path: Any) -> None:
    """Whoever is one too many is hung up on; when one of the others leaves there is room again."""
    path = str(tmp_path / "m")

    async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(b"GET /metrics HTTP/1.0\r\n\r\n")
        try:
            return await reader.read(64)
        except ConnectionError:
            return b""

    async def run() -> None:
        server = await telemetry.serve(telemetry.Metrics(), path)
        idle = [await asyncio.open_unix_connection(path) for _ in range(telemetry._MOST_OPEN)]
        await asyncio.sleep(0.2)
        assert await ask(*await asyncio.open_unix_connection(path)) == b""
        idle[0][1].close()
        while not (await ask(*await asyncio.open_unix_connection(path))).startswith(b"HTTP/1.1 200"):
            await asyncio.sleep(0.05)
        for _, writer in idle[1:]:
            writer.close()
        server.close()

    asyncio.run(asyncio.wait_for(run(), 60))
