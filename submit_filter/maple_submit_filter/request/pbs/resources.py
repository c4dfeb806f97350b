"""What PBS reads in the values of `-l`: times and amounts of memory."""

from __future__ import annotations

import re
from typing import Optional

_TIME = re.compile(rb"(\d{1,9})(?::(\d{1,9}))?(?::(\d{1,9}))?(?:\.\d*)?\Z")
_SIZE = re.compile(rb"(\d{1,18})([kKmMgGtTpP]?)([bBwW]?)\Z")
_SHIFT = {b"": 0, b"k": 10, b"m": 20, b"g": 30, b"t": 40, b"p": 50}
WORD = 8  # bytes of the `w` in `10mw`, on a 64-bit server

TIMES = ("walltime", "cput", "pcput", "min_walltime", "max_walltime", "soft_walltime")
SIZES = ("mem", "vmem", "pmem", "pvmem", "file")


def seconds(value: bytes) -> Optional[int]:
    """Return the seconds of `S`, `M:S` or `H:M:S`; 70 minutes are as good as 10. None for what is no time, or empty.

    A fraction of a second is left out. PBS takes an empty value too (`-l walltime=`): it says nothing.
    """
    match = _TIME.match(value)
    if not match:
        return None
    total = 0
    for part in match.groups():
        total = total if part is None else total * 60 + int(part)
    return total


def may_be_time(value: bytes) -> bool:
    """Return whether PBS may take a value for a time; False where it surely refuses: `abc`, `-5`, `1:2:3:4`."""
    return not value.strip(b"0123456789:.") and value.count(b":") <= 2


def size(value: bytes) -> Optional[int]:
    """Return the bytes of `500gb`, `4G`, `10mw` (words of 8 bytes) or `1024`; None for what is no size."""
    match = _SIZE.match(value)
    if not match:
        return None
    amount = int(match.group(1)) << _SHIFT[match.group(2).lower()]
    return amount * WORD if match.group(3) in b"wW" and match.group(3) else amount


def may_be_size(value: bytes) -> bool:
    """Return whether PBS may take a value for a size; nobody asked it about `1.5gb`."""
    return size(value.replace(b".", b"", 1)) is not None


def clock(total: int) -> bytes:
    """Return seconds as PBS shows them: HH:MM:SS."""
    return b"%02d:%02d:%02d" % (total // 3600, total // 60 % 60, total % 60)
