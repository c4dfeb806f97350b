"""The listening socket, systemd's or our own where nobody hands one over; and what systemd is told of the service."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import stat
from collections.abc import Mapping

_FIRST = 3  # the first descriptor that systemd passes (sd_listen_fds(3))
MODE = 0o666  # everybody may ask; who asks is told by the kernel


class NoSocket(Exception):
    """There is nowhere to listen; one line why."""


def activated(environ: Mapping[str, str], pid: int) -> list[socket.socket]:
    """Return the sockets that systemd passes, [] where it passes none (sd_listen_fds(3))."""
    if environ.get("LISTEN_PID") != str(pid) or not environ.get("LISTEN_FDS", "").isdigit():
        return []
    found = []
    for fd in range(_FIRST, _FIRST + min(16, int(environ["LISTEN_FDS"]))):
        os.set_inheritable(fd, False)
        found.append(socket.socket(fileno=fd))
    return found


def bound(path: str, mode: int = MODE) -> socket.socket:
    """Return a socket listening at *path*; a stale one there is removed. Raises `NoSocket`.

    A lock beside it, held while we live, tells a stale socket from that of another daemon.
    """
    _lock(path + ".lock")
    if len(os.fsencode(path)) > 107:
        raise NoSocket("%s: longer than a socket's path may be (107 bytes)" % path)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        with contextlib.suppress(FileNotFoundError):
            if not stat.S_ISSOCK(os.lstat(path).st_mode):
                raise NoSocket("%s: is there and no socket; name another path" % path)
            os.unlink(path)
        made.bind(path)
        os.chmod(path, mode)
        made.listen(1024)
    except OSError as error:
        made.close()
        raise NoSocket("%s: %s" % (path, (error.strerror or str(error)).lower())) from None
    except NoSocket:
        made.close()
        raise
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
