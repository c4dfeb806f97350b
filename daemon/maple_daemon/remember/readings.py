"""Whose files are to be read, and when: the daemon opens none, a process of the user's does when it is asked to.

A submission is asked for once. From then on its front is told how the files were, and starts the reading only where one
is not so any more. What is waited for is held for a short time and within bounds; it is in no store, and no other user
is told of it.
"""

from __future__ import annotations

import base64
import hashlib
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

from maple_submit_filter.answer.decision import MOST_READ
from maple_submit_filter.answer.reply import record_id
from maple_submit_filter.host.frames import FileFacts, Request, pack_request

from ..base.peers import Peer
from ..base.settings import Bounds, Busy, Limits, bytes_of
from ..base.telemetry import log
from ..decide.handlers import Wish
from .sections import variables_of, words_of

USUAL = Bounds(rate=0.5, burst=20)  # readings that one user's submissions may start: a second in the long run, at once
WAIT_SECONDS = 30.0  # that a submission waits for its reading: later its files may be those of another
RUN_SECONDS = 35.0  # after which a reading is over, whatever became of it
TRIES, PAUSE, LONG_PAUSE = 3, 60.0, 3600.0  # readings that come to nothing, seconds until the next; after so many
MOST_WAITING, MOST_OF_USER = 16 << 20, 64  # bytes of all, submissions of one
MOST_HELD = 32 << 20  # bytes of facts and extracts
AT_ONCE = 64 << 10  # bytes of a script that is looked through for variables while others wait: half a millisecond
_BESIDES = 512


class Looked(NamedTuple):
    """A file that was looked for. *digest*: of its part, "" where it was not read. *extract*: what was read of it.

    The extract is the reading process's own: here it is text that is given back to the same user.
    """

    path: str
    facts: str
    digest: str = ""
    extract: str = ""

    @property
    def size(self) -> int:
        return len(self.path) + len(self.facts) + len(self.extract) + _BESIDES


class _Waiting(NamedTuple):
    """*any*: whichever process comes may read it; else the one that its own front starts where a file has changed."""

    request: Request
    key: bytes
    since: float
    any: bool

    @property
    def size(self) -> int:
        return bytes_of(self.request.submission)


class Readings:
    """*on*: whether files may be read at all. *clock*: seconds, never back. *without*: groups whose files are not.

    *told* hears what was done, to be counted.
    """

    def __init__(
        self, clock: Callable[[], float], without: frozenset[int] = frozenset(), bounds: Bounds = USUAL,
        tell: Callable[[str, int], None] = lambda what, number: None,
    ) -> None:  # fmt: skip
        self.on, self._without, self._tell = False, without, tell
        self._clock, self._limits = clock, Limits(bounds, clock)
        self._waiting = _Line()
        self._keys: OrderedDict[tuple[int, bytes], bytes] = OrderedDict()  # of exactly this submission: of its files
        self._tried: OrderedDict[tuple[int, bytes], tuple[int, float]] = OrderedDict()
        self._under_way: OrderedDict[tuple[int, str], tuple[bytes, bytes]] = OrderedDict()  # record → key, cwd
        self._running: dict[int, float] = {}
        self._known = _Held()  # by user and key: how the files of a submission were
        self._extracts = _Held()  # by user and working directory: what was read there last

    def wish(self, request: Request, peer: Peer, key: bytes) -> Wish | None:
        """Return what the front of this submission should have read, None for nothing."""
        if not self.on or not key or self._without & peer.gids or len(request.submission.script or b"") > MOST_READ:
            return None
        uid, record, key = peer.uid, record_id(request), self._key(peer.uid, key, request)
        known = self._known.get((uid, key))
        if known == () or self._is_tried(uid, key):
            return None
        self._waiting.add(uid, record, _Waiting(request, key, self._clock(), known is None))
        if known is None and self._running.get(uid, 0) > self._clock():
            return None  # the one that runs comes back for more
        try:
            self._limits.ask(uid)
        except Busy:
            return None
        if known is None:
            self._note_try(uid, key)
        self._tell("wish", 1)
        return Wish(record, tuple(FileFacts(_bytes(looked.path), _bytes(looked.facts)) for looked in known or ()))

    def _key(self, uid: int, exact: bytes, request: Request) -> bytes:
        """Return what tells submissions apart that may lead to other files: a version, and where it is submitted."""
        key = self._keys.get((uid, exact))
        if key is None:
            short = len(request.submission.script or b"") <= AT_ONCE
            key = self._keys[uid, exact] = _key_of(request) if short else exact
            _bound(self._keys, 20_000)
        return key

    def take(self, uid: int, record: str) -> dict[str, Any] | None:
        """Return the submission of that record, else the one of the user's that waits longest; None: there is none.

        One of whose files all was known waits for the process that its own front starts, or says `later` of.

        As JSON has it: {"record", "request", "known"}, the last what was read before.
        """
        self._running.pop(uid, None)
        taken = self._waiting.take(uid, record, self._clock())
        if taken is None:
            return None
        name, waiting = taken
        self._running[uid] = self._clock() + RUN_SECONDS
        self._note_try(uid, waiting.key)
        self._under_way[uid, name] = waiting.key, waiting.request.submission.cwd
        _bound(self._under_way, 4096)
        known = {each.path: each for each in self._known.get((uid, waiting.key)) or ()}
        known.update((each.path, each) for each in self._extracts.get((uid, waiting.request.submission.cwd)) or ())
        frame = base64.b64encode(pack_request(waiting.request)).decode()
        return {"record": name, "request": frame, "known": [list(each) for each in known.values()]}

    def later(self, uid: int, record: str) -> None:
        """A file of that submission has changed, and another process of the user's reads just now: it is to go on."""
        self._waiting.open(uid, record)

    def done(self, uid: int, record: str, looked: tuple[Looked, ...]) -> None:
        """Remember how the files of a submission are that was taken."""
        key, cwd = self._under_way.pop((uid, record), (b"", b""))
        if not key:
            return
        self._tell("reading", 1)
        log().info("reading", record=record, uid=uid, files=sum(bool(file.digest) for file in looked))
        self._tried.pop((uid, key), None)
        self._known.put((uid, key), tuple(file._replace(extract="") for file in looked))
        self._extracts.put((uid, cwd), tuple(file for file in looked if file.extract))

    def forget(self) -> None:
        """Hold nothing of anybody: it may be read otherwise now, or somebody was purged."""
        self._known, self._extracts, self._waiting = _Held(), _Held(), _Line()
        self._tried.clear()
        self._keys.clear()
        self._under_way.clear()

    def _is_tried(self, uid: int, key: bytes) -> bool:
        count, last = self._tried.get((uid, key), (0, 0.0))
        return count > 0 and self._clock() - last < (PAUSE if count < TRIES else LONG_PAUSE)

    def _note_try(self, uid: int, key: bytes) -> None:
        count, last = self._tried.pop((uid, key), (0, -PAUSE))
        again = self._clock() - last < PAUSE  # asked for and then taken: that is one
        self._tried[uid, key] = (count if again else count + 1, last if again else self._clock())
        _bound(self._tried, 20_000)


