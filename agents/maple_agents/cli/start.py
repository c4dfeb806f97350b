"""Where the commands begin: Ctrl-C ends them without a traceback, also while their parts are still being loaded."""

from __future__ import annotations

import atexit
import gc
import os
import sys
import threading

OBJECTS = 100_000  # made before any are looked through: a command that loads much and ends soon leaves few behind
INTERRUPTED = 130  # as a shell tells of SIGINT


def maple() -> None:
    """Run `maple`; it ends the process."""
    try:
        from .main import main

        main()
    except KeyboardInterrupt:
        os._exit(INTERRUPTED)  # half-loaded modules have nothing to tidy up


def maple_fix() -> None:
    """Run `maple-fix`; it ends the process."""
    gc.set_threshold(OBJECTS)
    try:
        from ..base import expressions

        with expressions.used():
            from .fix.command import main

            main()
    except KeyboardInterrupt:
        os._exit(INTERRUPTED)
    except SystemExit as end:
        _end(end.code)
        raise


def _end(code: object) -> None:
    """End the process at once where nothing is left to do: to take thousands of objects apart takes a seventh of the
    time of a diagnosis.
    """
    awaited = [thread for thread in threading.enumerate() if not thread.daemon]
    if not isinstance(code, int) or len(awaited) > 1:
        return
    try:
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        return  # a reader that is gone: Python says so, or not, as ever
    os._exit(code & 0xFF)
