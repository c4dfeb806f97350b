"""Programs of ours out of a process that has imported already what each of them imports: it forks one when asked to.

Their start is mostly imports, and tests start thousands. Of what a start is, only that is left out: each is a process
with its own words, environment, folder, mask and descriptors, and with nothing of the tests in its memory. A test
about the start itself, or about an interpreter's own variables (PYTHON..., LC_...), starts a true one.

The process that forks ends with the one that asks, however that ends, and kills its programs first.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from typing import NoReturn, Optional

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_FORKING = "from tests.ready import serve; serve(%r)"
# name of a program -> module and function that it is, package whose modules are imported before
PROGRAMS = {
    "maple-daemon": ("maple_daemon.cli.daemon:main", "maple_daemon.serve"),
    "maple-fix": ("maple_agents.cli.start:maple_fix", "maple_agents"),
    "maple": ("maple_agents.cli.start:maple", "maple_agents"),
}


class Forked:
    """A program that was forked, as `subprocess.Popen` shows a process."""

    def __init__(self, name: str, told: socket.socket) -> None:
        self._name, self._told = name, told  # its process id, and when it has ended its exit status
        self.returncode: Optional[int] = None
        self.pid = int(told.recv(16))

    def poll(self) -> Optional[int]:
        """Its exit status, None while it runs."""
        return self._over(0)

    def wait(self, timeout: Optional[float] = None) -> int:
        """Its exit status, as soon as it has ended. Raises `subprocess.TimeoutExpired`."""
        status = self._over(timeout)
        if status is None:
            raise subprocess.TimeoutExpired(self._name, timeout or 0)
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
    """The process that forks programs of one package."""

    def __init__(self, package: str) -> None:
        self._way, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # A session of its own: what ends us by our group, or from the terminal, leaves it the time to end its programs.
        self._process = subprocess.Popen(
            [sys.executable, "-c", _FORKING % package], stdin=theirs.fileno(), stdout=subprocess.DEVNULL, cwd=ROOT,
            start_new_session=True,
        )  # fmt: skip
        theirs.close()

    def start(self, name: str, words: Sequence[str], streams: tuple[int, int, int], cwd: str,
              environment: Mapping[str, str]) -> Forked:  # fmt: skip
        """Start a program. *streams*: what its descriptors 0, 1 and 2 are."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        told = {"name": name, "words": list(words), "cwd": cwd, "umask": _umask(), "environment": dict(environment)}
        socket.send_fds(self._way, [json.dumps(told).encode()], [*streams, theirs.fileno()])
        theirs.close()
        return Forked(name, ours)

    def end(self) -> None:
        """End it and all of its programs."""
        self._way.send(b"")  # a fork of this process may have the way still, so that it does not end with it
        self._way.close()
        self._process.wait(60)


def ran(name: str, words: Sequence[str], *, cwd: str, environment: Mapping[str, str], stdin: bytes = b"",
        timeout: float = 120) -> subprocess.CompletedProcess[bytes]:  # fmt: skip
    """Run a program to its end, as `subprocess.run` does."""
    pipes = [os.pipe() for _ in range(3)]
    (theirs_in, ours_in), (ours_out, theirs_out), (ours_err, theirs_err) = pipes
    forked = _shared(PROGRAMS[name][1]).start(name, words, (theirs_in, theirs_out, theirs_err), cwd, environment)
    for fd in (theirs_in, theirs_out, theirs_err):
        os.close(fd)
    with ThreadPoolExecutor(3) as pool:
        pool.submit(_written, ours_in, stdin)
        out, err = pool.submit(_read, ours_out), pool.submit(_read, ours_err)
        try:
            code = forked.wait(timeout)
        except subprocess.TimeoutExpired:
            forked.send_signal(signal.SIGKILL)
            raise
        return subprocess.CompletedProcess([name, *words], code, out.result(), err.result())


def _umask() -> int:
    """Return this process's mask, as threads may ask at once: none is set in between."""
    with open("/proc/self/status", encoding="ascii", errors="replace") as file:
        return next(int(line.split()[1], 8) for line in file if line.startswith("Umask:"))


@cache
def _shared(package: str) -> Ready:
    made = Ready(package)
    atexit.register(made.end)
    return made


def _written(fd: int, content: bytes) -> None:
    with contextlib.suppress(BrokenPipeError), open(fd, "wb") as file:
        file.write(content)


def _read(fd: int) -> bytes:
    with open(fd, "rb") as file:
        return file.read()


def serve(package: str) -> None:
    """Fork programs as they are asked for over standard input, until nobody can ask any more."""
    _import_all(package)
    way = socket.socket(fileno=os.dup(0))
    living: dict[int, tuple[int, int]] = {}  # a descriptor that tells of a program's end -> its id, where it is told
    while True:
        for ready in select.select([way.fileno(), *living], [], [])[0]:
            if ready != way.fileno():
                _ended(ready, *living.pop(ready))
                continue
            asked, fds, _, _ = socket.recv_fds(way, 1 << 20, 4)
            if not asked:
                _end([pid for pid, _ in living.values()])
            *streams, told = fds
            pid = os.fork()
            if pid == 0:
                way.detach()  # closed below; its number may soon be another's
                return _become(json.loads(asked), streams)
            for fd in streams:
                os.close(fd)
            os.write(told, b"%d" % pid)
            living[os.pidfd_open(pid)] = pid, told


def _import_all(package: str) -> None:
    """Import every module of a package, and read what only the modules' own text decides."""
    for name in (package, *(["maple_submit_filter"] if package == "maple_agents" else [])):
        for found in walk_packages(import_module(name).__path__, name + "."):
            if not found.name.endswith(("__main__", ".child", ".helper")):
                import_module(found.name)
    if package == "maple_agents":
        from maple_agents.templates.knowledge import entries_in_force as knowledge

        knowledge.mistakes()  # has the literals of two thousand expressions kept, whoever's files they stand in


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


def _become(asked: dict, streams: list[int]) -> None:  # type: ignore[type-arg]
    """Be a process that was started as was asked: nothing else is open."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        os.dup2(streams[number], number)
        before = getattr(sys, name)  # opened for another file, of which it may know that it can be sought in
        own = open(number, "w" if number else "r", encoding=before.encoding, errors=before.errors, closefd=False)  # noqa: SIM115
        setattr(sys, name, own)
        setattr(sys, "__%s__" % name, own)
    sys.stderr.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    os.closerange(3, 4096)
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["cwd"])
    os.umask(asked["umask"])
    sys.argv = [asked["name"], *asked["words"]]
    module, _, function = PROGRAMS[asked["name"]][0].partition(":")
    getattr(import_module(module), function)()
