"""Which values qsub takes for its options (OpenPBS 23.06). Only what is surely refused is called illegal."""

from __future__ import annotations

import re
from typing import Callable, Dict

_DATE = re.compile(rb"(?:(?:(?:\d\d){0,2}(\d\d))?(\d\d))?(\d\d)(\d\d)(?:\.[0-5]\d)?\Z")
_RANGE = re.compile(rb"(\d{1,18})-(\d{1,18})(?::(\d{1,18}))?(?:%(\d{1,18}))?\Z")
_CHECKPOINT = re.compile(rb"(?:n|s|c|w|[cw]=\d+)\Z")
_PRIORITY = re.compile(rb"[+-]?\d{1,9}\Z")
_DESTINATION = re.compile(rb"\s*[^\s#@]*(?:@[^\s#@]+)?\Z")
_BLANK = re.compile(rb"\s")


def is_date(value: bytes) -> bool:
    """Return whether -a takes it: [[[[CC]YY]MM]DD]hhmm[.SS]."""
    match = _DATE.match(value)
    if not match:
        return False
    month, day, hour, minute = (int(part) if part else None for part in match.groups())
    if (month is not None and not 1 <= month <= 12) or (day is not None and not 1 <= day <= 31):
        return False
    return (hour or 0) < 24 and (minute or 0) < 60


def is_range(value: bytes) -> bool:
    """Return whether -J takes it: X-Y, X-Y:Z, either with %N for how many may run at once."""
    match = _RANGE.match(value)
    if not match:
        return False
    first, last, step, most = (int(part) if part else None for part in match.groups())
    return (first or 0) < (last or 0) and step != 0 and most != 0


def _is_priority(value: bytes) -> bool:
    return bool(_PRIORITY.match(value)) and -1024 <= int(value) <= 1023


def _of(letters: bytes) -> Callable[[bytes], bool]:
    """Return a test: one or several of these letters, or `n` alone."""
    return lambda value: value == b"n" or (bool(value) and not value.strip(letters))


def _are_paths(value: bytes) -> bool:
    return all(path.startswith(b"/") for path in value.split(b","))


_TAKEN: Dict[str, Callable[[bytes], bool]] = {
    "execution-time": is_date,
    "array": is_range,
    "checkpoint": lambda value: bool(_CHECKPOINT.match(value)),
    "error": bool,
    "output": bool,
    "join": lambda value: value in (b"oe", b"eo", b"n"),
    "keep": _of(b"oedr"),
    "mail-type": _of(b"abej"),
    "job-name": lambda value: not _BLANK.search(value),
    "priority": _is_priority,
    "rerunable": lambda value: value in (b"y", b"n"),
    "remove-files": _of(b"oe"),
    "shell": _are_paths,
    "queue": lambda value: bool(_DESTINATION.match(value)),
}
# These are looked at when the option is read, so that in a script the directive is refused.
AT_ONCE = ("execution-time", "rerunable")


def is_illegal(name: str, value: bytes) -> bool:
    """Return whether qsub refuses this value of the option *name*."""
    taken = _TAKEN.get(name)
    return taken is not None and not taken(value)
