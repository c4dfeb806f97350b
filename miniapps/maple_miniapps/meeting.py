"""How the ranks of `dry` find each other: all come to rank 0 over TCP, and it tells each where the others are.

Rank 0 listens where torch's store would, MASTER_ADDR:MASTER_PORT, so a port that is taken is noticed. Under torchrun
its agent listens there; then rank 0 takes the first free one of a row of ports that follows from that port and the
run's id, and the others try the row until somebody there knows the same run. No file is shared, and no variable more.
"""

import contextlib
import hashlib
import json
import os
import resource
import selectors
import socket
import time
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple, cast

from maple_miniapps.machine import ranges
from maple_miniapps.ranks import Place

ROW = 16  # ports tried under torchrun
LINE = 4096  # bytes of one greeting
Tell = Callable[[str, Any], None]


class MeetingFailed(Exception):
    """The ranks did not come together; the message says who is missing, or what is in the way."""


class Peer(NamedTuple):
    """Where a rank listens for its neighbour; an empty address is the master's own host."""

    rank: int
    address: str
    port: int


def ports(place: Place, env: Mapping[str, str]) -> List[int]:
    """Return the ports on which rank 0 may be found, in the order of trying."""
    assert place.master_port is not None
    if env.get("TORCHELASTIC_USE_AGENT_STORE") != "True":
        return [place.master_port]
    digests = [hashlib.sha256(b"%s %d" % (token(place, env).encode(), n)).digest() for n in range(ROW)]
    return [20000 + int.from_bytes(digest[:4], "big") % 12000 for digest in digests]


def token(place: Place, env: Mapping[str, str]) -> str:
    """Return what all ranks of one run know and a stranger's do not; it is no secret."""
    return "%s:%s" % (env.get("TORCHELASTIC_RUN_ID", ""), place.master_port)


def meet(place: Place, env: Mapping[str, str], listens_on: int, timeout: float, tell: Tell) -> List[Peer]:
    """Return all ranks in order, this one among them, which listens on the port *listens_on*.

    *place* is settled and has a master. *tell* is given facts as they become known. Raises `MeetingFailed` within
    about *timeout* seconds, with the same words on every rank that came.
    """
    me = {
        "token": token(place, env), "rank": place.rank, "world": place.world_size, "host": socket.gethostname(),
        "pid": os.getpid(), "port": listens_on,
    }  # fmt: skip
    deadline = time.monotonic() + timeout
    if place.rank == 0:
        tell("master_is_here", is_here(str(place.master_addr)))
        return _Host(me, place, deadline, timeout, tell).gather(ports(place, env))
    return _visit(me, place, ports(place, env), deadline, timeout)


def is_here(address: str) -> Optional[bool]:
    """Return whether an address is one of this host's; None where it cannot be looked up."""
    try:
        addresses = socket.getaddrinfo(address, 0, type=socket.SOCK_STREAM)
    except OSError:
        return None
    for family, kind, protocol, _, where in addresses:
        with contextlib.suppress(OSError), socket.socket(family, kind, protocol) as trial:
            trial.bind(where)
            return True
    return False


def listener(port: int) -> socket.socket:
    """Return a socket that listens on every address of this host, IPv6 and IPv4, as torch's store does.

    Raises `OSError`, with EADDRINUSE where somebody else listens.
    """
    if socket.has_ipv6:
        with contextlib.suppress(OSError):
            return _listener(socket.AF_INET6, "::", port)
    return _listener(socket.AF_INET, "", port)


def _listener(family: int, address: str, port: int) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listener.bind((address, port))
        listener.listen(1024)
    except OSError:
        listener.close()
        raise
    return listener


