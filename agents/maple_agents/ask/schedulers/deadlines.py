"""A time limit for calls that cannot be interrupted, such as those of libpbs.

The calls are made by a thread of their own, one after the other. One that is late is given up: its thread is left to
itself, and ends when the call does.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from .protocol import SchedulerError

Answer = TypeVar("Answer")
_GIVEN_UP_AT_MOST = 4  # threads that hang in the library; a fifth would hang as well


class Worker:
    """Makes calls in one thread, each within a time limit. After a fork the child gets a thread of its own."""

    def __init__(self, what: str) -> None:
        self.what = what
        self._begin()

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._current: _Thread | None = None
        self._given_up: list[_Thread] = []

    def call(self, function: Callable[[], Answer], seconds: float) -> Answer:
        """Return what *function* returns, or raise what it raises.

        Raises `SchedulerError` after *seconds*, waiting for earlier calls included, and at once while too many calls
        hang.
        """
        deadline = time.monotonic() + seconds
        if self._process != os.getpid():  # the lock and the thread stayed with the parent
            self._begin()
        with self._lock:
            thread = self._alive()
            call: _Call[Answer] = _Call(function)
            thread.calls.put(call)
        try:
            return call.future.result(max(0.0, deadline - time.monotonic()))
        except TimeoutError:
            if not call.future.cancel() and call.future.done():  # one that is still in the queue is never made
                return call.future.result()  # just in time, or a TimeoutError of its own
            with self._lock:
                self._give_up(thread)
            raise self._late("no answer after %g s" % seconds) from None

    def _alive(self) -> _Thread:
        self._given_up = [one for one in self._given_up if one.thread.is_alive()]
        if len(self._given_up) >= _GIVEN_UP_AT_MOST:
            raise self._late("%d earlier questions are still unanswered" % len(self._given_up))
        if self._current is None:
            self._current = _Thread(self.what)
        return self._current

    def _give_up(self, thread: _Thread) -> None:
        thread.calls.put(None)
        if self._current is thread:
            self._current = None
            self._given_up.append(thread)

    def _late(self, text: str) -> SchedulerError:
        return SchedulerError(self.what, text, "try again later; the server may be busy", transient=True)


class _Call(Generic[Answer]):
    """One call, and what will come of it."""

    def __init__(self, function: Callable[[], Answer]) -> None:
        self.function = function
        self.future: Future[Answer] = Future()

    def make(self) -> None:
        if self.future.set_running_or_notify_cancel():
            try:
                self.future.set_result(self.function())
            except BaseException as error:
                self.future.set_exception(error)


class _Thread:
    """A thread that makes calls until it finds None; it never keeps the interpreter from ending."""

    def __init__(self, what: str) -> None:
        self.calls: SimpleQueue[_Call[Any] | None] = SimpleQueue()
        self.thread = threading.Thread(target=self._work, name=what, daemon=True)
        self.thread.start()

    def _work(self) -> None:
        while (call := self.calls.get()) is not None:
            call.make()
            del call  # while waiting for the next nothing of this one is held
