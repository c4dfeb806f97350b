"""Who is at the other end of a socket: the kernel says, nobody else."""

from __future__ import annotations

import os
import socket
import struct
from typing import NamedTuple

SO_PEERGROUPS = 59  # since Linux 4.13; the socket module has no name for it
_OVERFLOW = "/proc/sys/kernel/overflowuid"
MOST_GROUPS = 65536  # NGROUPS_MAX of Linux


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
    pid, uid, gid = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    uid &= 0xFFFFFFFF
    if uid == overflow_uid() or uid == 0xFFFFFFFF:
        raise Stranger("uid %d" % uid)
    return Peer(pid, uid, frozenset((gid & 0xFFFFFFFF, *_groups(connection))), started(pid))


def overflow_uid() -> int:
    """Return the uid that the kernel shows for users of other namespaces."""
    try:
        with open(_OVERFLOW, "rb") as file:
            return int(file.read())
    except (OSError, ValueError):
        return 65534


def _groups(connection: socket.socket) -> tuple[int, ...]:
    """Return the supplementary groups that the peer had when it connected; none where the kernel does not say."""
    try:
        data = connection.getsockopt(socket.SOL_SOCKET, SO_PEERGROUPS, 4 * MOST_GROUPS)
    except OSError:
        return ()
    return struct.unpack("%dI" % (len(data) // 4), data)


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
