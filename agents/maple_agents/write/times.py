"""Walltimes, as slots and site files write them."""

from __future__ import annotations

import re

_CLOCK = re.compile(r"(?:(\d+)-)?(\d+):(\d\d):(\d\d)\Z")


def seconds(walltime: str) -> int | None:
    """Return a walltime (HH:MM:SS, D-HH:MM:SS) in seconds; None where it is none."""
    found = _CLOCK.match(walltime)
    if found is None:
        return None
    days, hours, minutes, rest = (int(part or 0) for part in found.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + rest if minutes < 60 and rest < 60 else None


def clock(walltime: int) -> str:
    """Return seconds as HH:MM:SS; hours may exceed 99."""
    return "%02d:%02d:%02d" % (walltime // 3600, walltime // 60 % 60, walltime % 60)
