"""What waits for the store's thread, in its order; submissions that come close to each other are taken together.

A transaction costs several times what a row does, and each time that a thread wakes it takes the interpreter from the
one that answers.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from typing import Optional, Union

from maple_submit_filter.types.job_records import Record

from ..store.protocol import Store

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
        found = [first]
        while len(found) < MOST:
            try:
                one = self._waiting.get_nowait()
            except queue.Empty:
                break
            if not isinstance(one, Record):
                self._behind.append(one)
                break
            found.append(one)
        return found