class _Line:
    """Submissions that wait, by user; what waits too long, or is too much, goes.

    Of those that lead to the same files the last one waits for all: what is read is how they are now.
    """

    def __init__(self) -> None:
        self._users: OrderedDict[int, OrderedDict[str, _Waiting]] = OrderedDict()  # who came last stands last
        self._size = 0

    def add(self, uid: int, record: str, waiting: _Waiting) -> None:
        mine = self._users.setdefault(uid, OrderedDict())
        self._users.move_to_end(uid)
        for same in [name for name, other in mine.items() if other.key == waiting.key]:
            self._drop(uid, same)
        mine = self._users.setdefault(uid, mine)
        if len(mine) >= MOST_OF_USER:
            self._drop(uid, next(iter(mine)))
        mine[record] = waiting
        self._size += waiting.size
        while self._size > MOST_WAITING:
            first = next(iter(self._users))
            self._drop(first, next(iter(self._users[first])))

    def take(self, uid: int, record: str, now: float) -> tuple[str, _Waiting] | None:
        """Return the one of that record, else the user's oldest that anyone may have."""
        for name in (record, *(name for name, waiting in self._users.get(uid, {}).items() if waiting.any)):
            waiting = self._drop(uid, name)
            if waiting is not None and waiting.since > now - WAIT_SECONDS:
                return name, waiting
        return None

    def open(self, uid: int, record: str) -> None:
        """Let anyone have that one."""
        mine = self._users.get(uid, OrderedDict())
        if record in mine:
            mine[record] = mine[record]._replace(any=True)

    def _drop(self, uid: int, record: str) -> _Waiting | None:
        mine = self._users.get(uid, OrderedDict())
        waiting = mine.pop(record, None)
        self._size -= waiting.size if waiting is not None else 0
        if not mine:
            self._users.pop(uid, None)
        return waiting


class _Held:
    """Files by whom and what, the least recently used go first."""

    def __init__(self, most: int = MOST_HELD // 2) -> None:
        self._most, self._size = most, 0
        self._held: OrderedDict[tuple[int, bytes], tuple[Looked, ...]] = OrderedDict()

    def get(self, name: tuple[int, bytes]) -> tuple[Looked, ...] | None:
        lookeds = self._held.get(name)
        if lookeds is not None:
            self._held.move_to_end(name)
        return lookeds

    def put(self, name: tuple[int, bytes], looked: tuple[Looked, ...]) -> None:
        before = self._held.pop(name, None)
        self._size -= _size(before) if before is not None else 0
        self._held[name] = looked
        self._size += _size(looked)
        while self._size > self._most:
            self._size -= _size(self._held.popitem(last=False)[1])


def _key_of(request: Request) -> bytes:
    submission = request.submission
    variables = variables_of(submission, submission.script or b"")
    words = (
        submission.scheduler.encode(),
        submission.came.encode(),
        submission.cwd,
        submission.script or b"",
        *words_of(request),
    )
    made = hashlib.sha256()
    for text in (*words, *(b"%s=%s" % pair for pair in sorted(variables.items()))):
        made.update(b"%d:" % len(text))
        made.update(text)
    return made.digest()


def _size(looked: tuple[Looked, ...]) -> int:
    return _BESIDES + sum(file.size for file in looked)


def _bound(table: OrderedDict[Any, Any], most: int) -> None:
    while len(table) > most:
        table.popitem(last=False)


def _bytes(text: str) -> bytes:
    return text.encode("latin-1", "replace")
