"""The service put together: socket, handler, workers, metrics; started, reloaded and stopped by signals."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

from maple_submit_filter.host.frames import Request
from maple_submit_filter.types.job_records import Outcome

from ..base import peers, telemetry
from ..base.peers import Peer, notify
from ..base.settings import Limits, Settings, callers_served
from ..base.telemetry import cause, log
from ..decide import rules_in_force
from ..decide.exact import Memory
from ..decide.handlers import Handled, Handler, Wish
from ..decide.workers import Workers
from ..learn.lessons import Lessons
from ..learn.lineages import Learned
from ..outcomes.notices import Alarms, Failures
from ..outcomes.watch import Watching
from ..remember import journal
from ..remember.description import is_clean
from ..remember.journal import Journal
from ..remember.memory import Keeper, purging
from ..remember.readings import Readings
from ..remember.recorder import Recorder
from ..store import open_store
from ..store.protocol import Gone, Store
from .queries import Questions
from .server import Server

# With a second for answers, two for what is looked at and two for events less than the ten that systemd waits.
CLOSE_SECONDS = 3.5
STORE_SECONDS = 0.02  # that an answer may wait for the store


class Service:
    """One daemon. *conf*: the front's file."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.metrics = telemetry.Metrics()
        self.memory = Memory(settings.memory_mib << 20)
        in_force = rules_in_force.read(settings.conf) if settings.conf else rules_in_force.generic()
        bounds = settings.bounds
        bounds = bounds._replace(all=callers_served(bounds.all, settings.worker_count + 1))
        self.limits = Limits(bounds, time.monotonic)
        self.workers = self._workers(in_force.snapshot)
        self.handler = Handler(in_force, self.memory, self.workers)
        self.handler.heard = self._heard
        self.journal = self._make_journal() if settings.store else None
        opens = (self._open_store, self._open_to_write) if settings.store else ()
        self.keepers = [Keeper(opening, self._complain) for opening in opens]
        for keeper in self.keepers:
            keeper.refused, keeper.dropped = _refused, self.metrics.dropped.inc
        if self.keepers and self.journal is not None:
            self.keepers[1].kept = self.journal.kept
        if self.keepers:
            self.handler.kept, self.handler.keep = self._kept, self._keep
        self.server = Server(self.handler, self.limits, self._count)
        self.server.lost = lambda: sum(keeper.lost for keeper in self.keepers)
        self.recorder: Recorder | None = None
        self.failures: Failures | None = None
        self.alarms = Alarms()
        self.readings = Readings(time.monotonic, frozenset(settings.admission.not_groups), tell=self.metrics.remembered)
        if self.keepers:
            self.recorder = Recorder(
                self.keepers[0], self.keepers[1], lambda: self.handler.in_force, self.metrics.remembered,
                *((self.journal.add,) if self.journal is not None else ()),
            )  # fmt: skip
            self.handler.over = self.recorder.over
            self.handler.wish = self._wish
            self.failures = Failures(self.keepers[0], self.keepers[1])
            self.handler.news = News(self.failures, self.alarms)
            self.server.questions = Questions(
                self.keepers[0], self.recorder, self.readings, self.failures, self.keepers[1], self.alarms
            )
        self._let_read()
        self.watching = Watching(settings, self.keepers[1] if self.keepers else None)
        self.lessons: Lessons | None = None
        if self.recorder is not None:
            learned = Learned(lambda: self.handler.in_force.facts)
            self.handler.earlier = learned.of
            self.recorder.seen(learned.version)
            self.lessons = Lessons(self.keepers[0], self.keepers[1], learned, self._forget)
            self.watching.kept = self.lessons.soon
        if self.failures is not None:
            self.watching.ended = News(self.failures, self.alarms).heard
        self._page: asyncio.Server | None = None

    async def run(self, listening: socket.socket) -> None:
        """Serve until SIGTERM or SIGINT; SIGHUP reads site, policy and rules anew."""
        stopped, loop = asyncio.Event(), asyncio.get_running_loop()
        loop.set_exception_handler(_unexpected)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stopped.set)
        loop.add_signal_handler(signal.SIGHUP, lambda: asyncio.ensure_future(self.reload()))
        await self.workers.start()
        if self.recorder is not None:
            await self.recorder.start()
        if self.lessons is not None:
            await self.lessons.start()
        if self.failures is not None:
            await self.failures.start()
        await self.watching.start()
        if self.settings.metrics:
            self._page = await telemetry.serve(self.metrics, self.settings.metrics)
        await self.server.start(listening)
        chores = [asyncio.create_task(self._gauge())]
        if self.keepers:
            chores.append(asyncio.create_task(purging(self.keepers[1], self.settings.caps, _purged)))
        notify("READY=1")
        log().info(
            "listening",
            socket=_name(listening),
            site=self.handler.in_force.site.id,
            site_known_by=self._known_by,
            pid=os.getpid(),
        )
        await stopped.wait()
        notify("STOPPING=1")
        for chore in chores:
            chore.cancel()
        await self.stop()
        log().info("stopped")

    @property
    def _known_by(self) -> str:
        return self.settings.conf or "no front.conf is named"

    async def stop(self) -> None:
        """End everything that was started."""
        await self.server.stop()
        await self.workers.stop()
        if self.recorder is not None:
            await self.recorder.stop()
        await self.watching.stop()
        if self.lessons is not None:
            await self.lessons.stop()
        if self.failures is not None:
            await self.failures.stop()
        until = time.monotonic() + CLOSE_SECONDS
        for keeper in self.keepers:
            keeper.end()  # both work on while one is waited for
        for keeper in self.keepers:
            keeper.close(max(0.0, until - time.monotonic()))
        if self.journal is not None:
            self.journal.close()
        if self._page is not None:
            self._page.close()

    def _workers(self, snapshot: str) -> Workers:
        return Workers(self.settings.worker_count, snapshot, failed=self.metrics.not_started.inc)

    def _make_journal(self) -> Journal | None:
        """Return where answers are written down at once; None where there is no place for it, which is said."""
        path = journal.place_of(self.settings.store, os.environ)
        try:
            if path:
                return Journal(path)
        except OSError as error:
            log().warning("answers have no second place", why=error.strerror, journal=path)
        return None

    def _open_to_write(self) -> Store:
        """Return the store, with what a service that was killed has left."""
        store = self._open_store()
        try:
            replayed = self.journal.replay(store) if self.journal is not None else 0
        except BaseException:
            store.close()
            raise
        if replayed:
            log().info("found again", submissions=replayed)
        return store

    def _open_store(self) -> Store:
        return open_store(self.settings.store, self._complain)

    def _complain(self, why: str) -> None:
        self.metrics.store_errors.inc()
        log().warning("the store does not work", why=why)

    async def _kept(self, key: bytes, uid: int) -> bytes | None:
        """Reading has a thread of its own, so that it waits for no writing."""
        return await self.keepers[0].ask(lambda store: store.decision(key, uid), STORE_SECONDS)

    def _keep(self, key: bytes, uid: int, learnt: bytes) -> None:
        """What holds a secret is kept in memory alone, and worked out again after the service has ended."""
        at = time.time()

        def keep(store: Store) -> None:
            if is_clean(learnt):
                store.keep_decision(key, uid, learnt, at)

        self.keepers[1].do(keep, len(learnt))

    async def reload(self) -> None:
        """Read site, policy and rules anew; what cannot be read leaves the old ones in force."""
        notify("RELOADING=1\nMONOTONIC_USEC=%d" % (time.monotonic_ns() // 1000))
        try:
            new = rules_in_force.read(self.settings.conf) if self.settings.conf else rules_in_force.generic()
        except (OSError, ValueError) as error:
            log().error("not reloaded", why=str(error))
        else:
            await self._put_in_force(new)
        notify("READY=1")

    async def _put_in_force(self, new: rules_in_force.InForce) -> None:
        old, workers = self.handler.in_force, self.workers
        self.workers = self._workers(new.snapshot)
        await self.workers.start()
        self.handler.in_force, self.handler.deciders = new, self.workers
        if new.facts != old.facts:
            self.memory.clear()
        self._let_read()
        await workers.stop()
        if self.recorder is not None:
            await self.recorder.renew()
        log().info("reloaded", site=new.site.id, site_known_by=self._known_by, changed=new.facts != old.facts)

    def _forget(self) -> None:
        """Hold nothing in memory of anybody: somebody was purged."""
        self.memory.clear()
        self.readings.forget()
        self.watching.forget()
        if self.journal is not None:
            self.journal.forget()
            self.keepers[1].do(self.journal.replay)
        self.alarms.forget()
        if self.failures is not None:
            self.failures.forget()
        if self.recorder is not None:
            self.recorder.forget()

    def _wish(self, request: Request, peer: Peer, key: bytes) -> Wish | None:
        """An answer does not depend on what is to be read."""
        try:
            return self.readings.wish(request, peer, key)
        except Exception as error:
            log().error("not asked to read", why=cause(error))
            return None

    def _let_read(self) -> None:
        """Have files read where the settings let it and the front has what reads them; what was read is forgotten."""
        admission = self.settings.admission
        self.readings.on = bool(self.keepers and admission.read_files and self.handler.in_force.child)
        self.readings.forget()

    def _heard(self, request: Request, peer: Peer, handled: Handled) -> None:
        decision = handled.decision
        self.metrics.seconds.labels(handled.how).observe(handled.seconds)
        if self.recorder is not None:
            self.recorder.heard(request, peer, handled, decision, handled.seconds)
        if decision is None:
            return
        self.metrics.changed.labels(decision.verdict).inc()
        for finding in decision.findings:
            self.metrics.rules.labels(finding.code).inc()

    def _count(self, how: str) -> None:
        self.metrics.connections.labels(how).inc()

    async def _gauge(self) -> None:
        """Show what is held, once a second."""
        while True:
            self.metrics.known.set(len(self.memory))
            self.metrics.held.set(self.memory.size)
            self.metrics.waiting.set(self.workers.waiting)
            self.metrics.open.set(self.limits.connections)
            if self.journal is not None:
                self.journal.tidy()
            notify("WATCHDOG=1")
            await asyncio.sleep(1)


class News(NamedTuple):
    """What a user is told with his next submission: jobs of his that failed, and alarms of those that run."""

    failures: Failures
    alarms: Alarms

    def waits(self, uid: int) -> bool:
        """Return whether there is anything for a user."""
        return self.failures.waits(uid) or self.alarms.waits(uid)

    def line(self, uid: int, says: bytes) -> bytes:
        """Return the lines for a user, who will not be told of this again."""
        return self.failures.line(uid, says) + self.alarms.line(uid)

    def heard(self, ends: Iterable[Outcome]) -> None:
        """Jobs have ended."""
        news = list(ends)
        self.failures.heard(news)
        self.alarms.heard(news)


def _unexpected(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Say what went wrong where nobody waited for it, in one line without anybody's words."""
    error = context.get("exception")
    log().error("unexpected", what=context.get("message", ""), why=cause(error) if error else "")


def _refused(why: str) -> None:
    """Say what could not be kept: what one user sent, and nothing about the store."""
    log().warning("not kept", why=why)


def _purged(gone: Gone) -> None:
    log().info("purged", **gone._asdict())


def listening(settings: Settings) -> socket.socket:
    """Return the socket to serve: systemd's, else one of our own. Raises `sockets.NoSocket`."""
    passed = peers.activated(os.environ, os.getpid())
    if passed:
        passed[0].setblocking(False)
        return passed[0]
    folder = os.path.dirname(settings.socket)
    with contextlib.suppress(OSError):
        os.makedirs(folder, 0o755, exist_ok=True)
    return peers.bound(settings.socket)


def _name(listening: socket.socket) -> str:
    name = listening.getsockname()
    return os.fsdecode(name) if isinstance(name, (str, bytes)) else str(name)
