"""What was decided of this very submission before: exact hits, within a bound of bytes, and never across users."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from typing import NamedTuple

from maple_submit_filter.answer import packing
from maple_submit_filter.answer.decision import Decision
from maple_submit_filter.answer.reply import Once
from maple_submit_filter.host.frames import FileFacts, Request

# Variables of a login session that no script depends on unless it names them: they differ with every login.
SESSION = frozenset((b"XDG_RUNTIME_DIR", b"XDG_STATE_HOME", b"XDG_CACHE_HOME", b"HOSTNAME", b"TMPDIR", b"MAPLE"))
_COST = 2048  # bytes that an entry takes besides its own


class Known(NamedTuple):
    """What is remembered of a submission. *decision* None: it takes a file of the user's that nobody has told of yet.

    *files*: what the decision depends on. *once*: what follows from it. *size*: bytes of it.
    """

    decision: Decision | None
    files: tuple[FileFacts, ...]
    once: Once
    size: int


UNTOLD = Known(None, (), Once(), 0)  # the helper of the one who asks can decide it


def known_of(data: bytes) -> Known:
    """Return what `answer.packing` has packed, in the form that is answered from. Raises `ValueError`."""
    decision, files = packing.unpack(data)
    return Known(decision, files, Once(), len(data))


def key_of(request: Request, uid: int, facts: bytes) -> bytes:
    """Return the hash of all that the decision depends on but files. *facts*: of site, rules and policy in force."""
    submission, script = request.submission, request.submission.script or b""
    environment = [
        name + b"=" + value
        for name, value in sorted(submission.environment.items())
        if name not in SESSION or name in script
    ]
    parts = [
        facts,
        b"%d" % uid,
        submission.scheduler.encode(),
        submission.came.encode(),
        submission.path,
        submission.cwd,
        script,
        b"%d %d" % (request.word, request.offset),
        b"%d" % len(submission.argv),
        *submission.argv,
        *environment,
    ]
    made = hashlib.sha256()
    for part in parts:
        made.update(b"%d:" % len(part))
        made.update(part)
    return made.digest()


class Memory:
    """Decisions by key, the least recently used go first. *most*: bytes."""

    def __init__(self, most: int = 64 << 20) -> None:
        self._most, self._size = most, 0
        self._known: OrderedDict[bytes, Known] = OrderedDict()

    def get(self, key: bytes) -> Known | None:
        """Return what is known, None when nothing is."""
        known = self._known.get(key)
        if known is not None:
            self._known.move_to_end(key)
        return known

    def put(self, key: bytes, known: Known) -> None:
        """Remember; what does not fit at all is not remembered."""
        self.forget(key)
        size = _size(known)
        if size > self._most:
            return
        self._known[key] = known
        self._size += size
        while self._size > self._most:
            self._size -= _size(self._known.popitem(last=False)[1])

    def forget(self, key: bytes) -> None:
        """Forget one decision, if it is known."""
        known = self._known.pop(key, None)
        self._size -= _size(known) if known is not None else 0

    def clear(self) -> None:
        """Forget everything."""
        self._known.clear()
        self._size = 0

    def __len__(self) -> int:
        return len(self._known)

    @property
    def size(self) -> int:
        """Bytes held, as far as they are counted."""
        return self._size


def _size(known: Known) -> int:
    return _COST + known.size
