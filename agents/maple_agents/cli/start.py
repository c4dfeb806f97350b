"""Where the commands begin: Ctrl-C ends them without a traceback, also while their parts are still being loaded."""

from __future__ import annotations

import gc
import os

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
        from .fix.command import main

        main()
    except KeyboardInterrupt:
        os._exit(INTERRUPTED)
