"""Daemons out of a process that has imported already what each of them imports: it forks one whenever it is asked to.

A daemon's start is mostly imports, and tests start hundreds. The process that forks ends with the one that asks,
however that ends, and kills its daemons first.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
from typing import NoReturn, Optional

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_FORKING = "from tests.daemon.ready import serve; serve()"


class Forked:
    """A daemon that was forked, as `subprocess.Popen` shows a process."""

    def __init__(self, told: socket.socket) -> None:
        self._told = told  # its process id, and when it has ended its exit status
        self.returncode: Optional[int] = None
        self.pid = int(told.recv(16))

    def poll(self) -> Optional[int]:
        """Its exit status, None while it runs."""
        return self._over(0)

    def wait(self, timeout: Optional[float] = None) -> int:
        """Its exit status, as soon as it has ended. Raises `subprocess.TimeoutExpired`."""
        status = self._over(timeout)
        if status is None:
            raise subprocess.TimeoutExpired("maple-daemon", timeout or 0)
        return status

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it is known to have ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def _over(self, seconds: Optional[float]) -> Optional[int]:
        if self.returncode is None and select.select([self._told], [], [], seconds)[0]:
            self.returncode = int(self._told.recv(16) or -signal.SIGKILL)
            self._told.close()
        return self.returncode


class Ready:
    """The process that forks."""

    def __init__(self) -> None:
        self._way, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # A session of its own: what ends us by our group, or from the terminal, leaves it the time to end its daemons.
        self._process = subprocess.Popen(
            [sys.executable, "-c", _FORKING], stdin=theirs, cwd=ROOT, start_new_session=True
        )
        theirs.close()

    def daemon(self, words: list[str], log: int) -> Forked:
        """Start `maple-daemon` in this process's folder and environment; it writes to *log*."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        mask = os.umask(0o22)
        os.umask(mask)
        told = {"words": words, "cwd": os.getcwd(), "umask": mask, "environment": dict(os.environ)}
        socket.send_fds(self._way, [json.dumps(told).encode()], [log, theirs.fileno()])
        theirs.close()
        return Forked(ours)

    def end(self) -> None:
        """End it and all of its daemons."""
        self._way.send(b"")  # a fork of this process may have the way still, so that it does not end with it
        self._way.close()
        self._process.wait(60)


def serve() -> None:
    """Fork daemons as they are asked for over standard input, until nobody can ask any more."""
    import maple_daemon.serve.service
    from maple_daemon.cli.daemon import main

    assert maple_daemon.serve.service
    way = socket.socket(fileno=os.dup(0))
    living: dict[int, tuple[int, int]] = {}  # a descriptor that tells of a daemon's end -> its id, where it is told
    while True:
        for ready in select.select([way, *living], [], [])[0]:
            if ready is not way:
                _ended(ready, *living.pop(ready))
                continue
            asked, fds, _, _ = socket.recv_fds(way, 1 << 20, 2)
            if not asked:
                _end([pid for pid, _ in living.values()])
            log, told = fds
            pid = os.fork()
            if pid == 0:
                way.detach()  # closed below; its number may soon be another's
                _become(json.loads(asked), log)
                return main()
            os.close(log)
            os.write(told, b"%d" % pid)
            living[os.pidfd_open(pid)] = pid, told


def _ended(tells: int, pid: int, told: int) -> None:
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with contextlib.suppress(BrokenPipeError):  # nobody wants to know
        os.write(told, b"%d" % status)
    os.close(tells)
    os.close(told)


def _end(pids: list[int]) -> NoReturn:
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    sys.exit()


def _become(asked: dict, log: int) -> None:  # type: ignore[type-arg]
    """Be a process that was started as was asked: nothing else is open."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, fd in enumerate((nothing, log, log)):
        os.dup2(fd, number)
    os.closerange(3, 4096)
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["cwd"])
    os.umask(asked["umask"])
    sys.argv = ["maple-daemon", *asked["words"]]
