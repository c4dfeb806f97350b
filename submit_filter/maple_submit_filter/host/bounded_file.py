"""Reads a file that a launch plan needs (hostfile, configuration, sourced script), as the user, within bounds."""

from __future__ import annotations

import os
import stat
from typing import Optional

MOST_BYTES = 1 << 20


def read_file(path: bytes) -> Optional[bytes]:
    """Return the bytes of a regular file of at most 1 MiB, None for anything else. Never waits on a FIFO or device."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except (OSError, ValueError):
        return None
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > MOST_BYTES:
            return None
        return os.read(descriptor, MOST_BYTES)
    except OSError:
        return None
    finally:
        os.close(descriptor)
