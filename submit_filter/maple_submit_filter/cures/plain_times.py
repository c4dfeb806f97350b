"""Times as people write them, in the form that schedulers take."""

from __future__ import annotations

import re
from typing import Optional

_PART = rb"(\d{1,4})\s*(d(?:ays?)?|h(?:ours?|rs?)?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?)"
_ANY = rb"\d{1,4}\s*(?:d(?:ays?)?|h(?:ours?|rs?)?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?)"
_SECONDS = {b"d": 86400, b"h": 3600, b"m": 60, b"s": 1}


def clock(value: bytes) -> Optional[bytes]:
    """Return `24h`, `2d`, `90min` or `1d12h` as HH:MM:SS; None for anything else, and where a part comes twice."""
    text = value.strip(b"\"'").lower()
    if not re.fullmatch(rb"(?:%s[\s,]*)+" % _ANY, text):
        return None
    parts = re.findall(_PART, text)
    units = [unit[:1] for _, unit in parts]
    if sorted(units, key=b"dhms".index) != units or len(set(units)) != len(units):
        return None
    seconds = sum(int(count) * _SECONDS[unit] for (count, _), unit in zip(parts, units))
    return b"%02d:%02d:%02d" % (seconds // 3600, seconds // 60 % 60, seconds % 60) if seconds else None
