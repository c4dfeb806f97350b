"""The processes that decide, and who is served next: users take turns, however many submissions each has waiting."""

from __future__ import annotations

import asyncio
import contextlib
import os
import struct
import sys
from collections import OrderedDict, deque
from typing import NamedTuple

import maple_submit_filter

from .limits import Busy

_HEAD = struct.Struct(">BI")
_WORKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "worker.py")
_LIBRARY = os.path.dirname(os.path.dirname(os.path.abspath(maple_submit_filter.__file__)))
MOST_WAITING = 64  # submissions of one user; the next ones go to their own helper
PAUSE = 1.0  # seconds before a worker that died is replaced by a new one


class Decided(NamedTuple):
    """What a worker says. *learnt* b"": it failed. *wants_files*: it would have read some, so this is no decision."""

    learnt: bytes
    wants_files: bool


class Workers:
    """So many processes, each with one submission at a time."""

    def __init__(self, count: int, snapshot: str, seconds: float = 30.0, program: tuple[str, ...] = ()) -> None:
        self._count, self._seconds = count, seconds
        self._program = program or ("-IS", _WORKER, snapshot, _LIBRARY)
        self._waiting: OrderedDict[int, deque[tuple[bytes, asyncio.Future[Decided]]]] = OrderedDict()
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
        for line in self._waiting.values():
            for _, answer in line:
                answer.cancel()
        self._waiting.clear()

    def decide(self, uid: int, frame: bytes) -> asyncio.Future[Decided]:
        """Return what will be decided about a request frame of *uid*. Raises `Busy` where too much waits already."""
        line = self._waiting.setdefault(uid, deque())
        if len(line) >= MOST_WAITING:
            raise Busy("waiting")
        answer: asyncio.Future[Decided] = asyncio.get_running_loop().create_future()
        line.append((frame, answer))
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
        if line:
            self._waiting.move_to_end(uid)
        else:
            del self._waiting[uid]
        return job

    async def _serve(self) -> None:
        """Keep one process, and give it one submission after the other."""
        while True:
            process = await asyncio.create_subprocess_exec(
                sys.executable, *self._program,
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
                env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}, cwd="/",
            )  # fmt: skip
            try:
                while await self._one(process):
                    pass
            finally:
                await _end(process)
            await asyncio.sleep(PAUSE)

    async def _one(self, process: asyncio.subprocess.Process) -> bool:
        """Have one submission decided; return whether the process can take another."""
        frame, answer = await self._next()
        try:
            decided = await asyncio.wait_for(_exchange(process, frame), self._seconds)
        except (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError):
            _settle(answer, Decided(b"", False))
            return False
        except asyncio.CancelledError:
            answer.cancel()
            raise
        _settle(answer, decided)
        return True


def _settle(answer: asyncio.Future[Decided], decided: Decided) -> None:
    if not answer.done():
        answer.set_result(decided)


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
