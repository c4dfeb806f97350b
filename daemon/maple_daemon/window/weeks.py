"""Sums by week."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable, Iterator


def by_week(rows: Iterable[tuple[str, str, int]]) -> dict[str, dict[str, int]]:
    """Return the sums of (day, part, number) by the Monday that begins the week; weeks between without any too."""
    weeks: dict[datetime.date, Counter[str]] = {}
    for day, part, number in rows:
        date = datetime.date.fromisoformat(day)
        weeks.setdefault(date - datetime.timedelta(days=date.weekday()), Counter())[part] += number
    return {str(monday): dict(weeks.get(monday, {})) for monday in _mondays(weeks)}


def _mondays(weeks: Iterable[datetime.date]) -> Iterator[datetime.date]:
    at, last = min(weeks, default=None), max(weeks, default=None)
    while at is not None and last is not None and at <= last:
        yield at
        at += datetime.timedelta(days=7)
