"""Signals while a verification runs: they end it in order, and never between a submission and its job's id."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator

from ...ask.verified.records import Interrupted

NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """Raises `Interrupted` where a signal arrives; while *held* it waits until `held` is left."""

    def __init__(self) -> None:
        self._held = 0
        self._came: int | None = None

    @contextlib.contextmanager
    def caught(self) -> Iterator[None]:
        """Catch the signals; outside the main thread, where nobody may, nothing is done."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.getsignal(number) for number in NUMBERS}
        mine = [number for number in NUMBERS if before[number] is not signal.SIG_IGN]  # nohup stays nohup
        try:
            for number in mine:
                signal.signal(number, self._hear)
            yield
        finally:
            for number in mine:
                signal.signal(number, before[number])

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Let what must not be interrupted happen; a signal that came meanwhile is raised afterwards."""
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1
        if self._came is not None and not self._held:
            number, self._came = self._came, None
            raise Interrupted(number)

    def _hear(self, number: int, _: object) -> None:
        if self._held:
            self._came = number
            return
        raise Interrupted(number)
