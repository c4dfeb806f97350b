"""Signals as a person's shell leaves them, whatever started the tests.

`nohup make test`, or `make test &` in a script, starts everything with SIGHUP or SIGINT ignored, and what is ignored
stays so through every exec: programs that are tested for what they do on a signal would never get it.
"""

from __future__ import annotations

import signal
from types import FrameType
from typing import Optional

PYTHONS_OWN = {signal.SIGPIPE, signal.SIGXFSZ}  # ignored by every Python; subprocess gives them back by itself


def give_back() -> None:
    """Make sure that what is started from here on gets every signal with its default action, and none blocked.

    This process goes on without them, as whoever started it wanted: a handler that does nothing is not inherited
    through exec, where an ignored signal is.
    """
    for number in set(signal.valid_signals()) - PYTHONS_OWN:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, _nothing)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _nothing(number: int, frame: Optional[FrameType]) -> None:
    """Do nothing with a signal."""
