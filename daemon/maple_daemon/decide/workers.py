"""The processes that decide, and who is served next: users take turns, however many submissions each has waiting."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import struct
import sys
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any, NamedTuple

import maple_submit_filter

from ..base.settings import Busy
from ..base.telemetry import log

_HEAD = struct.Struct(">BI")
_WORKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "worker.py")
_LIBRARY = os.path.dirname(os.path.dirname(os.path.abspath(maple_submit_filter.__file__)))
MOST_WAITING = 64  # submissions of one user; the next ones go to their own helper
MOST_BYTES = 16 << 20  # that one user's submissions take while they wait, unless there is but one
MOST_BYTES_OF_ALL = 128 << 20
SECONDS = 60.0  # by the clock that a submission may take; what computes for long ends itself sooner
START_SECONDS = 30.0  # until a process has read what it needs: a node that is short of everything takes long
PAUSE = 1.0  # seconds before a worker that died is replaced by a new one


class Decided(NamedTuple):
    """What a worker says. *learnt* b"": it failed. *wants_files*: it would have read some, so this is no decision.

    *too_long*: it was ended because it thought for too long, and would be again. *lost*: no process was there to the
    end, which says nothing about the submission.
    """

    learnt: bytes
    wants_files: bool
    too_long: bool = False
    lost: bool = False


class NotStarted(Exception):
    """A process ended before it could take anything, or could not be made. One line that says how."""


class Workers:
    """So many processes, each with one submission at a time. *says*: what they do, for the log.

    *failed* hears of each try to start one that came to nothing.
    """

    def __init__(
        self, count: int, snapshot: str, seconds: float = SECONDS, program: tuple[str, ...] = (),
        says: str = "the process that decides", failed: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        self._count, self._seconds = count, seconds
        self._starting, self._running = Starting(says, log, failed), 0
        self._program = program or ("-IS", _WORKER, snapshot, _LIBRARY)
        self._waiting: OrderedDict[int, deque[tuple[bytes, asyncio.Future[Decided]]]] = OrderedDict()
        self._held = 0  # bytes that wait
        self._more = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Start the processes."""
        self._tasks = [asyncio.create_task(self._serve()) for _ in range(self._count)]

    async def stop(self) -> None:
        """End the processes; whoever waits is told that nothing was decided."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for answer in self._let_go():
            answer.cancel()

    def _give_up(self) -> None:
        """Tell whoever waits that nothing is decided: nobody knows when there will be a process."""
        for answer in self._let_go():
            _settle(answer, Decided(b"", False, lost=True))

    def _let_go(self) -> list[asyncio.Future[Decided]]:
        waiting = [answer for line in self._waiting.values() for _, answer in line]
        self._waiting.clear()
        self._held = 0
        return waiting

    def decide(self, uid: int, frame: bytes) -> asyncio.Future[Decided]:
        """Return what will be decided about a request frame of *uid*. Raises `Busy` where too much waits already.

        Also where no process is there, nor could be started: whoever asks need not wait to hear it.
        """
        if self._starting.fails and not self._running:
            raise Busy("no process")
        line = self._waiting.get(uid, deque())
        mine = sum(len(frames) for frames, _ in line)
        too_much = line and (len(line) >= MOST_WAITING or mine + len(frame) > MOST_BYTES)
        if too_much or self._held + len(frame) > MOST_BYTES_OF_ALL:
            raise Busy("waiting")
        answer: asyncio.Future[Decided] = asyncio.get_running_loop().create_future()
        line.append((frame, answer))
        self._waiting[uid] = line
        self._held += len(frame)
        self._more.set()
        return answer

    @property
    def waiting(self) -> int:
        """How many submissions wait for a worker."""
        return sum(len(line) for line in self._waiting.values())

    async def _next(self) -> tuple[bytes, asyncio.Future[Decided]]:
        """Return the oldest submission of the user whose turn it is."""
        while not self._waiting:
            self._more.clear()
            await self._more.wait()
        uid, line = next(iter(self._waiting.items()))
        job = line.popleft()
        self._held -= len(job[0])
        if line:
            self._waiting.move_to_end(uid)
        else:
            del self._waiting[uid]
        return job

    async def _serve(self) -> None:
        """Keep one process, and give it one submission after the other."""
        while True:
            try:
                process = await self._started()
            except NotStarted as error:
                pause = self._starting.failure(str(error))
                if not self._running:
                    self._give_up()
                await asyncio.sleep(pause)
                continue
            self._starting.success()
            self._running += 1
            try:
                while await self._one(process):
                    pass
            finally:
                self._running -= 1
                await _end(process)
            await asyncio.sleep(PAUSE)

    async def _started(self) -> asyncio.subprocess.Process:
        """Return a process that has said that it is ready. Raises `NotStarted`."""
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable, *self._program,
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
                env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}, cwd="/",
            )  # fmt: skip
        except OSError as error:  # no descriptor, process or memory is left; another time there may be
            raise NotStarted(error.strerror or type(error).__name__) from error
        try:
            await _ready(process)
        except BaseException:
            await _end(process)
            raise
        return process

    async def _one(self, process: asyncio.subprocess.Process) -> bool:
        """Have one submission decided; return whether the process can take another."""
        frame, answer = await self._next()
        try:
            async with asyncio.timeout(self._seconds):  # `wait_for` of Python 3.11 may lose that it was cancelled
                decided = await _exchange(process, frame)
        except (OSError, asyncio.IncompleteReadError) as error:  # a `TimeoutError` is an `OSError`
            await _end(process)
            computed = process.returncode == -signal.SIGPROF
            _settle(answer, Decided(b"", False, computed or isinstance(error, TimeoutError), lost=not computed))
            return False
        except asyncio.CancelledError:
            answer.cancel()
            raise
        _settle(answer, decided)
        return True


def _settle(answer: asyncio.Future[Decided], decided: Decided) -> None:
    if not answer.done():
        answer.set_result(decided)


async def _ready(process: asyncio.subprocess.Process) -> None:
    """Wait until a process says, by the head of an empty answer, that it takes submissions. Raises `NotStarted`."""
    assert process.stdout is not None
    try:
        async with asyncio.timeout(START_SECONDS):
            await process.stdout.readexactly(_HEAD.size)
    except TimeoutError:
        raise NotStarted("not ready after %d s" % START_SECONDS) from None
    except asyncio.IncompleteReadError:
        raise NotStarted(_ended(await process.wait())) from None


def _ended(status: int) -> str:
    """Return in words how a process ended."""
    if status >= 0:
        return "it ended at once with status %d" % status
    return "it was ended at once by signal %d" % -status


async def _exchange(process: asyncio.subprocess.Process, frame: bytes) -> Decided:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(frame)
    await process.stdin.drain()
    wants, size = _HEAD.unpack(await process.stdout.readexactly(_HEAD.size))
    return Decided(await process.stdout.readexactly(size), bool(wants))


async def _end(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    await process.wait()


# How often it is tried to start a process that does not start, and what is said of it: once, not at each try.

FIRST, LONGEST = 1.0, 60.0  # seconds between two tries, twice as long after each


class Starting:
    """Of processes of one kind. *says*: what they do. *failed* hears of each try that came to nothing."""

    def __init__(self, says: str, log: Callable[[], Any], failed: Callable[[], None]) -> None:
        self._says, self._log, self._failed = says, log, failed
        self._in_a_row, self._said = 0, ""

    @property
    def fails(self) -> bool:
        """Whether the last try came to nothing."""
        return self._in_a_row > 0

    def failure(self, why: str) -> float:
        """Return how many seconds to wait. Said is what has not been said since it last went well."""
        self._failed()
        self._in_a_row += 1
        if why != self._said:
            self._said = why
            self._log().error("cannot be started, tried again less and less often", what=self._says, why=why)
        return float(min(LONGEST, FIRST * 2 ** min(self._in_a_row - 1, 10)))

    def success(self) -> None:
        """One has started. Where none could be before, that is said, and how often it was tried."""
        if self._in_a_row:
            self._log().warning("starts again", what=self._says, failed=self._in_a_row)
        self._in_a_row, self._said = 0, ""
