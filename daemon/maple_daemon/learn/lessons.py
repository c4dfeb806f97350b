"""Learning goes on beside the answers: ends of jobs are counted and learnt from, and what is held in memory renewed.

Whoever purges a user counts that up in the store (`Store.purges`), and every service that shares the store looks there
every few seconds: a signal would reach one host only, and would need its process id and the right to send it; a frame
would need a socket that perhaps nobody listens at just now. What is held in memory is then forgotten of everybody, so
that nobody has to be named; the store knows the others' still.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from maple_submit_filter.types.job_records import Record

from ..base.background import Background
from ..base.telemetry import cause, log
from ..remember.memory import Keeper
from ..store.protocol import Due, Known, Store
from .lineages import MADE, MOST_VERSIONS, Learned, Standing, Trial, after, trial_of

EVERY = 2.0  # seconds between two looks at what others have learnt or purged
SWEEP = 60.0  # seconds between two looks at ends that nobody told of
ASK_SECONDS = 10.0
SKEW = 300.0  # seconds that the clocks of two hosts may be apart
BATCH = 1000
TRIES = 5  # to change what somebody else changes at the same time


class Lessons:
    """*read*, *write*: the store's threads. *forget*: empties what else is held in memory."""

    def __init__(
        self, read: Keeper, write: Keeper, learned: Learned, forget: Callable[[], None], every: float = EVERY
    ) -> None:
        self._read, self._write, self._learned, self._forget, self._every = read, write, learned, forget, every
        self._soon = asyncio.Event()
        self._purges: int | None = None
        self._since = 0.0
        self._swept = -SWEEP
        self._background = Background(self._renew, self._work)

    async def start(self) -> None:
        """Hold what is known already, unless the store is slow, and go on."""
        await self._background.start()

    async def stop(self) -> None:
        """End it; what was not learnt is due still."""
        await self._background.stop()

    def soon(self) -> None:
        """A job may have ended, or become known."""
        self._soon.set()

    async def _work(self) -> None:
        while True:
            waiting = asyncio.ensure_future(self._soon.wait())
            try:
                await asyncio.wait({waiting}, timeout=self._every)
            finally:
                waiting.cancel()
            try:
                await self._look()
            except Exception as error:  # answers go on without it
                log().error("nothing was learnt", why=cause(error))
                await asyncio.sleep(self._every)

    async def _look(self) -> None:
        if self._soon.is_set() or time.monotonic() - self._swept >= SWEEP:
            self._soon.clear()
            self._swept = time.monotonic()
            taken = await self._write.ask(lambda store: take(store, time.time()), ASK_SECONDS)
            if taken == BATCH:
                self._soon.set()
        await self._renew()

    async def _renew(self) -> None:
        """Hold what has been learnt since, here or on another host; forget all when somebody was purged."""
        since = self._since - SKEW
        answer = await self._read.ask(lambda store: (store.purges(), store.standings(since)), ASK_SECONDS)
        if answer is None:
            return
        purges, rows = answer
        if self._purges not in (None, purges):
            self._purges, self._since = purges, 0.0
            self._learned.clear()
            self._forget()
            log().info("forgotten: a user was purged")
            return await self._renew()
        self._purges = purges
        self._since = max([self._since, *(known.at for known in rows)])
        new = [known for known in rows if self._learned.is_new(known)]
        for uid in dict.fromkeys(known.uid for known in new):
            await self._hold(uid, [known for known in new if known.uid == uid])

    async def _hold(self, uid: int, rows: list[Known]) -> None:
        versions = await self._read.ask(lambda store: store.versions(uid, limit=MOST_VERSIONS), ASK_SECONDS)
        self._learned.learn(uid, rows, [version._replace(script=b"") for version in versions or ()])


def take(store: Store, at: float) -> int:
    """Count ends and learn from them; return how many were looked at. *at*: now, since 1970.

    What is learnt is written first: whoever is killed between the two learns the same again, which changes nothing.
    """
    dues = store.due(BATCH)
    for due in dues:
        trial = _learnt(store, due, at)
        changed = trial is not None and trial.changed
        store.settle(due, trial.ended if trial and changed else "", _said(due.record, trial))
    return len(dues)


def _said(record: Record, trial: Trial | None) -> str:
    """Return what the job tells of the user's word to an offer, "" where there was none, or nothing tells it."""
    if trial is None or record.verdict in MADE:
        return ""
    if trial.changed:
        return "accepted"
    return "declined" if record.offered_hash and record.verdict == "findings" else ""


def _learnt(store: Store, due: Due, at: float) -> Trial | None:
    """Return what the end of a job tells of the change that was proposed for it, None for nothing; it is written."""
    record = due.record
    version = store.version(record.uid, record.version) if record.change and record.version else None
    trial = trial_of(record, version.script_hash) if version is not None else None
    if version is not None and trial is not None and trial.ended:
        _stand(store, record, version.lineage, trial, at)
    return trial


def _stand(store: Store, record: Record, lineage: str, trial: Trial, at: float) -> None:
    for _ in range(TRIES):
        before = store.standing(record.uid, lineage, record.change)
        was = Standing.read(before)
        now = after(was, trial)
        known = Known(record.uid, lineage, record.change, at, now.written())
        if now == was or store.keep_standing(known, before):
            if now.state != was.state:
                log().info("learnt", uid=record.uid, job=trial.job, codes=list(record.codes), state=now.state)
            return
