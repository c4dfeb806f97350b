"""What was heard becomes records and versions, off the loop: an exact repeat is one small row, an edit is looked at."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import time
import zlib
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from typing import Any, NamedTuple

from maple_submit_filter import answer as answers
from maple_submit_filter import frames, learnt
from maple_submit_filter.decide import Decision
from maple_submit_filter.frames import Change, Reply, Request
from maple_submit_filter.job_records import Part, Record, Value, Version
from maple_submit_filter.records import host, read_audit
from maple_submit_filter.schedulers.slurm import wrapped

from . import described, reader, versions
from .handlers import Handled
from .limits import Busy
from .log import log
from .peers import Peer
from .remembering import Keeper
from .rules_in_force import InForce
from .store.protocol import Counted, Store
from .workers import Workers

MOST_BRIEFS = 20_000  # submissions that are known to be repeats
MOST_WAITING = 64 << 20  # bytes of submissions that wait to be looked at; further ones are recorded without a version
MOST_KNOWN = 300  # versions of a user that a new one is compared with
KNOWN_SECONDS = 5.0  # that they are kept before the store is asked again: another login node may have written
FLUSH_SECONDS = 10.0  # between two writings of the site-wide numbers
ASK_SECONDS = 5.0
MOST_RECENT = 4096


class Draft(NamedTuple):
    """What was heard of one submission."""

    request: Request
    peer: Peer
    how: str
    key: bytes
    decision: Decision | None
    submitted_hash: str
    offered_hash: str
    codes: tuple[str, ...]
    mode: str
    at: float
    seconds: float


class Brief(NamedTuple):
    """What a repeat of a submission is written with. *base*: the version's id without regard to files."""

    base: str
    decision: str
    partition: str


class User:
    """What is known of one user's versions, and what waits to be looked at."""

    def __init__(self) -> None:
        self.versions: OrderedDict[str, versions.Known] = OrderedDict()
        self.asked = -KNOWN_SECONDS
        self.waiting: deque[Draft] = deque()


