"""A limit on the processor time of a piece of work, also within one search of a regular expression."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Optional


class Spent(Exception):
    """The time is over."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise `Spent` in what stands within once it took *seconds* of processor time; at once outside the main thread.

    A search looks for signals while it backtracks (CPython's sre), so that a hostile pattern ends too.
    """
    if threading.current_thread() is not threading.main_thread():
        raise Spent("only the main thread can be stopped")
    before = signal.signal(signal.SIGVTALRM, _over)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _over(number: int, frame: Optional[FrameType]) -> None:
    raise Spent("the processor time is over")
