"""A file of the service's part of an installation, and where those that it is made of lie."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import maple_submit_filter


class File(NamedTuple):
    """*kept*: from when it is there it is the administrator's, and no update changes it."""

    path: Path
    content: bytes
    kept: bool = False
    mode: int = 0o644


def checkout() -> Path:
    """Return the folder above our packages, where this is a checkout."""
    return Path(maple_submit_filter.__file__).resolve().parents[2]