class Recorder:
    """*read*, *write*: the store's threads. *in_force*: what decides now. *told* hears what was done, to be counted."""

    def __init__(
        self, read: Keeper, write: Keeper, in_force: Callable[[], InForce], told: Callable[[str, int], None]
    ) -> None:
        self._read, self._write, self._in_force, self._told = read, write, in_force, told
        self._workers: Workers | None = None
        self._pending: dict[bytes, Draft] = {}  # a helper may have its word yet
        self._briefs: OrderedDict[tuple[bytes, int], Brief] = OrderedDict()
        self._current: OrderedDict[tuple[int, str], str] = OrderedDict()  # base of a version → the one with its files
        self._recent: OrderedDict[tuple[int, str], str] = OrderedDict()  # record → base of its version
        self._users: OrderedDict[int, User] = OrderedDict()
        self._held = 0
        self._counts: Counter[tuple[str, str, str, str]] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()
        self._host = host()

    async def start(self) -> None:
        """Start the process that reads."""
        self._workers = Workers(1, "", reader.SECONDS + 5, _program(self._in_force().snapshot))
        await self._workers.start()
        self._run(self._flush_often())

    async def renew(self) -> None:
        """Take the process that reads anew: the site may be another."""
        old = self._workers
        self._workers = Workers(1, "", reader.SECONDS + 5, _program(self._in_force().snapshot))
        await self._workers.start()
        if old is not None:
            await old.stop()

    async def stop(self, seconds: float = 2.0) -> None:
        """Write what waits, within *seconds*."""
        for nonce in list(self._pending):
            self.over(nonce, b"")
        working = [task for task in self._tasks if task.get_name() == "user"]
        if working:
            await asyncio.wait(working, timeout=seconds)
        for user in self._users.values():
            for draft in user.waiting:
                self._write_down(draft, None)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._flush()
        if self._workers is not None:
            await self._workers.stop()

    def heard(self, request: Request, peer: Peer, handled: Handled, decision: Decision | None, seconds: float) -> None:
        """Take down a submission. What is switched off is not taken down."""
        if handled.how == "off":
            return
        draft = self._draft(request, peer, handled, decision, seconds)
        if handled.how == "helper" or (handled.reply is not None and handled.reply.conditions):
            self._pending[request.nonce] = draft
        else:
            self._settle(draft)

    def over(self, nonce: bytes, taught: bytes) -> None:
        """A conversation is over; *taught*: what the caller's helper decided in place of what was answered."""
        draft = self._pending.pop(nonce, None)
        if draft is None:
            return
        if taught:
            with contextlib.suppress(ValueError):
                draft = self._by_helper(draft, learnt.unpack(taught)[0])
        self._settle(draft)

    def _draft(
        self, request: Request, peer: Peer, handled: Handled, decision: Decision | None, seconds: float
    ) -> Draft:
        reply = handled.reply
        in_force = self._in_force()
        return Draft(
            request, peer, handled.how, handled.key, decision, _hash_of(reply.change, request) if reply else "",
            _hash_of(reply.offer, request) if reply else "", _codes_of(reply),
            answers.mode_of(request, in_force.policy, peer.gids), time.time(), seconds,
        )  # fmt: skip

    def _by_helper(self, draft: Draft, decision: Decision) -> Draft:
        """Return the draft with what the helper decided; its reply was the one that this decision comes to."""
        in_force = self._in_force()
        reply = answers.answered(draft.request, in_force.site, in_force.policy, draft.mode, decision)
        changed, offered = _hash_of(reply.change, draft.request), _hash_of(reply.offer, draft.request)
        return draft._replace(
            how="helper", decision=decision, submitted_hash=changed, offered_hash=offered, codes=_codes_of(reply)
        )

    def _settle(self, draft: Draft) -> None:
        self._say(draft)
        brief = self._briefs.get(_brief_key(draft))
        if brief is not None:
            self._told("repeat", 1)
            self._write_down(draft, brief)
            return
        self._wait(draft)

    def _say(self, draft: Draft) -> None:
        """One line for the journal, without any text of the user's."""
        log().info(
            "submission", record=answers.record_id(draft.request), uid=draft.peer.uid, pid=draft.peer.pid,
            job=draft.request.hash.hex(), verdict=_verdict(draft), codes=list(draft.codes), mode=draft.mode,
            how=draft.how, changed=bool(draft.submitted_hash), ms=round(draft.seconds * 1000, 1),
        )  # fmt: skip

    def _keep(self, draft: Draft, version: str, decision: str) -> None:
        record = Record(
            answers.record_id(draft.request), version, draft.peer.uid, draft.at, self._host, draft.peer.pid,
            draft.peer.started, draft.mode, _verdict(draft), draft.codes, draft.how, draft.submitted_hash,
            offered_hash=draft.offered_hash, decision=decision,
        )  # fmt: skip
        self._write.do(lambda store: store.keep_record(record))

    def _write_down(self, draft: Draft, brief: Brief | None) -> None:
        """Write the record, and count it."""
        uid = draft.peer.uid
        if brief is None:
            self._told("unversioned", 1)
        else:
            _put(self._recent, (uid, answers.record_id(draft.request)), brief.base, MOST_RECENT)
        base, decision, partition = brief or Brief("", "", "")
        self._keep(draft, self._current.get((uid, base), base), decision)
        self._count(draft, partition)

    # What is not known to be a repeat: one submission of a user after the other, users in turn.

    def _wait(self, draft: Draft) -> None:
        size = len(draft.request.submission.script or b"") + 4096
        if self._held + size > MOST_WAITING or self._workers is None:
            self._write_down(draft, None)
            return
        self._held += size
        user = self._users.setdefault(draft.peer.uid, User())
        user.waiting.append(draft)
        if len(user.waiting) == 1:
            self._run(self._work(draft.peer.uid, user), "user")

    async def _work(self, uid: int, user: User) -> None:
        while user.waiting:
            draft = user.waiting[0]
            brief = None
            try:
                brief = await self._look(draft, user)
            except (KeyError, TypeError, ValueError, IndexError) as error:  # the process that reads said nonsense
                log().error("not understood", record=answers.record_id(draft.request), why=type(error).__name__)
            user.waiting.popleft()
            self._held -= len(draft.request.submission.script or b"") + 4096
            self._write_down(draft, brief)
        self._users.move_to_end(uid)
        while len(self._users) > 1024 and not next(iter(self._users.values())).waiting:
            self._users.popitem(last=False)

    async def _look(self, draft: Draft, user: User) -> Brief | None:
        """Return what a record of this submission tells, version and decision written; None for what cannot be read."""
        brief = self._briefs.get(_brief_key(draft))  # it was made while this one waited
        if brief is not None:
            return brief
        data = await self._ask(draft)
        if data is None:
            return None
        told = described.read_told(data["told"])
        version = await self._version(draft, told, user)
        brief = Brief(version, self._shown(draft, data["shown"]), told.partition)
        _put(self._briefs, _brief_key(draft), brief, MOST_BRIEFS)
        return brief

    async def _ask(self, draft: Draft, wanted: tuple[str, ...] | None = None) -> dict[str, Any] | None:
        assert self._workers is not None
        decision = learnt.pack(draft.decision) if draft.decision is not None and wanted is None else b""
        question = reader.Question(frames.pack_request(draft.request), decision, wanted)
        with contextlib.suppress(Busy, asyncio.CancelledError, ValueError):
            answer = await self._workers.decide(draft.peer.uid, reader.pack(question))
            told: dict[str, Any] | None = json.loads(answer.learnt) if answer.learnt else None
            return told
        return None

    async def _version(self, draft: Draft, told: versions.Told, user: User) -> str:
        """Return the id of the version, written if it is new; only what changed is read."""
        known = await self._known(draft.peer.uid, user)
        version = versions.version_of(told, known, draft.at)
        if version.id in user.versions:
            return version.id
        reuse = versions.reuse(told, known)
        data = await self._ask(draft, tuple(one.hash for one in reuse.again))
        read = [Value(*one) for one in data["values"]] if data else []
        version = version._replace(values=tuple(dict.fromkeys((*reuse.values, *read))))
        self._told("version", 1)
        self._told("reused", len(reuse.same))
        self._told("read", len(reuse.again))
        user.versions[version.id] = versions.known_of(version)
        self._write.do(lambda store: store.keep_version(version))
        return version.id

    async def _known(self, uid: int, user: User) -> list[versions.Known]:
        """Return the user's versions, the newest first."""
        if time.monotonic() - user.asked >= KNOWN_SECONDS:
            found = await self._read.ask(
                lambda store: [versions.known_of(one) for one in store.versions(uid, limit=MOST_KNOWN)], ASK_SECONDS
            )
            for one in reversed(found or ()):
                user.versions.setdefault(one.version.id, one)
            user.asked = time.monotonic()
        ordered = sorted(user.versions.values(), key=lambda one: one.version.at)
        for one in ordered[: max(0, len(ordered) - MOST_KNOWN)]:
            del user.versions[one.version.id]
        return ordered[::-1][:MOST_KNOWN]

    def _shown(self, draft: Draft, shown: dict[str, Any] | None) -> str:
        """Keep what was decided as it may be shown, and return the key that it is found by."""
        if not shown:
            return ""
        text = json.dumps(shown, separators=(",", ":"), sort_keys=True).encode()
        uid, at = draft.peer.uid, draft.at
        key = hashlib.sha256(b"shown %d " % uid + text).digest()
        packed = zlib.compress(text)
        self._write.do(lambda store: store.keep_decision(key, uid, packed, at))
        return key.hex()

    # What the user's own process has read of his files.

    def analysed(self, uid: int, record: str, parts: tuple[Part, ...], values: tuple[Value, ...]) -> bool:
        """Keep what was read for a record of one's own; other files than before make another version."""
        base = self._recent.get((uid, record))
        user = self._users.get(uid)
        if base is None or user is None:
            return False
        now = user.versions.get(self._current.get((uid, base), base))
        if now is None or not parts:
            return False
        version = versions.with_files(now.version, base, parts, values, time.time())
        version = (
            known.version if version.id != now.version.id and (known := user.versions.get(version.id)) else version
        )
        if version == now.version:
            return True
        renewed = version.id == now.version.id
        user.versions[version.id] = versions.Known(version, now.lines, now.above)
        _put(self._current, (uid, base), version.id, MOST_BRIEFS)
        self._told("version", 0 if renewed else 1)
        self._write.do(lambda store: _keep_files(store, version, now.version.id, record))
        return True

    # Site-wide numbers, without any user in them.

    def _count(self, draft: Draft, partition: str) -> None:
        names = {one.name for one in self._in_force().site.partitions}
        place = partition if partition in names else "other" if partition else ""
        day = time.strftime("%Y-%m-%d", time.gmtime(draft.at))
        for code in draft.codes or ("",):
            self._counts[day, code, place, _verdict(draft)] += 1

    def _flush(self) -> None:
        rows = [Counted(*key, "", number) for key, number in self._counts.items()]
        self._counts.clear()
        if rows:
            self._write.do(lambda store: store.count(rows))

    async def _flush_often(self) -> None:
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            self._flush()

    def _run(self, work: Any, name: str = "") -> None:
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _keep_files(store: Store, version: Version, before: str, record: str) -> None:
    """Write a version with its files: in its own place, or as one made from the version *before*."""
    if version.id == before:
        store.renew_version(version)
        return
    kept = store.versions(version.uid, version.lineage, MOST_KNOWN)
    script = next((one.script for one in kept if one.id == before), b"")
    store.keep_version(version._replace(script=script))
    store.move_record(record, version.uid, version.id)