class _Host:
    """Rank 0's side: takes greetings until all are there, then tells everyone the same."""

    def __init__(self, me: Dict[str, Any], place: Place, deadline: float, timeout: float, tell: Tell) -> None:
        self._me, self._place, self._deadline, self._timeout, self._tell = me, place, deadline, timeout, tell
        self._world = int(me["world"])
        self._came: Dict[int, Dict[str, Any]] = {0: dict(me, address="")}
        self._lines: Dict[socket.socket, bytes] = {}
        self._guests: List[socket.socket] = []
        self._heard = selectors.DefaultSelector()  # select() itself ends at 1024 descriptors

    def gather(self, row: List[int]) -> List[Peer]:
        _allow_many_descriptors()
        with self._open(row) as door, self._heard:
            self._heard.register(door, selectors.EVENT_READ)
            try:
                while len(self._came) < self._world:
                    self._wait(door)
            except MeetingFailed as error:
                self._answer({"failed": str(error)})
                raise
            finally:
                self._tell("arrived", ranges(sorted(self._came)))
            peers = [Peer(rank, peer["address"], peer["port"]) for rank, peer in sorted(self._came.items())]
            self._answer({"peers": peers})
            return peers

    def _open(self, row: List[int]) -> socket.socket:
        trouble = ""
        for port in row:
            try:
                door = listener(port)
            except OSError as error:
                trouble = str(error)
            else:
                self._tell("port", port)
                return door
        tried = "port %d" % row[0] if len(row) == 1 else "any of %d ports" % len(row)
        raise MeetingFailed("rank 0 cannot listen on %s of %s: %s" % (tried, self._me["host"], trouble))

    def _wait(self, door: socket.socket) -> None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise MeetingFailed(self._missing())
        for key, _ in self._heard.select(left):
            if key.fileobj is door:
                guest = door.accept()[0]
                guest.settimeout(5)
                self._lines[guest] = b""
                self._heard.register(guest, selectors.EVENT_READ)
            else:
                self._hear(cast(socket.socket, key.fileobj))

    def _missing(self) -> str:
        gone = ranges(n for n in range(self._world) if n not in self._came)
        self._tell("missing", gone)
        says = "only ranks %s of %d came within %g s, missing %s" % (
            ranges(sorted(self._came)), self._world, self._timeout, gone,
        )  # fmt: skip
        if is_here(str(self._place.master_addr)) is False:
            says += "; MASTER_ADDR %s is not rank 0's host %s" % (self._place.master_addr, self._me["host"])
        return says

    def _hear(self, guest: socket.socket) -> None:
        """Take a piece of a greeting. One that nobody of this run would send is dropped."""
        try:
            self._lines[guest] += guest.recv(LINE)
            text = self._lines[guest]
            if not text.endswith(b"\n") and 0 < len(text) < LINE:
                return
            greeting = json.loads(text.decode("utf-8"))
            if greeting["token"] != self._me["token"]:
                raise ValueError("of another run")
            seat = {"host": str(greeting["host"]), "pid": int(greeting["pid"]), "port": int(greeting["port"])}
            rank, world = int(greeting["rank"]), int(greeting["world"])
            guest.sendall(b'{"welcome": true}\n')
        except (OSError, ValueError, KeyError, TypeError):
            self._forget(guest)
            guest.close()
            return
        self._forget(guest)
        self._guests.append(guest)
        address = str(guest.getpeername()[0])
        seat["address"] = "" if _loopback(address) else address
        self._seat(rank, world, seat)

    def _forget(self, guest: socket.socket) -> None:
        self._heard.unregister(guest)
        del self._lines[guest]

    def _seat(self, rank: int, world: int, seat: Dict[str, Any]) -> None:
        if world != self._world:
            says = "rank %d on %s believes in a world of %d, rank 0 on %s in one of %d"
            raise MeetingFailed(says % (rank, seat["host"], world, self._me["host"], self._world))
        if rank in self._came:
            first = self._came[rank]
            says = "rank %d is claimed twice: by process %d on %s and by process %d on %s"
            raise MeetingFailed(says % (rank, first["pid"], first["host"], seat["pid"], seat["host"]))
        self._came[rank] = seat

    def _answer(self, answer: Dict[str, Any]) -> None:
        for guest in self._guests:
            with contextlib.suppress(OSError):
                guest.sendall(json.dumps(answer).encode("utf-8") + b"\n")
            guest.close()


def _visit(me: Dict[str, Any], place: Place, row: List[int], deadline: float, timeout: float) -> List[Peer]:
    """Come to rank 0 and wait for its word; go on trying until somebody there knows this run."""
    where, trouble = "%s:%d" % (place.master_addr, row[0]), "nothing tried"
    while time.monotonic() < deadline:
        for port in row:
            try:
                return _greet(me, str(place.master_addr), port, deadline)
            except (OSError, ValueError) as error:
                trouble = " ".join(str(error).split()) or type(error).__name__
        time.sleep(0.05)
    says = "rank %d on %s found no rank 0 at %s within %g s: %s"
    raise MeetingFailed(says % (me["rank"], me["host"], where, timeout, trouble))


def _greet(me: Dict[str, Any], address: str, port: int, deadline: float) -> List[Peer]:
    """Raises `MeetingFailed` on rank 0's word, `OSError` or `ValueError` where it was not rank 0 who answered."""
    soon = max(0.05, min(2.0, deadline - time.monotonic()))
    with socket.create_connection((address, port), timeout=soon) as connection:
        connection.sendall(json.dumps(me).encode("utf-8") + b"\n")
        lines = _lines(connection, deadline + 2)  # rank 0 began a little later, and has the last word
        if next(lines).get("welcome") is not True:
            raise ValueError("a stranger listens there")
        connection.settimeout(max(0.05, deadline - time.monotonic() + 2))
        answer = next(lines)
    if "failed" in answer:
        raise MeetingFailed(str(answer["failed"]))
    return [Peer(int(rank), str(address), int(port)) for rank, address, port in answer["peers"]]


def _lines(connection: socket.socket, deadline: float) -> Iterator[Dict[str, Any]]:
    """Yield the JSON objects that come in, one a line."""
    text = b""
    while time.monotonic() < deadline:
        while b"\n" in text:
            first, _, text = text.partition(b"\n")
            row = json.loads(first.decode("utf-8", "replace"))
            if not isinstance(row, dict):
                raise ValueError("a stranger listens there")
            yield row
        more = connection.recv(65536)
        if not more:
            raise ValueError("who listens there closed the connection")
        text += more
    raise ValueError("no answer")


def _allow_many_descriptors() -> None:
    """Rank 0 keeps one for each rank; the soft limit is often 1024."""
    with contextlib.suppress(OSError, ValueError):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _loopback(address: str) -> bool:
    plain: Tuple[str, ...] = ("127.", "::ffff:127.")
    return address.startswith(plain) or address == "::1"
