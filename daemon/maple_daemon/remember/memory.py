"""The store behind a thread of its own, so that no disk is waited for; while it is broken, answers go on without it."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import random
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Optional, TypeVar, Union

from maple_submit_filter.types.job_records import Record

from ..base.telemetry import cause
from ..store.protocol import Caps, Gone, NotKept, Store, StoreError

RETRY = 30.0  # seconds before a broken store is opened again
PURGE = 3600.0  # seconds between two purges
MOST_AHEAD = 86400.0  # seconds that the wall clock may have been put on since the start, and be believed
MOST_WAITING = 20_000  # changes; further ones are dropped, and counted
MOST_BYTES = 128 << 20  # that they hold
SAY_SECONDS = 60.0  # between two words about what is dropped: whoever drops much has no time for a line each
Open = Callable[[], Store]
Result = TypeVar("Result")


class Keeper:
    """One thread with one store. *complain* hears each time that something could not be done.

    *retry*: seconds before a broken store is opened again. `refused` hears of what has no form in a store that is well.
    """

    def __init__(self, open_store: Open, complain: Callable[[str], None], retry: float = RETRY) -> None:
        self._open_store, self._complain, self._retry = open_store, complain, retry
        self.refused = complain
        self.dropped: Callable[[], None] = lambda: None  # hears of each change for which there was no room
        self.lost = 0  # changes for which there was no room, since it began
        self._dropped, self._said = 0, -SAY_SECONDS
        self.kept: Callable[[Sequence[Record]], None] = lambda records: (
            None
        )  # hears, in the thread, what needs no keeping
        self._held, self._counting = 0, threading.Lock()  # bytes of changes that wait
        self._line, self._ending = Line(MOST_WAITING), False
        self._thread = threading.Thread(target=self._work, name="store", daemon=True)
        self._thread.start()

    def do(self, change: Callable[[Store], object], size: int = 0) -> None:
        """Make a change some time soon; if it cannot be made, that is said and forgotten. *size*: bytes it holds."""

        def job(store: Store | None) -> None:
            self._hold(-size)
            if store is not None:
                change(store)

        try:
            if self._held + size > MOST_BYTES:
                raise queue.Full
            self._line.put(job)
            self._hold(size)
        except queue.Full:
            self._drop()

    def keep_record(self, record: Record) -> None:
        """Write a record some time soon, with others that come at the same time, and in its turn with changes."""
        try:
            self._line.add(record)
        except queue.Full:
            self._drop()

    def _drop(self) -> None:
        """Count what there is no room for; how much that was is said now and then."""
        self.dropped()
        with self._counting:
            self.lost += 1
            self._dropped += 1
            says = time.monotonic() - self._said >= SAY_SECONDS
            dropped, self._dropped = (self._dropped, 0) if says else (0, self._dropped)
        if says:
            self._said = time.monotonic()
            self._complain("it is slower than what happens; changes dropped: %d" % dropped)

    def _hold(self, size: int) -> None:
        with self._counting:
            self._held += size

    async def ask(self, question: Callable[[Store], Result], seconds: float) -> Result | None:
        """Return the answer, None where there is none within *seconds*. Raises nothing."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Result | None] = loop.create_future()

        def job(store: Store | None) -> None:
            result = None
            try:
                result = question(store) if store is not None else None
            finally:
                loop.call_soon_threadsafe(_settle, answer, result)

        try:
            self._line.put(job)
            async with asyncio.timeout(seconds):  # `wait_for` of Python 3.11 may lose that it was cancelled
                return await answer
        except (queue.Full, TimeoutError):
            return None

    def close(self, seconds: float = 5.0) -> None:
        """Do what was asked for, then end. Waits so many seconds at most."""
        self.end()
        self._thread.join(seconds)

    def end(self) -> None:
        """Let the thread end behind all that was asked for, without waiting for it."""
        if not self._ending:
            self._ending = True
            with contextlib.suppress(queue.Full):
                self._line.end()

    def _work(self) -> None:
        store, broken = self._opened(), time.monotonic()  # before it is needed, and what is wrong is said at the start
        while (taken := self._line.take()) is not None:
            job = taken if callable(taken) else partial(self._keep_records, taken)
            if store is None and time.monotonic() - broken >= self._retry:
                store = self._opened()
                broken = time.monotonic()
            if not self._done(job, store):
                broken = time.monotonic()
                _close(store)
                store = None
        _close(store)

    def _keep_records(self, records: Sequence[Record], store: Store | None) -> None:
        if store is None:
            return
        try:
            store.keep_records(records)
        except NotKept:
            self.kept(records)
            raise
        self.kept(records)

    def _done(self, job: Job, store: Store | None) -> bool:
        """Return whether the store is well after it."""
        try:
            job(store)
        except NotKept as error:
            self.refused(str(error))
        except StoreError as error:
            self._complain(str(error))
            return False
        except RuntimeError:
            pass  # the loop that asked is gone
        except Exception as error:  # a mistake of ours costs what was asked, not the memory of everybody
            self._complain("a change or question failed: " + cause(error))
        return True

    def _opened(self) -> Store | None:
        try:
            return self._open_store()
        except Exception as error:  # a missing library too: answers go on without memory
            self._complain(str(error) or type(error).__name__)
            return None


