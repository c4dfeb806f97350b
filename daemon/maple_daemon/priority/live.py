"""The process of the live path: rounds while it is switched on, all points back when it is not, or when it ends."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from types import FrameType

from maple_agents.ask.schedulers.protocol import SchedulerError

from ..base.log import log
from ..base.peers import notify
from ..base.settings import Settings
from ..store import open_store
from ..store.protocol import StoreError
from . import table
from .knowledge import Knowledge
from .queue import SlurmQueue
from .rounds import Rounds
from .switch import Switch, read, written_place

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
            table.remove(Path(self._table))
        self._table = switch.table
        if switch.table:
            log().info("a table", jobs=table.write(Path(switch.table), self._knowledge, switch.bounds))
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
                table.remove(Path(place))
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
