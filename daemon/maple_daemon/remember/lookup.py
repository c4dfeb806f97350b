"""What is not a plain repeat is looked at: which version of which job it is, and what of it has to be read."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import time
import zlib
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any, NamedTuple

from maple_submit_filter.answer import packing
from maple_submit_filter.host import frames
from maple_submit_filter.types.job_records import Part, Value, Version

from ..base.settings import Busy
from ..base.telemetry import cause, log
from ..decide.workers import Workers
from ..store.protocol import Store
from . import description, reader, versions
from .description import Question, pack
from .drafts import Draft, proposal_of
from .memory import Keeper

MOST_BRIEFS = 20_000  # submissions that are known to be repeats
MOST_WAITING = 64 << 20  # bytes of submissions that wait to be looked at; further ones are recorded without a version
MOST_OF_USER = MOST_WAITING // 8
MOST_USERS = 1024  # of whom versions are held
MOST_VERSIONS = 64 << 20  # bytes of these
MOST_KNOWN = 300  # versions of a user that a new one is compared with
KNOWN_SECONDS = 5.0  # that they are held before the store is asked again: another login node may have written
BRIEF_SECONDS = 600.0  # that a repeat is taken for one without another look: an administrator may have purged
WRITTEN_SECONDS = 60.0  # after which a version is in the store, or was purged
ASK_SECONDS = 5.0
PAUSES = (1.0, 5.0, 20.0)  # seconds before one that found no process to read it is read again


class Brief(NamedTuple):
    """What a submission is recorded with. *base*: the version's id without regard to files; *decision*: its key.

    *proposal*: change and grounds, as `drafts.proposal_of` has them; None: to be worked out.

    *until*: when that is to be looked at again, as `time.monotonic` has it.
    """

    base: str
    decision: str
    partition: str
    until: float
    proposal: tuple[str, str] | None = None


class User:
    """What is known of one user's versions, and what waits to be looked at."""

    def __init__(self) -> None:
        self.versions: dict[str, versions.Known] = {}
        self.asked = -KNOWN_SECONDS
        self.waiting: deque[Draft] = deque()
        self.held = 0  # bytes of it
        self.size = 0  # bytes of the versions when they were last looked at