def _program(snapshot: str) -> tuple[str, ...]:
    """Return the words that start the process that reads, behind the interpreter."""
    import maple_agents
    import maple_submit_filter

    own = os.path.abspath(reader.__file__)
    packages = (own, maple_agents.__file__, maple_submit_filter.__file__)
    folders = dict.fromkeys(os.path.dirname(os.path.dirname(os.path.abspath(one or own))) for one in packages)
    return ("-I", own, snapshot, *folders)


def _hash_of(change: Change | None, request: Request) -> str:
    """Return the hash of the script that a change hands over, "" where only words differ or nothing does."""
    if change is None:
        return ""
    if change.script is not None:
        return hashlib.sha256(change.script).hexdigest()
    if request.submission.came == "wrap" and change.argv and request.word < len(change.argv):
        return hashlib.sha256(wrapped(change.argv[request.word][request.offset :])).hexdigest()
    return ""


def _codes_of(reply: Reply | None) -> tuple[str, ...]:
    """Return the rules that had a say, as the audit line of the reply names them."""
    line = (reply.change.audit if reply.change else reply.audit) if reply else b""
    return read_audit(line).codes if line else ()


def _verdict(draft: Draft) -> str:
    return draft.decision.verdict if draft.decision is not None else ""


def _brief_key(draft: Draft) -> tuple[bytes, int]:
    """Return what tells a submission and what was decided of it; the second changes with the user's files."""
    return draft.key, hash(draft.decision)


def _put(table: OrderedDict[Any, Any], key: Any, value: Any, most: int) -> None:
    """Remember; the one that was put first goes where there are too many."""
    table[key] = value
    table.move_to_end(key)
    if len(table) > most:
        table.popitem(last=False)
