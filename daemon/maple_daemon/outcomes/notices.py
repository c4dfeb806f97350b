"""What owners are to be told with their next submission: jobs that failed, and alarms of jobs that run.

Both are held in memory by uid, so that no answer asks a store.

What is told of is written down, so that a restart, and the services of other hosts that share the store, do not tell
of it again. Those look every few seconds: between the two a user who submits on another host may read a line twice.
Alarms are what the owners' own processes saw: the service looks at no job itself, and what it holds of them a restart
forgets, for the owner's folder has it too.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from maple_agents.ask.memory.service import OF_VERIFY, STATES, Failure, failure_of, failures_line, whole
from maple_agents.progress.notices import Waiting, line
from maple_submit_filter.answer import terminal
from maple_submit_filter.types.job_records import Outcome

from ..base.background import Background
from ..base.telemetry import cause, log
from ..remember.memory import Keeper

WEEK = 7 * 86400.0  # seconds; an older failure is told of no more
EVERY = 2.0  # seconds between two looks at what others told of
SWEEP = 30.0  # seconds between two looks at what others heard
LATE = 3600.0  # seconds that a hook on another host may be late
SKEW = 300.0  # seconds that the clocks of two hosts may be apart
MOST_USERS, MOST_OF_USER, MOST_ALARMS = 10_000, 50, 20
MOST_READ = 5_000  # ends that are read at once, the newest
ASK_SECONDS = 10.0


class Failures:
    """Jobs that failed and that nobody was told of yet. *read*, *write*: the store's threads. *clock*: since 1970."""

    def __init__(self, read: Keeper, write: Keeper, clock: Callable[[], float] = time.time) -> None:
        self._read, self._write, self._clock = read, write, clock
        self._waiting: dict[int, dict[str, Failure]] = {}
        self._told: dict[tuple[str, int], float] = {}
        self._swept = 0.0  # by the clock: when ends were read
        self._since = 0.0  # by the clock: until when it is known who was told
        self._background = Background(self._renew, self._work)

    async def start(self) -> None:
        """Hold what the store knows, unless it is slow, and go on."""
        await self._background.start()

    async def stop(self) -> None:
        """End it."""
        await self._background.stop()

    def heard(self, ends: Iterable[Outcome]) -> None:
        """Jobs have ended, or what is known of their end is another thing now."""
        for outcome in ends:
            self._hear(outcome)

    def waits(self, uid: int) -> bool:
        """Return whether a user is to be told of a failure."""
        return uid in self._waiting

    def line(self, uid: int, says: bytes = b"") -> bytes:
        """Return the line that tells a user of his failures, b"" for none; he will not be told of them again.

        *says*: what he is told besides; a failure that stands there (a change was taken back for it) is not said twice.
        """
        try:
            sentence = failures_line(
                [failure for failure in self.take(uid) if b"job %s failed " % failure.job.encode() not in says]
            )
        except Exception as error:  # an answer does not depend on what else there is to tell
            log().error("not told which jobs failed", why=cause(error))
            return b""
        return terminal.of_jobs(sentence.removeprefix("maple: ")) if sentence else b""

    def take(self, uid: int, seen: str = "") -> list[Failure]:
        """Return a user's failures, the newest first, and hold them for told; *seen*: one that he looks at already."""
        now = self._clock()
        held = [failure for failure in self._waiting.pop(uid, {}).values() if now - WEEK <= failure.ended <= now + LATE]
        if seen:
            self._tell(whole(seen), uid, now)
        for failure in held:
            self._tell(failure.job, uid, now)
        about = _without_server(whole(seen))
        failures = [failure for failure in held if _without_server(failure.job) != about]
        return sorted(
            reversed(failures), key=lambda failure: -failure.ended
        )  # of two at once the one that was heard last

    def forget(self) -> None:
        """Hold nothing of anybody: somebody was purged. What the store knows still is read again."""
        self._waiting.clear()
        self._told.clear()
        self._swept = self._since = 0.0

    def _tell(self, job: str, uid: int, at: float) -> None:
        self._told[job, uid] = at
        self._write.do(lambda store: store.keep_told(job, uid, at))

    def _hear(self, end: Outcome) -> None:
        job, now = whole(end.job), self._clock()
        failure = failure_of(end) if not OF_VERIFY.fullmatch(end.name) else None
        failure = failure._replace(ended=failure.ended or now) if failure is not None else None
        if failure is None:
            if job == end.job:
                self._drop(job, end.uid)  # it was put back into its queue, or a later word says otherwise
            return
        if (job, end.uid) in self._told or not now - WEEK <= failure.ended <= now + LATE:
            return
        if end.uid not in self._waiting and len(self._waiting) >= MOST_USERS:
            return
        own = self._waiting.setdefault(end.uid, {})
        own.setdefault(job, failure)
        while len(own) > MOST_OF_USER:
            del own[min(own, key=lambda name: own[name].ended)]

    def _drop(self, job: str, uid: int) -> None:
        own = self._waiting.get(uid)
        if own is not None and job in own:
            del own[job]
            if not own:
                del self._waiting[uid]

    async def _work(self) -> None:
        while True:
            await asyncio.sleep(EVERY)
            try:
                await self._renew()
            except Exception as error:  # answers go on without it
                log().error("not known which jobs failed", why=cause(error))

    async def _renew(self) -> None:
        """Take notice of what other services told of and, now and then, of what they heard."""
        now = self._clock()
        since, sweep = self._since or now - WEEK, now - self._swept >= SWEEP
        ends_since = max(now - WEEK, self._swept - LATE)
        news = await self._read.ask(
            lambda store: (
                store.notices(since - SKEW if self._since else since),
                store.ended(STATES, ends_since, MOST_READ) if sweep else [],
            ),
            ASK_SECONDS,
        )
        if news is None:
            return
        told_ends, ends = news
        self._forget_old(now)
        for job, uid, at in told_ends:
            self._told[job, uid] = at
            self._drop(job, uid)
        self._since = now
        if sweep:
            self._swept = now
            self.heard(ends)

    def _forget_old(self, now: float) -> None:
        for key in [key for key, at in self._told.items() if at < now - WEEK - LATE]:
            del self._told[key]


