"""A TCP proxy that lets so many bytes a second through: a slow link where there is only one machine."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from pathlib import Path
from typing import Iterator

PIECE = 1 << 16  # bytes
LATE = 0.05  # seconds of sleeping too long, on a busy machine, that are made up for


@contextlib.contextmanager
def slow_wire(target: Path, rate: float) -> Iterator[int]:
    """Listen on the port that is returned, for one connection, to be passed on to the port that stands in *target*."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        door.settimeout(60)
        one = threading.Thread(target=_serve, args=(door, target, rate))
        one.start()
        try:
            yield door.getsockname()[1]
        finally:
            with contextlib.suppress(OSError):
                door.shutdown(socket.SHUT_RDWR)  # ends a wait in accept
            one.join()


def _serve(door: socket.socket, target: Path, rate: float) -> None:
    with contextlib.suppress(OSError):
        near = door.accept()[0]
        with near, socket.create_connection(("127.0.0.1", int(target.read_text()))) as far:
            near.settimeout(60)
            far.settimeout(60)
            back = threading.Thread(target=_pass, args=(far, near, 0.0))
            back.start()
            _pass(near, far, 1 / rate)
            back.join()


def _pass(source: socket.socket, sink: socket.socket, seconds_a_byte: float) -> None:
    with contextlib.suppress(OSError):
        due = time.monotonic()
        while piece := source.recv(PIECE):
            now = time.monotonic()
            due = max(due, now - LATE) + len(piece) * seconds_a_byte
            time.sleep(max(0.0, due - now))
            sink.sendall(piece)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
