"""What PBS's hook reads (`packaging/pbs/maple_points.py`): how long the last run of a user's job of that name took.

A hook cannot wait for a question, so the answers are written beforehand: a file that only root and the service read.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ..install.release import atomic
from .factor import Bounds
from .knowledge import Knowledge


def write(path: Path, knowledge: Knowledge, bounds: Bounds) -> int:
    """Write the table, in one rename; return how many jobs it knows. Raises `OSError` and `StoreError`."""
    seconds = knowledge.last_runs()
    table: dict[str, Any] = {"bound": bounds.most, "reference": bounds.reference, "seconds": seconds}
    atomic.write_json(path, table, 0o600)
    return sum(map(len, seconds.values()))


def remove(path: Path) -> bool:
    """Take it away, so that no further job gets points; return whether there was one."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    return True
