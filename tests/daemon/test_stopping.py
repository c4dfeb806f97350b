"""The service ends when it is told to, whatever just happens; what is replaced meanwhile leaves nobody without."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any, cast

import pytest
from maple_daemon.base.settings import Settings
from maple_daemon.decide import workers
from maple_daemon.decide.workers import Decided, Workers
from maple_daemon.remember import lookup
from maple_daemon.remember.lookup import Looker
from maple_daemon.remember.memory import Keeper
from maple_daemon.serve.service import CLOSE_SECONDS, Service
from maple_daemon.store.protocol import Store

READY = "import sys; sys.stdout.buffer.write(bytes(5)); sys.stdout.flush()"  # what a process says that takes work
ENOUGH = 20.0  # seconds, after which something waits for ever
TICKS = range(7)  # turns of the loop between an answer and the word to stop: one of them is the one that matters


async def _turns(number: int) -> None:
    for _ in range(number):
        await asyncio.sleep(0)


@pytest.mark.parametrize("ticks", TICKS)
def test_workers_end_although_an_answer_comes_at_the_same_time(monkeypatch: pytest.MonkeyPatch, ticks: int) -> None:
    """In whichever turn of the loop; more waits behind it, and is told that nothing was decided."""

    async def run() -> None:
        said: asyncio.Future[Decided] = asyncio.get_running_loop().create_future()

        async def exchange(process: object, frame: bytes) -> Decided:
            return await said

        monkeypatch.setattr(workers, "_exchange", exchange)
        made = Workers(1, "", program=("-c", READY + "; import time; time.sleep(600)"))
        await made.start()
        first, second = made.decide(1, b"one"), made.decide(1, b"two")
        while made.waiting == 2:
            await asyncio.sleep(0.01)
        await _turns(3)
        said.set_result(Decided(b"done", False))
        await _turns(ticks)
        async with asyncio.timeout(ENOUGH):
            await made.stop()
            await asyncio.wait({first, second})

    asyncio.run(run())


class _Late:
    """A line of the store's that keeps its jobs until it is told."""

    def __init__(self) -> None:
        self.jobs: list[Callable[[Store | None], None]] = []

    def put(self, job: Callable[[Store | None], None]) -> None:
        """Take a job."""
        self.jobs.append(job)


@pytest.mark.parametrize("ticks", TICKS)
def test_who_asks_the_store_is_cancelled_although_the_answer_comes(ticks: int) -> None:
    """What a task is told is not lost: else it goes on, and whoever waits for its end waits for ever."""

    async def run() -> None:
        keeper = Keeper(lambda: cast(Store, _Closable()), lambda why: None)
        line, own = keeper._line, _Late()
        keeper._line = cast(Any, own)
        asking = asyncio.create_task(keeper.ask(lambda store: 1, ENOUGH))
        while not own.jobs:
            await asyncio.sleep(0)
        own.jobs[0](cast(Store, _Closable()))
        await _turns(ticks)
        was_told = asking.cancel()
        await asyncio.wait({asking})
        assert asking.cancelled() == was_told
        keeper._line = line
        keeper.close()

    asyncio.run(run())


class _Closable:
    """A store that can do nothing but be closed."""

    def close(self) -> None:
        """It is."""


class _Slow(_Closable):
    """One that does not come back within the service's life."""

    def __init__(self, free: threading.Event) -> None:
        self._free = free

    def wait(self) -> None:
        """Until the test is over."""
        self._free.wait(60)


def test_two_stores_that_do_not_come_back_are_waited_for_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as for one of them."""
    free = threading.Event()
    waited: list[float] = []
    monkeypatch.setattr("maple_daemon.serve.service.open_store", lambda *_: _Slow(free))
    service = Service(Settings(store="/nowhere", workers=1))
    real = threading.Thread.join
    for keeper in service.keepers:
        keeper.do(lambda store: cast(_Slow, store).wait())

    def join(self: threading.Thread, timeout: float | None = None) -> None:
        if self.name == "store":
            waited.append(timeout or 0)
            later = time.monotonic() + CLOSE_SECONDS
            monkeypatch.setattr(time, "monotonic", lambda: later)
            return
        real(self, timeout)

    monkeypatch.setattr(threading.Thread, "join", join)
    asyncio.run(service.stop())
    free.set()
    assert waited[0] == pytest.approx(CLOSE_SECONDS, abs=1) and waited[1] == 0


def test_what_is_read_while_the_process_is_replaced_is_read_by_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reload: the user's later submissions wait for nothing that has ended."""

    async def run() -> bytes:
        first, second = _Told(), _Told()
        second.answer.set_result(Decided(b"read", False))
        looker = Looker(cast(Any, None), cast(Any, None), lambda: "", lambda what, number: None)
        looker._workers = cast(Workers, first)
        reading = asyncio.create_task(looker._read_by_process(1, b"?"))
        while not first.asked:
            await asyncio.sleep(0)
        looker._workers = cast(Workers, second)
        first.answer.cancel()
        async with asyncio.timeout(ENOUGH):
            return await reading

    assert asyncio.run(run()) == b"read"


def test_what_is_read_when_the_service_ends_is_nothing() -> None:
    """No other process comes."""

    async def run() -> bytes:
        only = _Told()
        looker = Looker(cast(Any, None), cast(Any, None), lambda: "", lambda what, number: None)
        looker._workers = cast(Workers, only)
        only.answer.cancel()
        async with asyncio.timeout(ENOUGH):
            return await looker._read_by_process(1, b"?")

    assert lookup.ASK_SECONDS < ENOUGH and asyncio.run(run()) == b""


class _Told:
    """Workers whose answer the test gives."""

    def __init__(self) -> None:
        self.answer: asyncio.Future[Decided] = asyncio.get_running_loop().create_future()
        self.asked: list[bytes] = []

    def decide(self, uid: int, frame: bytes) -> asyncio.Future[Decided]:
        """Take the question."""
        self.asked.append(frame)
        return self.answer
