"""Times and sizes as schedulers, site files and people write them: seconds and bytes inside."""

from __future__ import annotations

import re

from maple_submit_filter.request.pbs import select
from maple_submit_filter.request.slurm import values

_CLOCK = re.compile(r"(?:(\d{1,6})-)?(\d{1,6}):(\d\d)(?::(\d\d))?", re.ASCII)
_PRINTED = re.compile(r"(?:(\d{1,6})-)?(\d{1,9})(?::(\d{1,2}))?(?::(\d{1,2}))?(?:\.\d+)?", re.ASCII)
_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,6})?)\s*([kmgtp]?)(?:i?b)?", re.IGNORECASE | re.ASCII)
_FACTORS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}


def clock(seconds: float) -> str:
    """Return seconds as HH:MM:SS, which both schedulers read; hours may exceed 99."""
    return "%02d:%02d:%02d" % (seconds // 3600, seconds // 60 % 60, seconds % 60)


def elapsed(seconds: float) -> str:
    """Return seconds as a person reads them: 0:02:11."""
    return "%d:%02d:%02d" % (seconds // 3600, seconds // 60 % 60, seconds % 60)


def of_clock(text: str | None) -> int | None:
    """Return the seconds of H:MM:SS, D-HH:MM:SS or D-HH:MM; None for two numbers alone, which may be either."""
    match = _CLOCK.fullmatch(text or "")
    if match is None or (match[1] is None and match[4] is None):
        return None
    days, hours, minutes, rest = (int(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + rest if minutes < 60 and rest < 60 else None


def asked(text: str, scheduler: str) -> int | None:
    """Return the seconds of a time limit as sbatch (30 is minutes) or qsub (30 is seconds) reads it, None for none."""
    read = select.seconds if scheduler == "pbs" else values.seconds
    return read(text.encode("utf-8", "replace"))


def printed(text: str | None) -> int | None:
    """Return the seconds of `1-02:03:04`, `02:03:04`, `03:04` (minutes and seconds) or `1-02`, as they are printed.

    None where it is unlimited, or a number alone, which may be either.
    """
    match = _PRINTED.fullmatch((text or "").strip())
    if match is None:
        return None
    days, parts = match[1], [int(part) for part in match.groups()[1:] if part is not None]
    if days is not None:
        hours, minutes, rest = (parts + [0, 0])[:3]
        return int(days) * 86400 + hours * 3600 + minutes * 60 + rest
    if len(parts) == 3:
        return parts[0] * 3600 + parts[1] * 60 + parts[2]
    return parts[0] * 60 + parts[1] if len(parts) == 2 else None


def size(text: str | None, unit: str = "") -> int | None:
    """Return the bytes of `4G`, `1234K`, `123kb`, `16mw`, `0`, None for anything else; *unit*: where none is written.

    Slurm and PBS both count in powers of 1024; the w of PBS is a word of eight bytes.
    """
    text = (text or "").strip()
    match = _SIZE.fullmatch(text)
    if match is None:
        return select.size(text.encode("utf-8", "replace"))
    factor = _FACTORS[(match[2] or ("" if text[-1:] in "bB" else unit)).lower()]
    return int(float(match[1]) * 1024**factor)


def mebibytes(text: str | None) -> int | None:
    """Return a size in MiB, rounded down; None where it is none."""
    amount = size(text)
    return None if amount is None else amount >> 20


def epoch(text: str | None) -> int | None:
    """Return a time that is printed as seconds since 1970; None for `Unknown`, `N/A` and 0."""
    return int(text) or None if text and re.fullmatch(r"\d{1,12}", text, re.ASCII) else None
