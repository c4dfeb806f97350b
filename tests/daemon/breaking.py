"""A daemon that is broken on purpose, doubles that answer in its place, and a front with no helper that asks them."""

from __future__ import annotations

import contextlib
import os
import pickle
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Optional, TypeVar

from maple_submit_filter.host import frames
from maple_submit_filter.host.frames import Change, Reply, Request

from tests.daemon.serving import Daemon
from tests.doubles.stand import Seen, Stand

NOBODY = 54321  # a uid that no account has
MENDED = b"# by the daemon\n"


class Broken(Daemon):
    """A daemon whose code is changed before it starts (*first*: Python), within limits, as another user.

    *under*: the words of a command that starts it.
    """

    def __init__(
        self, first: str = "", limits: Optional[dict[int, int]] = None, uid: Optional[int] = None,
        under: tuple[str, ...] = (), **settings: object,
    ) -> None:  # fmt: skip
        super().__init__(**settings)  # type: ignore[arg-type]
        self.first, self.limits, self.uid, self.under = first, limits or {}, uid, under
        os.chmod(self.folder, 0o755)
        if uid is not None:
            os.chown(self.folder, uid, uid)

    def start(self, wait: bool = True) -> "Broken":
        """Start it, and wait until it listens."""
        program = self.first + "\nfrom maple_daemon.cli.daemon import main; main()"
        words = [*self.under, sys.executable, "-c", program, "--config", self.folder + "/daemon.toml"]
        who = {} if self.uid is None else {"user": self.uid, "group": self.uid, "extra_groups": []}

        def before() -> None:
            for kind, most in self.limits.items():
                resource.setrlimit(kind, (most, most))

        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(words, stdout=log, stderr=log, preexec_fn=before, **who)  # type: ignore[call-overload]
        until(lambda: not wait or self.listens or self._ended())
        return self

    @property
    def listens(self) -> bool:
        """Whether it has said so."""
        return '"listening"' in self.said

    def _ended(self) -> bool:
        if self.process is not None and self.process.poll() is not None:
            raise AssertionError("the daemon ended: " + self.said)
        return False

    def end(self) -> None:
        """Kill it if it lives, and remove its folder."""
        if self.process is not None and self.process.poll() is None:
            self.stop(signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)


Result = TypeVar("Result")


def as_user(uid: int, act: Callable[[], Result], groups: Iterable[int] = ()) -> Result:
    """What comes of it in a process of that user, who is in his own group and *groups*; it raises what that raises."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setgroups(list(groups))
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        try:
            told: tuple[bool, object] = (True, act())
        except BaseException as error:
            told = (False, error)
        with os.fdopen(write, "wb") as file:
            pickle.dump(told, file)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as file:
        well, made = pickle.load(file)
    os.waitpid(pid, 0)
    if not well:
        raise made
    return made  # type: ignore[no-any-return]


def until(holds: Callable[[], bool], seconds: float = 60) -> None:
    """Fail if it does not come true."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.02)


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError, IndexError), open("/proc/%s/stat" % name, "rb") as file:
            if int(file.read().rpartition(b")")[2].split()[1]) == pid:
                found.append(int(name))
    return found


@contextlib.contextmanager
def double(treat: Callable[[socket.socket], None], backlog: int = 64, uid: Optional[int] = None) -> Iterator[str]:
    """A process that listens, and treats each connection as it is told to; yields the path of its socket."""
    folder = tempfile.mkdtemp(prefix="maple-double-", dir="/tmp")
    os.chmod(folder, 0o777)
    ready, told = os.pipe()
    pid = os.fork()
    if pid == 0:
        with contextlib.suppress(BaseException):
            _listen(folder + "/s", treat, backlog, uid, told)
        os._exit(0)
    os.close(told)
    try:
        assert os.read(ready, 1) == b"x"
        yield folder + "/s"
    finally:
        os.close(ready)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        shutil.rmtree(folder)


def _listen(path: str, treat: Callable[[socket.socket], None], backlog: int, uid: Optional[int], told: int) -> None:
    if uid is not None:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    one = socket.socket(socket.AF_UNIX)
    one.bind(path)
    os.chmod(path, 0o666)
    one.listen(backlog)
    os.write(told, b"x")
    while True:
        caller, _ = one.accept()
        with caller, contextlib.suppress(OSError, ValueError):
            treat(caller)


def asked(one: socket.socket) -> Request:
    """The request that comes over a connection."""
    head = one.recv(8, socket.MSG_WAITALL)
    return frames.unpack_request(head + one.recv(frames.size_of(head, b"MPQ1", 8 << 20), socket.MSG_WAITALL))


def rightly(one: socket.socket) -> bytes:
    """The frame of a reply that mends the script."""
    request = asked(one)
    change = Change((request.submission.script or b"") + MENDED)
    return frames.pack_reply(Reply(request.nonce, request.hash, change))


def without_helper(stand: Stand, path: str, milliseconds: int = 20_000, **keys: object) -> None:
    """Let the front ask at *path* alone: what nobody answers there is submitted as written."""
    stand.configure(socket=path, socket_ms=milliseconds, helper="", **keys)


def as_bare(stand: Stand) -> Seen:
    """Check that the call is as without Maple in all that its caller and the real command see, and return it."""
    bare, maple = stand.both(["job.sh"], environment={"RECORD_EXIT": "3"})
    assert bare == maple
    assert maple.record and maple.exit == 3
    return maple
