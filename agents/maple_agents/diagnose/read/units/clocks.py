"""The times that lines tell, as seconds since 1970, or since midnight where no day is said.

A time without a zone is that of this machine, as it is on a cluster. A day without a year is the last one before the
file was written.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from typing import NamedTuple

_DATED = re.compile(
    r"[\[(]?(?:(?P<year>\d{4})[-/](?P<month>\d\d)[-/](?P<day>\d\d)|(?P<m>\d\d)/(?P<d>\d\d)/(?P<y>\d{4}))"
    r"(?:[T_]|[ ]+-?[ ]?)(?P<clock>\d\d:\d\d:\d\d)(?P<part>[.,]\d+)?(?:[ ]?(?P<zone>Z|[+-]\d\d:?\d\d"
    r"|UTC))?[\])]?[;:,]?[ ]?"  # one blank at most: what follows may be the indentation of a traceback
)
_SHORT = re.compile(r"(?P<month>\d\d)-(?P<day>\d\d) (?P<clock>\d\d:\d\d:\d\d)(?P<part>[.,]\d+)?[ ]?")  # vLLM
_CCL = re.compile(
    r"(?P<year>\d{4}):(?P<month>\d\d):(?P<day>\d\d)-(?P<clock>\d\d:\d\d:\d\d)(?P<part>\.\d+)?:\(\d+\)[ ]?"
)
_SYSLOG = re.compile(
    r"\[?(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) )?(?P<month>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) "
    r"{1,2}(?P<day>\d{1,2}) (?P<clock>\d\d:\d\d:\d\d)(?P<part>\.\d+)?(?: (?P<year>\d{4}))?\]?:?[ ]?"
)
_CLOCK = re.compile(r"[\[(]?(?P<clock>\d\d:\d\d:\d\d)(?P<part>[.,]\d+)?[\])]?(?![:\d<])[ ]?")
_EPOCH = re.compile(r"\[?(?P<epoch>1[4-9]\d{8}|2[0-4]\d{8})(?P<part>\.\d+)?\]?:?[ ](?=\D)")
_SAID = re.compile(
    r"(?:CANCELLED AT|time\s*:) (?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)[T_](?P<clock>\d\d:\d\d:\d\d)"
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class Moment(NamedTuple):
    """Seconds since 1970, or since midnight where not *dated*."""

    at: float
    dated: bool = True


class Clock:
    """Reads times of one file. *modified*: when it was last written, seconds since 1970."""

    def __init__(self, modified: float = 0.0) -> None:
        self._last = datetime.fromtimestamp(modified).replace(tzinfo=None) if modified else None

    def read(self, text: str, start: int = 0) -> tuple[Moment | None, int]:
        """Return the time that stands at *start*, and where it ends; (None, start) for none."""
        for pattern in (_DATED, _SHORT, _CCL, _SYSLOG, _CLOCK, _EPOCH):
            match = pattern.match(text, start)
            moment = self._moment(match) if match else None
            if match and moment:
                return moment, match.end()
        return None, start

    def in_words(self, text: str) -> Moment | None:
        """Return the time that the words tell of what they tell."""
        match = _SAID.search(text)
        return self._moment(match) if match else None

    def month_day(self, day: str, clock: str) -> Moment | None:
        """Return the time of glog: `1121` or, as torch writes it, `317`; `00:32:33.234761164`."""
        month, number = int(day[:-2]), int(day[-2:])
        return self._of(self._year(month, number), month, number, clock)

    def _moment(self, match: re.Match[str]) -> Moment | None:
        parts = {name: value for name, value in match.groupdict().items() if value}
        part = float("0." + parts["part"][1:]) if "part" in parts else 0.0
        if "epoch" in parts:
            return Moment(int(parts["epoch"]) + part)
        month, day = parts.get("month") or parts.get("m"), parts.get("day") or parts.get("d")
        if not month or not day:
            return self._of(None, 1, 1, parts["clock"], part)
        number = int(month) if month.isdigit() else _MONTHS.index(month) + 1
        year = parts.get("year") or parts.get("y")
        return self._of(int(year) if year else self._year(number, int(day)), number, int(day), parts["clock"], part,
                        parts.get("zone", ""))  # fmt: skip

    def _of(
        self, year: int | None, month: int, day: int, clock: str, part: float = 0.0, zone: str = ""
    ) -> Moment | None:
        hours, minutes, seconds = clock.split(":")
        whole, _, fraction = seconds.partition(".")
        part += float("0." + fraction) if fraction else 0.0
        try:
            if year is None:
                return Moment(int(hours) * 3600 + int(minutes) * 60 + int(whole) + part, False)
            when = datetime(year, month, day, int(hours), int(minutes), int(whole), tzinfo=_zone(zone))
            return Moment(when.timestamp() + part)
        except (ValueError, OverflowError, OSError):
            return None

    def _year(self, month: int, day: int) -> int | None:
        """Return the year in which that day was before the file was written; None where that is not known."""
        if self._last is None:
            return None
        try:
            late = datetime(self._last.year, month, day) > self._last + timedelta(days=1)
        except ValueError:
            late = False
        return self._last.year - late


def _zone(text: str) -> timezone | None:
    if not text:
        return None
    if text in ("Z", "UTC"):
        return timezone.utc
    sign = -1 if text[0] == "-" else 1
    return timezone(sign * timedelta(hours=int(text[1:3]), minutes=int(text[-2:])))
