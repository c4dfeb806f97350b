"""Start ranks of a mini-app as a launcher would, and end every one of them."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Iterator, Mapping, NamedTuple, Sequence

import pytest

from tests.wanted import missing

ROOT = Path(__file__).parents[2]
APPS = ROOT / "miniapps" / "maple_miniapps"
VENV = Path(os.environ.get("MAPLE_HEAVY_VENV") or ROOT / "build" / "heavy-venv")
LONGEST = 150  # seconds until a run that hangs is given up
PREFIX = b"MAPLE-FACTS "
_PORTS = itertools.cycle(30000 + (os.getpid() * 37 + at) % 2768 for at in range(2768))


class Ended(NamedTuple):
    """A process that has ended: its exit code, what each rank said on a line, and what it said beside."""

    code: int
    lines: list[dict[str, Any]]
    out: bytes
    err: bytes

    @property
    def facts(self) -> dict[str, Any]:
        """What the only rank said."""
        (one,) = self.lines
        return one


class Bench:
    """A folder for facts, and the processes started in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.out = folder / "facts"
        self.out.mkdir()
        self._running: list[subprocess.Popen[bytes]] = []

    def start(self, argv: Sequence[str | Path], env: Mapping[str, str] | None = None, cwd: Path | None = None) -> int:
        """Start a process with a bare environment and *env*; return its number."""
        bare = {"PATH": f"{VENV / 'bin'}:{os.environ['PATH']}", "HOME": str(self.folder), "OMP_NUM_THREADS": "1"}
        told = {**bare, "MAPLE_MINIAPP_OUT": str(self.out), "MAPLE_MINIAPP_TIMEOUT": "60", **(env or {})}
        files = [self.folder / f"{len(self._running)}.{name}" for name in ("out", "err")]
        out, err = (os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL) for path in files)
        one = subprocess.Popen(
            [str(word) for word in argv],
            env=told,
            cwd=cwd or self.folder,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        os.close(out)
        os.close(err)
        self._running.append(one)
        return len(self._running) - 1

    def app(self, name: str, env: Mapping[str, str] | None = None, python: str | Path = sys.executable) -> int:
        """Start one rank of a mini-app by its file."""
        return self.start([python, APPS / f"{name}.py"], env)

    def pid(self, number: int) -> int:
        """Return the process id of a process started here."""
        return self._running[number].pid

    def wait(self, number: int, longest: float = LONGEST) -> Ended:
        """Wait for a process. One that is not over in time is a failure."""
        one = self._running[number]
        try:
            code = one.wait(longest)
        except subprocess.TimeoutExpired:
            pytest.fail(f"{one.args} was not over after {longest} s; its facts: {self.files()}", pytrace=False)
        said = [(self.folder / f"{number}.{name}").read_bytes() for name in ("out", "err")]
        lines = [json.loads(line.split(PREFIX, 1)[1]) for line in said[0].splitlines() if PREFIX in line]
        return Ended(code, lines, *said)

    def files(self) -> list[dict[str, Any]]:
        """Return the facts in the files, by rank."""
        found = [json.loads(path.read_text()) for path in self.out.glob("*.json")]
        return sorted(found, key=lambda facts: (facts["rank"] is None, facts["rank"], facts["pid"]))

    def until(self, phase: str) -> dict[str, Any]:
        """Wait until some rank is in *phase*; return its facts."""
        deadline = time.monotonic() + LONGEST
        while time.monotonic() < deadline:
            for facts in self.files():
                if facts["phase"] == phase:
                    return facts
            time.sleep(0.02)
        pytest.fail(f"no rank came to {phase}: {self.files()}", pytrace=False)

    def end(self) -> None:
        """End what still runs, and whatever it started."""
        for one in self._running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(one.pid, signal.SIGKILL)
            one.wait()


@contextlib.contextmanager
def bench(folder: Path) -> Iterator[Bench]:
    """A bench whose processes do not outlive it."""
    made = Bench(folder)
    try:
        yield made
    finally:
        made.end()


def free_port() -> int:
    """Return a port that nobody listens on and that a kernel gives to nobody else.

    A port that the kernel chose is free to choose again as soon as it is let go, and torchrun binds it seconds later:
    on a busy machine somebody else may sit on it by then (a c10d rendezvous that meets another server there says
    "Failed to recv, got 0 bytes"). Kernels choose from 32768 to 60999 (ip_local_port_range).
    """
    for port in itertools.islice(_PORTS, 2768):
        with socket.socket() as one, contextlib.suppress(OSError):
            one.bind(("", port))
            return port
    raise LookupError("no free port between 30000 and 32767: end what other tests have left")


def world(size: int, port: int, timeout: float = 60, **more: str) -> list[dict[str, str]]:
    """Return the variables of each rank of a world on this host, as torch reads them."""
    return [
        {
            "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port), "MAPLE_MINIAPP_TIMEOUT": str(timeout), **more,
        }
        for rank in range(size)
    ]  # fmt: skip


def frameworks() -> Path:
    """Return the folder of torchrun and the others. Where it is missing, skip on a person's machine and fail in CI."""
    if (VENV / "bin" / "torchrun").exists():
        return VENV / "bin"
    missing(f"tests/miniapps/venv.sh makes {VENV}")
