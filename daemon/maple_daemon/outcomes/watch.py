"""Jobs' ids and ends: heard from the scheduler's hooks, else asked for; joined to what was submitted, and kept."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pwd
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from maple_submit_filter.types.job_records import Outcome, Record

from ..base.settings import Settings
from ..base.telemetry import log
from ..remember.memory import Keeper
from ..store.mounts import on_network
from . import join, run_figures
from . import scheduler_words as outcomes
from .events import Ended
from .join import Kept, keep
from .run_figures import Figures
from .scheduler_words import Polling
from .spool import EventsSocket, NoSpool, Spool, SpoolEvents

SCAN = 5.0  # seconds between two looks where nothing wakes us, as on network file systems
QUIET = 0.02  # seconds after a wake-up, for what comes with it; a long look is followed by a longer rest
STORE_SECONDS = 20.0
STOP_SECONDS = 2.0
PATIENCE = 120.0  # seconds that the word about a submission waits for its record
MOST_RECENT = 10_000  # outcomes that are compared with what comes later


class Watching:
    """One object to start and stop. Everything it does runs beside the answers, and none of it can end them."""

    def __init__(self, settings: Settings, keeper: Keeper | None) -> None:
        self._settings, self._keeper = settings, keeper
        self._spool = Spool(settings.spool, trusted(settings.events_users)) if settings.spool else None
        self._socket: EventsSocket | None = None
        self._polling = Polling(settings.polling_seconds) if settings.polling_seconds else None
        self._figures = Figures()
        self._recent: OrderedDict[tuple[str, int], Outcome] = OrderedDict()
        self._waiting: dict[tuple[str, int], tuple[Outcome, float]] = {}
        self._heard = 0.0  # when a hook last told an end
        self.kept: Callable[[], None] = lambda: None  # hears that an end, or whose job one is, was written
        self.ended: Callable[[Iterable[Outcome]], None] = lambda ends: None  # hears the ends that were written
        self._said, self._stopping = "", False
        self._awake = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._observer: Any = None

    async def start(self) -> None:
        """Watch what the settings name; raises nothing: what cannot be watched is said."""
        if self._keeper is None:
            return
        if self._spool is not None:
            self._observe()
            self._tasks.append(asyncio.create_task(self._watch(self._spool)))
        if "events" in self._settings.roles and self._settings.events_socket:
            self._socket = EventsSocket(trusted(self._settings.events_users), self._told)
            await self._socket.start(self._settings.events_socket)
        if self._polling is not None:
            self._tasks.append(asyncio.create_task(self._poll(self._polling)))

        self._tasks.append(asyncio.create_task(self._ask_figures()))

    async def stop(self) -> None:
        """End it. What was not kept stays in the spool."""
        self._stopping = True
        if self._observer is not None:
            with contextlib.suppress(Exception):
                self._observer.stop()
        if self._socket is not None:
            await self._socket.stop()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=STOP_SECONDS)

    def forget(self) -> None:
        """Hold nothing of anybody: somebody was purged."""
        self._recent.clear()
        self._figures.forget()
        self._waiting.clear()

    def _observe(self) -> None:
        """Be woken by what comes into the folder, where the kernel tells that: not what other hosts do."""
        if on_network(self._settings.spool + "/any"):
            return
        loop, awake = asyncio.get_running_loop(), self._awake

        class Wake:
            def dispatch(self, event: Any) -> None:
                if event.event_type in ("created", "moved"):
                    with contextlib.suppress(RuntimeError):
                        loop.call_soon_threadsafe(awake.set)

        try:
            from watchdog.observers import Observer

            self._observer = Observer()
            self._observer.daemon = True
            self._observer.schedule(Wake(), self._settings.spool)
            self._observer.start()
        except (ImportError, OSError, threading.ThreadError) as error:
            self._observer = None
            log().warning("the spool is not watched but looked at", every=SCAN, why=str(error))

    async def _watch(self, spool: Spool) -> None:
        while not self._stopping:
            self._awake.clear()
            began, more = time.monotonic(), False
            try:
                more = await self._look(spool)
            except NoSpool as error:
                self._say(str(error))
            except Exception as error:
                log().error("events were not read", why="%s: %s" % (type(error).__name__, error))
            took = time.monotonic() - began
            if not more:
                await self._woken()
            await asyncio.sleep(max(QUIET, 2 * took))

    async def _woken(self) -> None:
        """Return when there may be something. `wait_for` of Python 3.11 may lose that it was cancelled meanwhile."""
        waiting = asyncio.ensure_future(self._awake.wait())
        try:
            await asyncio.wait({waiting}, timeout=SCAN)
        finally:
            waiting.cancel()

    async def _look(self, spool: Spool) -> bool:
        events = await asyncio.to_thread(spool.look)
        refused = ", ".join("%d × %s" % (number, why) for why, number in sorted(events.refused.items()))
        self._say("%s: not taken: %s" % (spool.folder, refused) if refused else "")
        done = await self._keep(events)
        await asyncio.to_thread(spool.done, done)
        return events.more and bool(done)

    def _say(self, why: str) -> None:
        """Say what is wrong when it changes, not with every look."""
        if why and why != self._said:
            log().warning("events", why=why)
        self._said = why

    async def _told(self, event: Ended) -> bool:
        """Keep what came over the socket; return whether it is kept."""
        return bool(await self._keep(SpoolEvents({}, {"": event}, Counter())))

    async def _keep(self, events: SpoolEvents) -> list[str]:
        """Return the names of events that are done with."""
        known = await asyncio.to_thread(lambda: [_with_uid(ended) for ended in events.ended.values()])
        ends = self._outcomes(known)
        runs = run_figures.of_events(known)
        submissions, now = list(events.submitted.values()), time.time()
        waiting = self._wait(ends, now)
        if not submissions and not ends and not waiting:
            return list(events.ended)
        assert self._keeper is not None
        kept = await self._keeper.ask(lambda store: keep(store, submissions, ends, waiting, now), STORE_SECONDS)
        if kept is None:
            return []
        if runs:
            self._keeper.do(lambda store: store.keep_runs(runs))
            self._figures.wanted(runs)
        for outcome in ends:
            self._remember(outcome)
        self.ended(ends)
        self._report(kept)
        self.kept()
        joined = {(joint.uid, joint.job) for joint in kept.joined if joint.how == "filter"}
        late = [name for name, submitted in events.submitted.items() if submitted.at < now - PATIENCE]
        return (
            [name for name, submitted in events.submitted.items() if (submitted.uid, submitted.job) in joined]
            + late
            + list(events.ended)
        )

    def _wait(self, ends: Iterable[Outcome], now: float) -> list[Outcome]:
        """Return the ends that may have a record yet: a submission is looked at before its record is written."""
        for key in [key for key, (_, since) in self._waiting.items() if since < now - PATIENCE]:
            del self._waiting[key]
        for outcome in ends:
            key = outcome.job, outcome.uid
            if (outcome.record or outcome.script_hash) and len(self._waiting) < MOST_RECENT:
                self._waiting[key] = (outcome, self._waiting.get(key, (outcome, now))[1])
        return [outcome for outcome, _ in self._waiting.values()]

    def _outcomes(self, events: Iterable[Ended]) -> list[Outcome]:
        """Return what is to be kept of events."""
        made: dict[tuple[str, int], Outcome] = {}
        for event in events:
            self._heard = time.time()
            if event.uid < 0:
                continue
            outcome = outcomes.of_event(event)
            self._put(made, outcome)
            if event.array and event.array != event.job:
                key = event.array, event.uid
                self._put(made, outcomes.of_array(event.array, outcome, made.get(key) or self._recent.get(key)))
        return list(made.values())

    def _put(self, made: dict[tuple[str, int], Outcome], new: Outcome) -> None:
        key = new.job, new.uid
        old = made.get(key) or self._recent.get(key)
        made[key] = outcomes.better(old, new) if old is not None else new

    def _remember(self, outcome: Outcome) -> None:
        self._recent[outcome.job, outcome.uid] = outcome
        self._recent.move_to_end((outcome.job, outcome.uid))
        while len(self._recent) > MOST_RECENT:
            self._recent.popitem(last=False)

    def _report(self, kept: Kept) -> None:
        for joined in kept.joined:
            self._waiting.pop((joined.job, joined.uid), None)
            log().info("joined", record=joined.record, uid=joined.uid, job=joined.job, how=joined.how)
        for other in kept.ambiguous:
            self._waiting.pop((other.job, other.uid), None)
            log().info("not joined: more than one submission may be meant", job=other.job, uid=other.uid)

    async def _poll(self, polling: Polling) -> None:
        """Ask the scheduler about joined jobs that are not known to have ended, where no hook tells."""
        assert self._keeper is not None
        while not self._stopping:
            await asyncio.sleep(polling.seconds)
            if time.time() - self._heard < join.DAY:
                continue
            records: Sequence[Record] = await self._keeper.ask(lambda store: store.unended(), STORE_SECONDS) or []
            outcomes = await asyncio.to_thread(polling.ask, records)
            self._figures.ended(outcomes)
            if outcomes:
                await self._keeper.ask(lambda store, ends=outcomes: store.keep_outcomes(ends), STORE_SECONDS)  # type: ignore[misc]
                self.ended(outcomes)
                self.kept()

    async def _ask_figures(self) -> None:
        """Ask for what no hook tells of jobs that have ended, all at once, when the accounting has had time for it."""
        assert self._keeper is not None
        while not self._stopping:
            await asyncio.sleep(run_figures.REST)
            runs = await asyncio.to_thread(self._figures.ask)
            if runs:
                await self._keeper.ask(lambda store, runs=runs: store.keep_runs(runs), STORE_SECONDS)  # type: ignore[misc]


def trusted(users: Iterable[str]) -> frozenset[int]:
    """Return the uids of the scheduler's own users that this host has, and our own: a user may be his own service."""
    uids = {os.getuid()}
    for name in users:
        with contextlib.suppress(KeyError):
            uids.add(pwd.getpwnam(name).pw_uid)
    return frozenset(uids)


def _with_uid(event: Ended) -> Ended:
    """PBS says who owns a job by name."""
    if event.uid >= 0:
        return event
    try:
        return event._replace(uid=pwd.getpwnam(event.owner).pw_uid)
    except (KeyError, ValueError):
        return event