async def purging(keeper: Keeper, caps: Caps, tell: Callable[[Gone], None], every: float = PURGE) -> None:
    """Remove what is too old or too much, soon after the start and then each hour, until cancelled.

    Not to the second, so that the daemons of several login nodes do not do it at once. A wall clock that jumps ahead
    makes nothing old.
    """
    wall, steady = time.time(), time.monotonic()
    await asyncio.sleep(every / 30 * random.uniform(0.5, 1.5))
    while True:
        keeper.do(partial(_purge, tell, min(time.time(), wall + time.monotonic() - steady + MOST_AHEAD), caps))
        await asyncio.sleep(every * random.uniform(0.9, 1.1))


def _purge(tell: Callable[[Gone], None], now: float, caps: Caps, store: Store) -> None:
    tell(store.purge(now, caps))


def _close(store: Store | None) -> None:
    if store is not None:
        store.close()


def _settle(answer: asyncio.Future[Any], result: Any) -> None:
    if not answer.done():
        answer.set_result(result)


# What waits for the store's thread, in its order; submissions that come close to each other are taken together.
#
# A transaction costs several times what a row does, and each time that a thread wakes it takes the interpreter from the
# one that answers.

SECONDS = 0.05  # that a record waits for others; what comes behind it hurries it
MOST = 64  # records that are written together
Job = Callable[[Optional[Store]], None]
_Waiting = Union[Job, Record, None]


class Line:
    """Jobs and records, first come, first served. *most*: that wait. Any thread puts, one takes."""

    def __init__(self, most: int) -> None:
        self._waiting: queue.Queue[_Waiting] = queue.Queue(most)
        self._behind: list[_Waiting] = []  # what was found behind records
        self._hurry = threading.Event()

    def put(self, job: Job) -> None:
        """Put a job at the end. Raises `queue.Full`."""
        self._waiting.put_nowait(job)
        self._hurry.set()

    def add(self, record: Record) -> None:
        """Put a record at the end; whoever takes is not woken for each. Raises `queue.Full`."""
        self._waiting.put_nowait(record)

    def end(self) -> None:
        """Let whoever takes find the end behind all that waits. Raises `queue.Full` after a second."""
        self._waiting.put(None, timeout=1)
        self._hurry.set()

    def take(self) -> Job | Sequence[Record] | None:
        """Wait for the next job, or for the next records, `MOST` at once; None at the end."""
        first = self._behind.pop() if self._behind else self._waiting.get()
        if isinstance(first, Record):
            return self._gathered(first)
        self._hurry.clear()
        return first

    def _gathered(self, first: Record) -> list[Record]:
        if self._waiting.qsize() < MOST:
            self._hurry.wait(SECONDS)
        records = [first]
        while len(records) < MOST:
            try:
                record = self._waiting.get_nowait()
            except queue.Empty:
                break
            if not isinstance(record, Record):
                self._behind.append(record)
                break
            records.append(record)
        return records
