"""The store behind a thread of its own, so that no disk is waited for; while it is broken, answers go on without it."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from .store.protocol import Store, StoreError

RETRY = 30.0  # seconds before a broken store is opened again
MOST_WAITING = 20_000  # changes; further ones are dropped, and counted
Open = Callable[[], Store]
Result = TypeVar("Result")


class Keeper:
    """One thread with one store. *complain* hears each time that something could not be done."""

    def __init__(self, open_store: Open, complain: Callable[[str], None]) -> None:
        self._open_store, self._complain = open_store, complain
        self._jobs: queue.Queue[Callable[[Store | None], None] | None] = queue.Queue(MOST_WAITING)
        self._thread = threading.Thread(target=self._work, name="store", daemon=True)
        self._thread.start()

    def do(self, change: Callable[[Store], object]) -> None:
        """Make a change some time soon; if it cannot be made, that is said and forgotten."""

        def job(store: Store | None) -> None:
            if store is not None:
                change(store)

        try:
            self._jobs.put_nowait(job)
        except queue.Full:
            self._complain("the store is slower than what happens; a change was dropped")

    async def ask(self, question: Callable[[Store], Result], seconds: float) -> Result | None:
        """Return the answer, None where there is none within *seconds*. Raises nothing."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Result | None] = loop.create_future()

        def job(store: Store | None) -> None:
            found = None
            try:
                found = question(store) if store is not None else None
            finally:
                loop.call_soon_threadsafe(_settle, answer, found)

        try:
            self._jobs.put_nowait(job)
            return await asyncio.wait_for(answer, seconds)
        except (queue.Full, asyncio.TimeoutError):
            return None

    def close(self) -> None:
        """Do what was asked for, then end. Waits five seconds at most."""
        try:
            self._jobs.put(None, timeout=1)
        except queue.Full:
            return
        self._thread.join(5)

    def _work(self) -> None:
        store: Store | None = None
        broken = -RETRY
        while (job := self._jobs.get()) is not None:
            if store is None and time.monotonic() - broken >= RETRY:
                store = self._opened()
                broken = time.monotonic()
            try:
                job(store)
            except StoreError as error:
                self._complain(str(error))
                broken = time.monotonic()
                _close(store)
                store = None
            except RuntimeError:
                pass  # the loop that asked is gone
        _close(store)

    def _opened(self) -> Store | None:
        try:
            return self._open_store()
        except StoreError as error:
            self._complain(str(error))
            return None


def _close(store: Store | None) -> None:
    if store is not None:
        store.close()


def _settle(answer: asyncio.Future[Any], found: Any) -> None:
    if not answer.done():
        answer.set_result(found)
