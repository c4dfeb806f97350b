"""The process of the live path: rounds while it is switched on, all points back when it is not, or when it ends.

The switch is a file beside daemon.toml, read anew in each round, so that `maple admin priority off` holds within one
and nothing has to be restarted; no file is off. What has points of ours is written down first, so that a process that
is killed leaves none that nobody knows of: the next one, or `maple admin priority reset`, takes them back.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Annotated, NamedTuple

from maple_agents.ask.schedulers.protocol import SchedulerError
from maple_agents.forecast.needs import Forecast, NoForecast
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..base.peers import notify
from ..base.settings import Settings
from ..base.telemetry import log
from ..install.release import layout
from ..store import open_store
from ..store.protocol import StoreError
from . import knowledge
from .knowledge import Knowledge
from .queue import Bounds, Queue, SlurmQueue, Waiting, factor

NAME = "priority.json"
WRITTEN = "priority-written.json"
HOME = "/var/lib/maple"  # where a store on a server leaves no folder of its own


class Switch(BaseModel):
    """*bound*: points, either way. *every*: seconds between two rounds. *patience_hours*: as `Bounds` has it.

    *table*: the file that PBS's hook reads, "" on Slurm. *reference_seconds*: work on one GPU or node that is put
    neither forward nor back.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    on: bool = False
    table: str = ""
    bound: Annotated[int, Field(ge=1, le=100_000_000)] = 1000
    every: Annotated[float, Field(ge=0.2, le=3600)] = 30.0
    patience_hours: Annotated[float, Field(gt=0, le=24 * 90)] = 24.0
    reference_seconds: Annotated[float, Field(gt=0)] = 3600.0

    @property
    def bounds(self) -> Bounds:
        """How far a job is put."""
        return Bounds(self.bound, self.patience_hours * 3600, self.reference_seconds)


class Status(Switch):
    """What `maple admin priority status` prints: *jobs* that have points, and what keeps these without effect."""

    model_config = ConfigDict(extra="ignore", json_schema_serialization_defaults_required=True)

    jobs: int
    hindered: str


def read(path: Path) -> Switch:
    """Return what the file says, off where there is none. Raises `ValueError` in one line, and `OSError`."""
    try:
        return Switch.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return Switch()
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ValueError("%s: %s" % (path, ": ".join(filter(None, (where, first["msg"].lower()))))) from None


def place(settings_file: str) -> Path:
    """Return the file that belongs to these settings."""
    return Path(settings_file).with_name(NAME)


def written_place(settings: Settings) -> Path:
    """Return the file that keeps which jobs have points of ours: beside the store, which is ours to write."""
    folder = os.path.dirname(settings.store) if settings.store.startswith("/") else HOME
    return Path(folder) / WRITTEN


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
            layout.write_json(self._written, points, 0o600)
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


IDLE = 5.0  # seconds between two looks at the switch while it is off


class Live:
    """*settings*: of the service whose store is read. *switch*: the file that says whether, and how far."""

    def __init__(self, settings: Settings, switch: Path) -> None:
        self._settings, self._switch = settings, switch
        self._rounds = Rounds(SlurmQueue(os.environ), written_place(settings))
        self._knowledge: Knowledge | None = None
        self._stopped = threading.Event()
        self._was_on = True  # so that what a killed one has left is taken back first
        self._said = self._table = ""

    def run(self) -> None:
        """Go on until SIGTERM or SIGINT. What goes wrong is said once, and tried again."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        notify("READY=1")
        while not self._stopped.is_set():
            switch = self.once()
            notify("WATCHDOG=1")
            self._stopped.wait(switch.every if switch.on else min(IDLE, switch.every))
        self._attempt(Switch())
        log().info("stopped")

    def once(self) -> Switch:
        """Look at the switch and do what it says; return it."""
        switch = self._read()
        self._attempt(switch)
        return switch

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._stopped.set()

    def _read(self) -> Switch:
        try:
            return read(self._switch)
        except (OSError, ValueError) as error:
            self._say(str(error))
            return Switch()

    def _attempt(self, switch: Switch) -> None:
        try:
            if switch.on:
                self._was_on = True
                self._order(switch)
            elif self._was_on:
                self._reset(switch.table)
                self._said = ""
        except (SchedulerError, OSError) as error:
            self._say(str(error))

    def _round(self, switch: Switch) -> None:
        """Do what there is to do once: points for Slurm's jobs, or the table for PBS."""
        if self._knowledge is None:
            self._knowledge = Knowledge(open_store(self._settings.store, create=False))
        if self._table not in ("", switch.table):
            knowledge.remove(Path(self._table))
        self._table = switch.table
        if switch.table:
            log().info("a table", jobs=knowledge.write(Path(switch.table), self._knowledge, switch.bounds))
        else:
            done = self._rounds.once(self._knowledge, switch.bounds, time.time())
            log().info("a round", **done._asdict())

    def _order(self, switch: Switch) -> None:
        """Do a round; without the store nothing is known of any job, so none keeps its points."""
        try:
            self._round(switch)
        except StoreError as error:
            self._knowledge = None
            self._say(str(error))
            self._reset(switch.table)
        else:
            self._said = ""

    def _reset(self, named: str) -> None:
        """On PBS the table goes, the one that is *named* or that was written; on Slurm the points that were given."""
        places = {named, self._table} - {""}  # named alone: one that was killed has left it
        if places:
            for place in places:
                knowledge.remove(Path(place))
            self._table, self._was_on = "", False
            return
        taken_back = self._rounds.reset()
        if taken_back:
            log().info("points taken back", jobs=taken_back)
        self._was_on = False

    def _say(self, why: str) -> None:
        if why and why != self._said:
            log().warning("jobs stand where the scheduler puts them", why=why)
        self._said = why
