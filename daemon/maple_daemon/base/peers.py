"""The service's listening socket, what systemd is told, and who is at the other end of a connection."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import stat
import struct
from collections.abc import Mapping
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


_FIRST = 3  # the first descriptor that systemd passes (sd_listen_fds(3))
MODE = 0o666  # everybody may ask; who asks is told by the kernel


class NoSocket(Exception):
    """There is nowhere to listen; one line why."""


def activated(environ: Mapping[str, str], pid: int) -> list[socket.socket]:
    """Return the sockets that systemd passes, [] where it passes none (sd_listen_fds(3))."""
    if environ.get("LISTEN_PID") != str(pid) or not environ.get("LISTEN_FDS", "").isdigit():
        return []
    sockets = []
    for fd in range(_FIRST, _FIRST + min(16, int(environ["LISTEN_FDS"]))):
        os.set_inheritable(fd, False)
        sockets.append(socket.socket(fileno=fd))
    return sockets


def bound(path: str, mode: int = MODE) -> socket.socket:
    """Return a socket listening at *path*; a stale one there is removed. Raises `NoSocket`.

    A lock beside it, held while we live, keeps two daemons apart; what another program serves stays as it is.
    """
    _lock(path + ".lock")
    if len(os.fsencode(path)) > 107:
        raise NoSocket("%s: longer than a socket's path may be (107 bytes)" % path)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        put_away(path)
        made.bind(path)
        os.chmod(path, mode)
        made.listen(1024)
    except OSError as error:
        made.close()
        raise NoSocket("%s: %s" % (path, (error.strerror or str(error)).lower())) from None
    made.setblocking(False)
    return made


def put_away(path: str) -> None:
    """Remove a socket that nobody serves. Raises `OSError` where something else lies there, or somebody listens."""
    try:
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            raise FileExistsError(17, "is there and no socket; name another path", path)
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC) as asked:
        asked.setblocking(False)  # one whose queue is full is served, too
        try:
            asked.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
            return
        except BlockingIOError:
            pass
    raise FileExistsError(17, "another program listens there; stop it, or name another path", path)


def on_loopback(host: str, port: int) -> socket.socket:
    """Return a socket listening on a port of 127.0.0.1 or ::1. Raises `OSError`."""
    made = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind((host, port))
    made.listen(64)
    made.setblocking(False)
    return made


def _lock(path: str) -> None:
    """Take the lock for as long as this process lives. Raises `NoSocket` where another daemon has it."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise NoSocket("%s: another daemon is listening; stop it first" % path.removesuffix(".lock")) from None
    except OSError as error:
        raise NoSocket("%s: %s" % (path, (error.strerror or str(error)).lower())) from None


def notify(state: str, environ: Mapping[str, str] = os.environ) -> None:
    """Send "READY=1", "RELOADING=1", "STOPPING=1", "WATCHDOG=1" or "STATUS=…"."""
    path = environ.get("NOTIFY_SOCKET", "")
    if not path or path[0] not in "/@":
        return
    address = "\0" + path[1:] if path[0] == "@" else path
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as to:
        to.connect(address)
        to.send(state.encode())