class Looker:
    """One submission of a user after the other, users in turn. *told* hears what was done, to be counted.

    *read*, *write*: the store's threads. *snapshot*: the path of the site's facts in force.
    """

    def __init__(
        self, read: Keeper, write: Keeper, snapshot: Callable[[], str], tell: Callable[[str, int], None]
    ) -> None:
        self._read, self._write, self._snapshot, self._tell = read, write, snapshot, tell
        self._workers: Workers | None = None
        self._briefs: OrderedDict[tuple[bytes, int], Brief] = OrderedDict()
        self._current: OrderedDict[tuple[int, str], str] = OrderedDict()  # base of a version → the one with its files
        self._users: OrderedDict[int, User] = OrderedDict()
        self._held = 0
        self._size = 0  # bytes of all versions that are held
        self.seen: Callable[[Version], None] = lambda version: None  # hears of each new version
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Start the process that reads; one that is there already ends: the site may be another."""
        program, says = _program(self._snapshot()), "the process that reads what is remembered"
        new = Workers(1, "", 4 * reader.SECONDS, program, says, lambda: self._tell("not started", 1))
        old, self._workers = self._workers, new
        await self._workers.start()
        if old is not None:
            await old.stop()

    async def stop(self, seconds: float) -> list[Draft]:
        """End what is being looked at after *seconds*, and return what waits still."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._workers is not None:
            await self._workers.stop()
        return [draft for user in self._users.values() for draft in user.waiting]

    def known(self, draft: Draft) -> Brief | None:
        """Return what a repeat is recorded with, None for what has to be looked at."""
        brief = self._briefs.get(draft.same)
        return brief if brief is not None and time.monotonic() < brief.until else None

    def current(self, uid: int, base: str) -> str:
        """Return the version that a base is with the files as they were last read."""
        return self._current.get((uid, base), base)

    def wait(self, draft: Draft, done: Callable[[Draft, Brief | None], None]) -> None:
        """Look at a submission when its turn comes; *done* hears what was found, None where that cannot be said."""
        user, size = self._users.setdefault(draft.peer.uid, User()), draft.size
        if self._held + size > MOST_WAITING or user.held + size > MOST_OF_USER or self._workers is None:
            done(draft, None)
            return
        self._held += size
        user.held += size
        user.waiting.append(draft)
        if len(user.waiting) == 1:
            task = asyncio.get_running_loop().create_task(self._work(draft.peer.uid, user, done))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _work(self, uid: int, user: User, done: Callable[[Draft, Brief | None], None]) -> None:
        while user.waiting:
            draft, brief = user.waiting[0], None
            try:
                brief = await self._look(draft, user)
            except Exception as error:  # nothing is known of this one, and the next one counts
                log().error("not understood", record=draft.id, why=cause(error))
            user.waiting.popleft()
            self._held -= draft.size
            user.held -= draft.size
            done(draft, brief)
        self._bound(uid, user)

    def _bound(self, uid: int, user: User) -> None:
        """Hold no more versions than there is room for; whoever was looked at longest ago is read again."""
        self._users.move_to_end(uid)
        size = sum(known.size for known in user.versions.values())
        self._size, user.size = self._size + size - user.size, size
        while (len(self._users) > MOST_USERS or self._size > MOST_VERSIONS) and self._users:
            if next(iter(self._users.values())).waiting:
                break
            self._size -= self._users.popitem(last=False)[1].size

    async def _look(self, draft: Draft, user: User) -> Brief | None:
        """Return what the submission is recorded with; version and decision are written. None: it cannot be read."""
        brief = self.known(draft)  # it was found out while this one waited
        if brief is not None:
            self._tell("repeat", 1)
            return brief
        data = await self._ask(draft)
        if data is None:
            return None
        job = description.read_described(data["told"])
        version = await self._version(draft, job, user)
        until = time.monotonic() + BRIEF_SECONDS
        brief = Brief(version, self._shown(draft, data["shown"]), job.partition, until, proposal_of(draft))
        put(self._briefs, draft.same, brief, MOST_BRIEFS)
        return brief

    async def _ask(self, draft: Draft, wanted: tuple[str, ...] | None = None) -> dict[str, Any] | None:
        decision = packing.pack(draft.decision) if draft.decision is not None and wanted is None else b""
        question = pack(Question(frames.pack_request(draft.request), decision, wanted))
        learned = await self._read_by_process(draft.peer.uid, question)
        for pause in PAUSES:
            if learned is not None:
                break
            await asyncio.sleep(pause)
            learned = await self._read_by_process(draft.peer.uid, question)
        with contextlib.suppress(ValueError):
            answer: dict[str, Any] | None = json.loads(learned) if learned else None
            return answer
        return None

    async def _read_by_process(self, uid: int, question: bytes) -> bytes | None:
        """Return what the process says, b"" for nothing; None where none was there to the end.

        One that was replaced meanwhile leaves it to the next.
        """
        workers = None
        while workers is not self._workers and self._workers is not None:
            workers = self._workers
            try:
                asked = workers.decide(uid, question)
            except Busy:
                return None
            await asyncio.wait({asked})  # so that its being cancelled, with its process, does not cancel us
            if not asked.cancelled():
                answer = asked.result()
                return None if answer.lost else answer.learnt
        return b""

    async def _version(self, draft: Draft, job: versions.SubmittedJob, user: User) -> str:
        """Return the id of the version, written if it is new; only what changed is read."""
        known = await self._known(draft.peer.uid, user)
        version = versions.version_of(job, known, draft.at)
        if version.id in user.versions:
            self._find_current(draft.peer.uid, version.id, known)
            return version.id
        reuse = versions.reuse(job, known)
        data = await self._ask(draft, tuple(part.hash for part in reuse.again))
        fresh = [Value(*row) for row in data["values"]] if data else []
        values = tuple(dict.fromkeys((*reuse.values, *fresh)))
        version = version._replace(values=values, read=" ".join(part.hash for part in reuse.again))
        version = version if data else version._replace(reader="")  # nothing is known of it that could be used again
        for what, number in (("version", 1), ("reused", len(reuse.same)), ("read", len(reuse.again))):
            self._tell(what, number)
        user.versions[version.id] = versions.known_of(version)
        self.seen(version._replace(script=b""))
        self._write.do(lambda store: store.keep_version(version), len(version.script))
        return version.id

    def _find_current(self, uid: int, base: str, known: list[versions.Known]) -> None:
        """Find the version of a base that has the files as they were last read, where that is not known yet."""
        if (uid, base) not in self._current:
            newest = next(
                (version.version.id for version in known if versions.version_id(version.version) == base), base
            )
            put(self._current, (uid, base), newest, MOST_BRIEFS)

    async def _known(self, uid: int, user: User) -> list[versions.Known]:
        """Return the user's versions, the newest first."""
        if time.monotonic() - user.asked >= KNOWN_SECONDS:
            knowns = await self._read.ask(
                lambda store: [versions.known_of(version) for version in store.versions(uid, limit=MOST_KNOWN)],
                ASK_SECONDS,
            )
            if knowns is not None:
                late = time.time() - WRITTEN_SECONDS
                kept = {entry.version.id for entry in knowns}
                user.versions = {name: entry for name, entry in user.versions.items()
                                 if name in kept or entry.version.at > late}  # fmt: skip
            for known in knowns or ():
                user.versions.setdefault(known.version.id, known)
            user.asked = time.monotonic()
        ordered = sorted(user.versions.values(), key=lambda known: -known.version.at)
        for known in ordered[MOST_KNOWN:]:
            del user.versions[known.version.id]
        return ordered[:MOST_KNOWN]

    def _shown(self, draft: Draft, shown: dict[str, Any] | None) -> str:
        """Keep what was decided as it may be shown, and return the key that it is found by."""
        if not shown:
            return ""
        text = json.dumps(shown, separators=(",", ":"), sort_keys=True).encode()
        uid, at, packed = draft.peer.uid, draft.at, zlib.compress(text)
        key = hashlib.sha256(b"shown %d " % uid + text).digest()
        self._write.do(lambda store: store.keep_decision(key, uid, packed, at), len(packed))
        return key.hex()

    def forget(self) -> None:
        """Hold nothing of anybody: somebody was purged. What the store has still is read again."""
        self._briefs.clear()
        self._current.clear()
        for user in self._users.values():
            user.versions.clear()
            user.asked = -KNOWN_SECONDS

    def files(
        self, uid: int, base: str, record: str, parts: tuple[Part, ...], values: tuple[Value, ...],
        read: tuple[str, ...] | None = None,
    ) -> bool:  # fmt: skip
        """Keep what the user's own process has read of his files; other files than before make another version."""
        user = self._users.get(uid)
        now = user.versions.get(self.current(uid, base)) if user is not None else None
        if user is None or now is None or not parts:
            return False
        version = versions.with_files(now.version, base, parts, values, time.time(), read)
        for known in (user.versions.get(base), user.versions.get(version.id)):
            if known is not None and versions.same_files(known.version.parts, parts):
                version = known.version  # the files are again as they were
                break
        put(self._current, (uid, base), version.id, MOST_BRIEFS)
        if version != now.version:
            user.versions[version.id] = versions.Known(version, now.lines, now.above)
            self._tell("version", int(version.id != now.version.id))
            self._write.do(lambda store: _keep_files(store, version, now.version.id))
        if version.id != now.version.id:  # of which the record was written
            self._write.do(lambda store: store.move_record(record, uid, version.id))
        return True


def _keep_files(store: Store, version: Version, before: str) -> None:
    """Write a version with its files: in its own place, or as one made from the version *before*."""
    if version.id == before:
        store.renew_version(version)
        return
    made_from = store.version(version.uid, before)
    store.keep_version(version._replace(script=made_from.script if made_from else b""))


def _program(snapshot: str) -> tuple[str, ...]:
    """Return the words that start the process that reads, behind the interpreter."""
    import maple_agents
    import maple_submit_filter

    import maple_daemon

    own = os.path.abspath(reader.__file__)
    packages = (maple_daemon.__file__, maple_agents.__file__, maple_submit_filter.__file__)
    folders = dict.fromkeys(os.path.dirname(os.path.dirname(os.path.abspath(package or own))) for package in packages)
    return ("-I", own, snapshot, *folders)


def put(table: OrderedDict[Any, Any], key: Any, value: Any, most: int) -> None:
    """Remember; the one that was put first goes where there are too many."""
    table[key] = value
    table.move_to_end(key)
    if len(table) > most:
        table.popitem(last=False)
