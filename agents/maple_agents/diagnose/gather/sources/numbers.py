"""Sizes, times and memory as schedulers print them."""

from __future__ import annotations

import re

_FACTORS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,6})?)\s*([kmgtp]?)(?:i?b)?", re.IGNORECASE | re.ASCII)
_TIME = re.compile(r"(?:(\d{1,6})-)?(\d{1,9})(?::(\d{1,2}))?(?::(\d{1,2}))?(?:\.\d+)?", re.ASCII)


def size(text: str | None, unit: str = "") -> int | None:
    """Return bytes of `4G`, `1234K`, `123kb`, `0`; *unit* is meant where none is written. None for anything else.

    Slurm and PBS both count in powers of 1024.
    """
    found = _SIZE.fullmatch((text or "").strip())
    if found is None:
        return None
    factor = _FACTORS[(found[2] or ("" if text and text.strip()[-1:] in "bB" else unit)).lower()]
    return int(float(found[1]) * 1024**factor)


def seconds(text: str | None) -> float | None:
    """Return the seconds of `1-02:03:04`, `02:03:04`, `03:04` (minutes and seconds) or `1-02`; None where unlimited."""
    found = _TIME.fullmatch((text or "").strip())
    if found is None:
        return None
    days, parts = found[1], [int(part) for part in found.groups()[1:] if part is not None]
    if days is not None:
        hours, minutes, rest = (parts + [0, 0])[:3]
        return int(days) * 86400 + hours * 3600 + minutes * 60 + rest
    if len(parts) == 3:
        return parts[0] * 3600 + parts[1] * 60 + parts[2]
    return parts[0] * 60 + parts[1] if len(parts) == 2 else None


def epoch(text: str | None) -> float | None:
    """Return a time that is printed as seconds since 1970; None for `Unknown`, `N/A` and 0."""
    return float(text) or None if text and re.fullmatch(r"\d{1,12}", text, re.ASCII) else None
