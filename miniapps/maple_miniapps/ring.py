"""The two collectives of `dry` on a ring of TCP connections: every rank sends to the next, so every link is used.

Vectors are whole numbers in lanes of eight bytes. A vector is added as one big number: no lane overflows, so no carry
crosses from one lane into the next, and plain Python does it at the speed of C.
"""

import contextlib
import select
import socket
import time
from typing import List, Tuple

from maple_miniapps import links
from maple_miniapps.meeting import MeetingFailed, Peer

LANE = 8  # bytes
_PIECE = 1 << 18  # bytes sent or received at a time


class Ring:
    """This rank's two connections; a world of one has none."""

    def __init__(self, peers: List[Peer], rank: int, door: socket.socket, master: str, timeout: float) -> None:
        """Connect to the next rank and let the one before in. Raises `MeetingFailed` where a link does not come up."""
        self._size, self._rank, self._timeout = len(peers), rank, timeout
        self._next: socket.socket
        self._before: socket.socket
        if self._size > 1:
            follower = peers[(rank + 1) % self._size]
            self._next = self._reach(follower, follower.address or master)
            self._before = self._let_in(door, (rank - 1) % self._size)
            for wire in (self._next, self._before):
                wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                wire.setblocking(False)

    def _reach(self, peer: Peer, address: str) -> socket.socket:
        deadline = time.monotonic() + self._timeout
        try:
            wire = socket.create_connection((address, peer.port), timeout=self._timeout)
            wire.settimeout(max(0.05, deadline - time.monotonic()))
            wire.sendall(self._rank.to_bytes(LANE, "big"))
            return wire
        except OSError as error:
            says = "rank %d cannot reach rank %d at %s:%d: %s" % (self._rank, peer.rank, address, peer.port, error)
            raise MeetingFailed(says) from error

    def _let_in(self, door: socket.socket, expected: int) -> socket.socket:
        """Strangers that come to the door are turned away."""
        deadline = time.monotonic() + self._timeout
        while time.monotonic() < deadline:
            door.settimeout(max(0.05, deadline - time.monotonic()))
            with contextlib.suppress(OSError):
                wire = door.accept()[0]
                wire.settimeout(2)
                if wire.recv(LANE, socket.MSG_WAITALL) == expected.to_bytes(LANE, "big"):
                    return wire
                wire.close()
        raise MeetingFailed("rank %d did not reach rank %d within %g s" % (expected, self._rank, self._timeout))

    def all_gather(self, mine: bytes) -> List[bytes]:
        """Return every rank's block in the order of ranks; all blocks have one length."""
        blocks = [mine] * self._size
        for step in range(self._size - 1):
            received = self._exchange(blocks[(self._rank - step) % self._size])
            blocks[(self._rank - step - 1) % self._size] = received
        return blocks

    def all_reduce(self, mine: bytes) -> bytes:
        """Return the sum over ranks, lane by lane; *mine* has a length that LANE times the world size divides."""
        length = len(mine) // self._size
        parts = [mine[n * length : (n + 1) * length] for n in range(self._size)]
        for step in range(self._size - 1):  # afterwards this rank has the whole sum of part rank + 1
            received = self._exchange(parts[(self._rank - step) % self._size])
            place = (self._rank - step - 1) % self._size
            total = int.from_bytes(received, "big") + int.from_bytes(parts[place], "big")
            parts[place] = total.to_bytes(length, "big")
        whole = self.all_gather(parts[(self._rank + 1) % self._size])
        return b"".join(whole[(n - 1) % self._size] for n in range(self._size))

    def wires(self, most: int) -> Tuple["Wire", "Wire"]:
        """Return the ways to the next rank and to the one before, for up to *most* bytes at a time."""
        assert self._size > 1
        room = memoryview(bytearray(most))
        sides = ((self._next, "after"), (self._before, "before"))
        onward, back = (Wire(line, room, self._timeout, (self._rank, side)) for line, side in sides)
        return onward, back

    def _exchange(self, out: bytes) -> bytes:
        """Send to the next and receive as much from the one before, at the same time: all send at once."""
        unsent, received, deadline = memoryview(out), bytearray(), time.monotonic() + self._timeout
        while unsent or len(received) < len(out):
            left = deadline - time.monotonic()
            reading = [self._before] if len(received) < len(out) else []
            readable, writable, _ = select.select(reading, [self._next] if unsent else [], [], max(0.0, left))
            if not readable and not writable:
                raise MeetingFailed("rank %d heard nothing from its neighbours for %g s" % (self._rank, self._timeout))
            if writable:
                unsent = unsent[self._next.send(unsent[:_PIECE]) :]
            if readable:
                piece = self._before.recv(min(_PIECE, len(out) - len(received)))
                if not piece:
                    raise MeetingFailed("rank %d was left by the rank before it" % self._rank)
                received += piece
        return bytes(received)


class Wire(links.Wire):
    """One of the ring's connections, used in both directions; *room* is where data come from and go to."""

    def __init__(self, line: socket.socket, room: memoryview, timeout: float, ends: Tuple[int, str]) -> None:
        self._line, self._room, self._timeout, self._ends = line, room, timeout, ends

    def say(self, words: bytes) -> None:
        self._send(memoryview(words.ljust(links.WORDS, b"\0")))

    def hear(self) -> bytes:
        words = bytearray(links.WORDS)
        self._receive(memoryview(words))
        return bytes(words).rstrip(b"\0")

    def push(self, nbytes: int) -> None:
        self._send(self._room[:nbytes])

    def pull(self, nbytes: int) -> None:
        self._receive(self._room[:nbytes])

    def _send(self, unsent: memoryview) -> None:
        while unsent:
            self._wait(select.select([], [self._line], [], self._timeout)[1])
            unsent = unsent[self._line.send(unsent[:_PIECE]) :]

    def _receive(self, missing: memoryview) -> None:
        while missing:
            self._wait(select.select([self._line], [], [], self._timeout)[0])
            came = self._line.recv_into(missing[:_PIECE])
            if not came:
                raise MeetingFailed("rank %d was left by the rank %s it" % self._ends)
            missing = missing[came:]

    def _wait(self, ready: List[socket.socket]) -> None:
        if not ready:
            says = "rank %d heard nothing from the rank %s it for %g s"
            raise MeetingFailed(says % (*self._ends, self._timeout))
