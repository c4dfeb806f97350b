"""Who is at the other end of a socket: the kernel says, nobody else."""

from __future__ import annotations

import os
import socket
import struct
from functools import lru_cache
from typing import NamedTuple

SO_PEERGROUPS = 59  # since Linux 4.13; the socket module has no name for it
_OVERFLOW = "/proc/sys/kernel/overflowuid"
_MOST_AT_ONCE = 1024  # bytes that Python's getsockopt takes, which are 256 groups


class Peer(NamedTuple):
    """The process that connected. *started*: clock ticks since boot, which tells it from a later one of its pid."""

    pid: int
    uid: int
    gids: frozenset[int]
    started: int


class Stranger(Exception):
    """Nobody whom the kernel can name in our user namespace."""


def peer_of(connection: socket.socket) -> Peer:
    """Return who connected. Raises `Stranger` for the overflow uid, which stands for everybody who has no uid here."""
    pid, uid, gid = _credentials(connection)
    return Peer(pid, uid, frozenset((gid, *_groups(connection, pid))), started(pid))


def uid_of(connection: socket.socket) -> int:
    """Return who connected, and nothing more of him. Raises `Stranger`."""
    return _credentials(connection)[1]


def _credentials(connection: socket.socket) -> tuple[int, int, int]:
    pid, uid, gid = struct.unpack("3I", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    if uid in (overflow_uid(), 0xFFFFFFFF):
        raise Stranger("uid %d" % uid)
    return pid, uid, gid


@lru_cache(1)
def overflow_uid() -> int:
    """Return the uid that the kernel shows for users of other namespaces."""
    try:
        with open(_OVERFLOW, "rb") as file:
            return int(file.read())
    except (OSError, ValueError):
        return 65534


def _groups(connection: socket.socket, pid: int) -> tuple[int, ...]:
    """Return the supplementary groups that the peer had when it connected; none where the kernel does not say."""
    try:
        data = connection.getsockopt(socket.SOL_SOCKET, SO_PEERGROUPS, _MOST_AT_ONCE)
    except OSError:  # there are more
        return _groups_now(pid)
    return struct.unpack("%dI" % (len(data) // 4), data)


def _groups_now(pid: int) -> tuple[int, ...]:
    """Return the supplementary groups of a process (proc(5)); only a privileged one can have had others before."""
    try:
        with open("/proc/%d/status" % pid, "rb") as file:
            line = next(line for line in file if line.startswith(b"Groups:"))
        return tuple(map(int, line.split()[1:]))
    except (OSError, ValueError, StopIteration):
        return ()


def started(pid: int) -> int:
    """Return when a process began, in clock ticks since boot (proc(5), field 22 of stat); 0 where it is gone."""
    try:
        with open("/proc/%d/stat" % pid, "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return 0


def same_process(pid: int, began: int) -> bool:
    """Return whether that process is still there."""
    return began != 0 and started(pid) == began and os.path.exists("/proc/%d" % pid)
