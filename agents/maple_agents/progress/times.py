"""When a line was printed, by the time that it tells itself, wherever near its beginning that stands."""

from __future__ import annotations

import re

from ..diagnose.read.units.clocks import Clock

_NEAR = 120  # characters in which a time is looked for
_DATED = re.compile(r"\d{4}[-/]\d\d[-/]\d\d[ T_]|\d\d/\d\d/\d{4}[ T_]")
_GLOG = re.compile(r"\b[IWEF](?P<day>\d{4}) (?P<clock>\d\d:\d\d:\d\d(?:\.\d+)?)")
_AT = re.compile(r"\bat (?=\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)")


def told(text: str, clock: Clock) -> float | None:
    """Return the time with its day that *text* tells, seconds since 1970; None where it tells none."""
    near = text[:_NEAR]
    found = _DATED.search(near)
    if found:
        moment, _ = clock.read(near, found.start())
        return moment.at if moment is not None and moment.dated else None
    glog = _GLOG.search(near)
    if glog:
        said = clock.month_day(glog["day"], glog["clock"])
        return said.at if said is not None and said.dated else None
    return None
