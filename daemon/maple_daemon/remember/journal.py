"""Submissions that were answered and are in no store yet, in files beside it: whoever kills the service loses none.

A line is written before its answer is sent, and no disk is waited for: what the kernel has outlives the process, and
only a machine that stops takes it. What is written down is a record without its version: no text of a user's.
"""

from __future__ import annotations

import contextlib
import fcntl
import glob
import os
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from maple_submit_filter.types.job_records import Record

from ..base.telemetry import log
from ..store import SCHEMES, rows
from ..store.mounts import on_network
from ..store.protocol import NotKept, Store

MOST = 1 << 20  # bytes of a file, then the next one begins
MOST_FILES = 16  # that hold something; the oldest goes, and what it held has no second place any more
SLOW = 0.05  # seconds: a line that took longer waited for something, be it only for a processor
MOST_WAITED = 0.5  # seconds within a PAUSE: a disk that lets us wait for longer is left alone for as long
PAUSE = 30.0
BATCH = 64


class Journal:
    """*path*: of the file that says whose the others are, which have a number behind it. Raises `OSError`.

    For one thread, but for `kept` and `replay`, which are the store's. *clock*: seconds, never back.
    """

    def __init__(self, path: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._path, self._clock = path, clock
        os.makedirs(os.path.dirname(path) or ".", 0o700, exist_ok=True)
        self._owner = _opened(path, os.O_RDWR)
        self._taken(path)
        self._old = sorted(_numbered(path))  # what another process has left
        self._number = max(self._old, default=0) + 1
        self._file, self._size, self._paused = -1, 0, float("-inf")
        self._waits: deque[tuple[float, float]] = deque()  # when, and how long, for lines that were slow
        self._where: dict[tuple[str, int], int] = {}  # a record -> the number of its file
        self._left: Counter[int] = Counter()  # records of a file that are in no store yet
        self._done: deque[Sequence[Record]] = deque()

    def _taken(self, path: str) -> None:
        try:
            fcntl.flock(self._owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._owner)
            raise OSError(None, "another service writes it", path) from None

    def add(self, record: Record) -> None:
        """Write a record down, unless it is there already. Raises nothing."""
        self.tidy()
        key = record.id, record.uid
        began = self._clock()
        if key in self._where or began < self._paused:
            return
        try:
            self._write(b"\n%s\n" % str(rows.of_record(record)[-1]).encode())  # after what a full disk cut off
            self._where[key] = self._number
            self._left[self._number] += 1
        except (OSError, ValueError) as error:
            self._pause(getattr(error, "strerror", "") or type(error).__name__)
        took = self._clock() - began
        if took > SLOW:
            self._waited(began, took)

    def kept(self, records: Sequence[Record]) -> None:
        """These are in the store, or never will be: from any thread."""
        self._done.append(records)

    def tidy(self) -> None:
        """Let go of what is in the store."""
        while self._done:
            for record in self._done.popleft():
                self._settled(record)

    def replay(self, store: Store) -> int:
        """Put what another process has left into the store, and return how many records that were. Raises `StoreError`.

        Where a user was purged since, nothing is: nobody is named here.
        """
        purges = store.purges()
        records = list(_records(self._file_of(file) for file in self._old)) if self._purges() == purges else []
        for start in range(0, len(records), BATCH):
            with contextlib.suppress(NotKept):
                store.keep_records(records[start : start + BATCH])
        while self._old:
            _remove(self._file_of(self._old.pop()))
        if self._purges() != purges:
            with contextlib.suppress(OSError):  # a full disk: what is left then is not replayed, which harms nobody
                os.pwrite(self._owner, b"%20d\n" % purges, 0)
        return len(records)

    def forget(self) -> None:
        """Hold nothing of anybody: somebody was purged."""
        for number in list(self._left):
            self._drop(number)

    def close(self) -> None:
        """Let go; what is in no store stays for the next one."""
        self.tidy()
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
            if not self._left[self._number]:
                _remove(self._file_of(self._number))
        os.close(self._owner)

    def _purges(self) -> int:
        """Return how often users had been purged when that was last looked at, -1 where that cannot be read."""
        counted = os.pread(self._owner, 32, 0).strip() or b"0"
        return int(counted) if counted.isdigit() else -1

    def _write(self, line: bytes) -> None:
        if self._file < 0 or self._size > MOST:
            self._next()
        self._size += len(line)
        if os.write(self._file, line) < len(line):
            raise OSError(None, "no space left on device")

    def _next(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file, self._number = -1, self._number + 1
        self._file = _opened(self._file_of(self._number), os.O_WRONLY | os.O_APPEND)
        self._size = 0
        if len(self._left) >= MOST_FILES:
            log().warning("submissions wait for the store, and have no second place any more")
            self._drop(min(self._left))

    def _drop(self, number: int) -> None:
        self._where = {key: where for key, where in self._where.items() if where != number}
        self._over(number)

    def _settled(self, record: Record) -> None:
        number = self._where.pop((record.id, record.uid), None)
        if number is None:
            return
        self._left[number] -= 1
        if not self._left[number]:
            self._over(number)

    def _over(self, number: int) -> None:
        """All of a file is in the store."""
        del self._left[number]
        if number != self._number:
            _remove(self._file_of(number))
        elif self._file >= 0:
            os.ftruncate(self._file, 0)
            self._size = 0

    def _waited(self, began: float, took: float) -> None:
        """Pause where that is a habit: a busy machine costs a moment now and then, and no record for it."""
        while self._waits and self._waits[0][0] <= began - PAUSE:
            self._waits.popleft()
        self._waits.append((began, took))
        waited = sum(seconds for _, seconds in self._waits)
        if waited > MOST_WAITED:
            self._waits.clear()
            self._pause("lines took %.1f s" % waited)

    def _pause(self, why: str) -> None:
        """Do without for a while."""
        self._paused = self._clock() + PAUSE
        log().warning("answers have no second place for a while", why=why, seconds=PAUSE)

    def _file_of(self, number: int) -> str:
        return "%s.%d" % (self._path, number)


def place_of(store: str, environ: Mapping[str, str]) -> str:
    """Return where the journal of a store belongs, "" for nowhere: beside it, where that is a local disk.

    Else where the service manager gave the service a folder, or the user a place for what runs.
    """
    beside = "" if store.startswith(SCHEMES) else store + ".journal"
    runtime = environ.get("XDG_RUNTIME_DIR", "")
    others = (environ.get("STATE_DIRECTORY", "").partition(":")[0], os.path.join(runtime, "maple") if runtime else "")
    places = (beside, *(os.path.join(other, "memory.journal") for other in others if other))
    return next((place for place in places if place and not on_network(place)), "")


def _opened(path: str, how: int) -> int:
    return os.open(path, how | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)


def _numbered(path: str) -> Iterator[int]:
    for name in glob.glob(glob.escape(path) + ".*"):
        number = name[len(path) + 1 :]
        if number.isascii() and number.isdigit():
            yield int(number)


def _records(paths: Iterable[str]) -> Iterator[Record]:
    """Yield what can be read: the last line may have been cut off."""
    for path in paths:
        with contextlib.suppress(OSError), open(path, "rb") as file:
            for line in file:
                made = rows.record((line, "", "")) if line.strip() else None
                if made is not None:
                    yield made


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)