def _without_server(job: str) -> str:
    """Return the id as users type it: 4711 for PBS's 4711.server."""
    return job.partition(".")[0]


class Held(NamedTuple):
    """A user's alarms that wait, and those that he was told of since he handed them over."""

    waiting: tuple[Waiting, ...] = ()
    told: tuple[tuple[str, str], ...] = ()


class Alarms:
    """Alarms that users are to be told of."""

    def __init__(self) -> None:
        self._held: dict[int, Held] = {}

    def hold(self, uid: int, alarms: Sequence[Waiting]) -> tuple[tuple[str, str], ...]:
        """Hold exactly these of a user; return job and kind of those that he was told of since the last time."""
        before = self._held.pop(uid, Held())
        rest = tuple(alarm for alarm in alarms if (alarm.job, alarm.kind) not in before.told)
        if rest and len(self._held) < MOST_USERS:
            self._held[uid] = Held(rest[:MOST_ALARMS])
        return before.told

    def waits(self, uid: int) -> bool:
        """Return whether a user is to be told of an alarm."""
        return bool(self._held.get(uid, Held()).waiting)

    def line(self, uid: int) -> bytes:
        """Return the line that tells a user of his alarms, b"" for none; he will not be told of them again."""
        held = self._held.get(uid, Held())
        try:
            sentence = line(held.waiting)
        except Exception as error:  # an answer does not depend on what else there is to tell
            log().error("not told of alarms", why=cause(error))
            return b""
        if held.waiting:
            self._held[uid] = Held((), (*held.told, *((alarm.job, alarm.kind) for alarm in held.waiting)))
        return terminal.of_jobs(sentence.removeprefix("maple: ")) if sentence else b""

    def heard(self, ends: Iterable[Outcome]) -> None:
        """Jobs have ended: what was odd of them is odd no more."""
        for outcome in ends:
            held = self._held.get(outcome.uid)
            if held is not None:
                rest = tuple(alarm for alarm in held.waiting if alarm.job != outcome.job)
                self._held[outcome.uid] = held._replace(waiting=rest)

    def forget(self) -> None:
        """Hold nothing of anybody: somebody was purged."""
        self._held.clear()
