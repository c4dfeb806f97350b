"""One look at the queue after the other: what waits is given its points, and what has ours is written down first.

Written down first, so that a process that is killed leaves no points that nobody knows of: the next one, or
`maple admin priority reset`, takes them back.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from maple_agents.forecast.needs import Forecast, NoForecast

from ..install.release import atomic
from .factor import Bounds, Waiting, factor
from .knowledge import Knowledge
from .queue import Queue

MOST_WRITTEN = 1 << 26  # bytes of the file, read back


class Stand(NamedTuple):
    """How a waiting job stands: what is foretold of it, and its points."""

    waiting: Waiting
    foretold: Forecast | NoForecast
    points: int


class Round(NamedTuple):
    """What a round came to, in jobs. *changed*: that got other points."""

    waiting: int
    foretold: int
    changed: int


class Rounds:
    """*written*: the file of the jobs that have points of ours. Everything raises `SchedulerError` or `StoreError`."""

    def __init__(self, queue: Queue, written: Path) -> None:
        self._queue, self._written = queue, written
        self._points = points_written(written)

    def once(self, knowledge: Knowledge, bounds: Bounds, now: float) -> Round:
        """Give every job that waits its points."""
        stands = [stand(each, knowledge, bounds, now) for each in self._queue.waiting()]
        wanted = {each.waiting.job: each.points for each in stands}
        changed = {job: points for job, points in wanted.items() if self._points.get(job, 0) != points}
        self._note({**{job: points for job, points in self._points.items() if job in wanted}, **changed})
        for job in self._queue.put(changed):
            self._points.pop(job, None)
        knowledge.forget(wanted)
        return Round(len(stands), sum(isinstance(each.foretold, Forecast) for each in stands), len(changed))

    def reset(self) -> int:
        """Take all points back from jobs that still wait; return how many had some."""
        waits = {each.job for each in self._queue.waiting()}
        back = {job: 0 for job, points in self._points.items() if points and job in waits}
        self._queue.put(back)
        self._note({})
        return len(back)

    def _note(self, points: dict[str, int]) -> None:
        if points != self._points or not self._written.exists():
            atomic.write_json(self._written, points, 0o600)
        self._points = points


def stand(waiting: Waiting, knowledge: Knowledge, bounds: Bounds, now: float) -> Stand:
    """Return how a job stands now."""
    foretold = knowledge.of(waiting, now)
    seconds = foretold.seconds if isinstance(foretold, Forecast) else None
    return Stand(waiting, foretold, factor(seconds, waiting.size, now - waiting.submitted, bounds))


def points_written(path: Path) -> dict[str, int]:
    """Return the jobs that have points of ours, {} where nothing, or nothing that can be read, is written."""
    try:
        with open(path, "rb") as file:
            table = json.loads(file.read(MOST_WRITTEN))
    except (OSError, ValueError):
        return {}
    if not isinstance(table, dict):
        return {}
    return {job: points for job, points in table.items() if isinstance(points, int) and job.isdigit()}
