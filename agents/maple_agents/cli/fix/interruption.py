"""An answer that was not wanted to its end: an interrupt, a reader that is gone, an output that takes no more."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from collections.abc import Iterator

from ...base.complaint import Complaint


class Interrupted(Complaint):
    """Somebody pressed Ctrl-C: one line, and the exit code that shells give it."""

    exit_code = 130


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Turn an interrupt into one line. What was begun has been taken back on the way here."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted("interrupted", "nothing was written, and nothing submitted") from None


def spoken() -> None:
    """Make sure that an answer can be given, in whatever letters the terminal has.

    Raises `Complaint` where standard output is closed: whatever is opened next would get its number.
    """
    if sys.stdout is None:
        raise Complaint("standard output is closed", "redirect it to a file or to /dev/null")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a log's letters may be none of Latin-1


@contextlib.contextmanager
def printing(goes_on: bool = False) -> Iterator[None]:
    """Print what is printed within to its end, or raise `Complaint` where the output takes no more.

    A reader that has seen enough is no failure; *goes_on*: there is more to do than to print, and it is done then too.
    """
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        _silence()
        if error.errno == errno.EPIPE and goes_on:
            return
        if error.errno == errno.EPIPE:
            raise
        why = (error.strerror or str(error)).lower()
        raise Complaint("the answer could not be printed: %s" % why, "nothing else was done") from error


def _silence() -> None:
    """Lead standard output nowhere, so that what is left in its buffer fails no second time."""
    with contextlib.suppress(OSError, ValueError):
        descriptor = os.open(os.devnull, os.O_WRONLY)
        os.dup2(descriptor, sys.stdout.fileno())
        os.close(descriptor)
