"""One seat of the lab: a process in its node's namespace that plays any rank. `python seat.py NUMBER ADDRESS...`

It joins every other seat by a connection each way, then reads a line of JSON for each run: its exchanges, each with its
members (as seats, in the order of their ring), bytes, kind and rounds. It answers with the seconds it took.
"""

from __future__ import annotations

import json
import select
import socket
import sys
import time

PORT = 40000
PART = 65536


def join(number: int, addresses: list[str]) -> tuple[dict[int, socket.socket], dict[int, socket.socket]]:
    """Return the connections on which a seat sends to each other one, and those on which it hears from them."""
    server = socket.create_server(("0.0.0.0", PORT + number), backlog=64)
    sending, hearing = {}, {}
    for other, address in enumerate(addresses):
        if other != number:
            sending[other] = _reached(address, PORT + other)
            sending[other].sendall(bytes([number]))
    for _ in range(len(addresses) - 1):
        connection, _ = server.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        hearing[connection.recv(1)[0]] = connection
    for connection in (*sending.values(), *hearing.values()):
        connection.setblocking(False)
    return sending, hearing


def _reached(address: str, port: int) -> socket.socket:
    for _ in range(600):
        try:
            connection = socket.create_connection((address, port), timeout=5)
        except OSError:
            time.sleep(0.05)
            continue
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection
    raise OSError(f"{address}:{port} does not answer")


class Seat:
    """The connections of a seat, and what it does over them."""

    def __init__(self, number: int, addresses: list[str]) -> None:
        self.number = number
        self.sending, self.hearing = join(number, addresses)
        self.bytes = bytes(PART)

    def run(self, exchanges: list[dict]) -> float:
        """Do all exchanges in their order; return the seconds."""
        begun = time.monotonic()
        for one in exchanges:
            for _ in range(one["rounds"]):
                getattr(self, one["kind"])(one["members"], one["size"])
        return time.monotonic() - begun

    def allreduce(self, members: list[int], size: int) -> None:
        """Go round the ring twice, less one step each time, a part of the bytes a step."""
        count, at = len(members), members.index(self.number)
        right, left = members[(at + 1) % count], members[at - 1]
        for _ in range(2 * (count - 1)):
            self._move({right: size // count}, {left: size // count})

    def chain(self, members: list[int], size: int) -> None:
        """Exchange all bytes with both neighbours at once."""
        at = members.index(self.number)
        near = {members[other]: size for other in (at - 1, at + 1) if 0 <= other < len(members)}
        self._move(dict(near), dict(near))

    def alltoall(self, members: list[int], size: int) -> None:
        """Exchange a part of the bytes with every other one."""
        near = {other: size // len(members) for other in members if other != self.number}
        self._move(dict(near), dict(near))

    def _move(self, out: dict[int, int], into: dict[int, int]) -> None:
        sockets = {self.sending[other]: other for other in out}
        heard = {self.hearing[other]: other for other in into}
        while out or into:
            readable, writable, _ = select.select([one for one in heard if heard[one] in into],
                                                  [one for one in sockets if sockets[one] in out], [])  # fmt: skip
            for one in readable:
                other = heard[one]
                into[other] -= len(one.recv(min(into[other], PART)))
                if into[other] <= 0:
                    del into[other]
            for one in writable:
                other = sockets[one]
                out[other] -= one.send(self.bytes[: min(out[other], PART)])
                if out[other] <= 0:
                    del out[other]


if __name__ == "__main__":
    seat = Seat(int(sys.argv[1]), sys.argv[2:])
    print("ready", flush=True)
    for line in sys.stdin:
        print(seat.run(json.loads(line)), flush=True)
