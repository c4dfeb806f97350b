"""Many callers at once, in a process of their own: `python -m tests.bench.calling`, what to do as JSON on fd 0.

Each caller connects, sends a frame, reads the reply to its end and hangs up, as the front does. The answer is one line
of JSON on fd 1.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import select
import socket
import sys
import time
from collections import Counter, deque
from collections.abc import Iterator
from typing import NamedTuple

NONCE = slice(16, 32)  # where a request has it: behind the frame's head and the field's
WAIT = 30.0  # seconds without any answer, after which there will be none


class Course(NamedTuple):
    """*frames*: files with one request each, asked in turn; *uids* beside them: as whom (root only), -1 as oneself.

    *callers* at once, *number* of submissions. *rate*: submissions a second that are begun, 0: each caller begins the
    next when it has its answer.
    """

    path: str
    frames: tuple[str, ...]
    uids: tuple[int, ...]
    callers: int
    number: int
    rate: float = 0.0


class Heard(NamedTuple):
    """*took*: seconds of each answer, from the connection to the end of the reply. *replies*: how many by verdict."""

    seconds: float
    took: list[float]
    replies: dict[str, int]


class Caller:
    """One connection and what came over it so far."""

    def __init__(self, path: str, frame: bytes, begun: float) -> None:
        self.begun, self.heard, self.wanted = begun, b"", 8
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(path)
        self.socket.setblocking(False)
        self.socket.send(frame)  # a request of ours fits into the kernel's buffer

    def is_answered(self) -> bool:
        """Read what is there; return whether that is all. Raises `ConnectionError` where there will be no answer."""
        part = self.socket.recv(1 << 16)
        if not part:
            raise ConnectionError
        self.heard += part
        if self.wanted == 8 and len(self.heard) >= 8:
            self.wanted += int.from_bytes(self.heard[4:8], "big")
        return len(self.heard) >= self.wanted


def run(course: Course) -> Heard:
    """Make the calls and return how they went."""
    frames = [_read(path) for path in course.frames]
    ready, open_, waiting = select.epoll(), dict[int, Caller](), deque(_times(course))
    took: list[float] = []
    replies: Counter[str] = Counter()
    asked, begun = 0, time.perf_counter()
    while waiting or open_:
        now = time.perf_counter() - begun
        while waiting and len(open_) < course.callers and waiting[0] <= now:
            due = waiting.popleft()
            caller = _called(course, frames, asked, begun + due if course.rate else time.perf_counter())
            asked += 1
            open_[caller.socket.fileno()] = caller
            ready.register(caller.socket.fileno(), select.EPOLLIN)
        pause = max(0.0, waiting[0] - now) if waiting and len(open_) < course.callers else WAIT
        for fd, _ in ready.poll(pause) or _nothing(pause):
            said = _answer(open_[fd])
            if said:
                took.append(time.perf_counter() - open_[fd].begun)
                replies[said] += 1
                ready.unregister(fd)
                open_.pop(fd).socket.close()
    return Heard(time.perf_counter() - begun, took, dict(replies))


def _called(course: Course, frames: list[bytes], asked: int, begun: float) -> Caller:
    place = asked % len(frames)
    with _as(course.uids[place]):
        return Caller(course.path, _with_nonce(frames[place]), begun)


def _answer(caller: Caller) -> str:
    """Return the verdict of a whole reply, "none" where the other side hung up, "" while it is not whole."""
    try:
        return _verdict(caller.heard) if caller.is_answered() else ""
    except BlockingIOError:
        return ""
    except OSError:
        return "none"


def _verdict(reply: bytes) -> str:
    """The field of the verdict lies behind nonce and hash (frames.py); an echo has another kind of frame."""
    return str(reply[8 + 24 + 40 + 8]) if reply[:4] == b"MPR1" else "echo"


def _with_nonce(frame: bytes) -> bytes:
    return frame[: NONCE.start] + os.urandom(16) + frame[NONCE.stop :]


def _times(course: Course) -> Iterator[float]:
    """When each call begins, in seconds; by chance, as many people together come."""
    at, dice = 0.0, random.Random(course.number)
    for _ in range(course.number):
        yield at
        at += dice.expovariate(course.rate) if course.rate else 0.0


def _nothing(pause: float) -> list[tuple[int, int]]:
    if pause >= WAIT:
        raise SystemExit("no answer for %d seconds" % WAIT)
    return []


@contextlib.contextmanager
def _as(uid: int) -> Iterator[None]:
    """Be somebody else for a moment: the kernel notes who connects."""
    if uid >= 0:
        os.seteuid(uid)
    try:
        yield
    finally:
        if uid >= 0:
            os.seteuid(0)


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


if __name__ == "__main__":
    told = json.load(sys.stdin)
    print(json.dumps(run(Course(**told))._asdict()))
