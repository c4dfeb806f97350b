"""A real daemon in a process of its own, in a folder of its own, and a caller that says to it what it likes."""

from __future__ import annotations

import hashlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from typing import ClassVar, Optional, Union

from maple_submit_filter.host import frames
from maple_submit_filter.host.frames import Reply, Request
from maple_submit_filter.types.submission import Submission

from tests.daemon.leftovers import goes_with_us
from tests.ready import Forked, Ready

WRONG = b"""#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=4
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun torchrun --nnodes=2 --nproc-per-node=4 --node_rank=$SLURM_NODEID --master_addr=$MASTER_ADDR train.py
"""
WITH_A_FILE = b"""#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=4
source ./where.sh
srun torchrun --nnodes=2 --nproc-per-node=4 --node_rank=$WHICH --master_addr=$MASTER_ADDR --master_port=29500 train.py
"""


def request(script: bytes = WRONG, uid: Optional[int] = None, deadline: int = 10_000, **environment: str) -> Request:
    """A request as the front sends it for `sbatch job.sh`."""
    variables = {name.encode(): value.encode() for name, value in environment.items()}
    own = os.getuid() if uid is None else uid
    submission = Submission("slurm", (b"sbatch", b"job.sh"), script, "file", b"job.sh", b"/", own, variables)
    digest = hashlib.sha256(script).digest()
    return Request(os.urandom(16), digest, submission, 1, 0, False, True, deadline)


class Daemon:
    """`maple-daemon` with settings of its own; ended by its process id. *ready*: what forks it, None: nobody.

    *under*: the words of a command that starts it, where it is not forked.
    """

    ready: ClassVar[Optional[Ready]] = None
    under: tuple[str, ...] = ()

    def __init__(self, conf: str = "", **settings: object) -> None:
        self.folder = tempfile.mkdtemp(prefix="maple-daemon-", dir="/tmp")  # the path of a socket has to be short
        goes_with_us(self.folder)
        self.socket, self.store = self.folder + "/sock", self.folder + "/memory.db"
        self.metrics, self.log = self.folder + "/metrics", self.folder + "/log"
        told: dict[str, object] = {
            "socket": self.socket, "store": self.store, "metrics": self.metrics, "conf": conf, "workers": 1,
            **settings,
        }  # fmt: skip
        with open(self.folder + "/daemon.toml", "w", encoding="utf-8") as file:
            for name, value in told.items():
                file.write("%s = %s\n" % (name, _toml(value)))
        self.process: Union[subprocess.Popen[bytes], Forked, None] = None

    def start(self, wait: bool = True) -> "Daemon":
        """Start it, and wait until it listens."""
        program = "from maple_daemon.cli.daemon import main; main()"
        words = ["--config", self.folder + "/daemon.toml"]
        with open(self.log, "wb") as log, open(os.devnull, "rb") as nothing:
            if self.ready is not None and not self.under:
                streams = (nothing.fileno(), log.fileno(), log.fileno())
                self.process = self.ready.start("maple-daemon", words, streams, os.getcwd(), os.environ)
            else:
                command = [*self.under, sys.executable, "-c", program, *words]
                self.process = subprocess.Popen(command, stdout=log, stderr=log)
        while wait and "listening" not in self.said:
            if self.process.poll() is not None:
                raise AssertionError("the daemon ended: " + self.said)
            time.sleep(0.02)
        return self

    def stop(self, number: int = signal.SIGTERM) -> int:
        """End it, and return its exit status."""
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(60)

    @property
    def said(self) -> str:
        """Its log."""
        with open(self.log, encoding="utf-8") as file:
            return file.read()

    def connect(self) -> socket.socket:
        """A connection to it."""
        one = socket.socket(socket.AF_UNIX)
        one.settimeout(30)
        one.connect(self.socket)
        return one

    def ask(self, what: Request) -> Optional[Reply]:
        """The reply to a request, None where the daemon hangs up instead."""
        with self.connect() as one:
            one.sendall(frames.pack_request(what))
            return receive(one)

    def counted(self, name: str) -> dict[str, float]:
        """The values of a metric by its labels."""
        with socket.socket(socket.AF_UNIX) as one:
            one.connect(self.metrics)
            one.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            page = b"".join(iter(lambda: one.recv(65536), b"")).decode()
        rows = [line.rpartition(" ") for line in page.splitlines() if line.startswith(name)]
        return {label[len(name) :].strip("{}"): float(value) for label, _, value in rows}


def receive(one: socket.socket) -> Optional[Reply]:
    """One reply from a connection, None where it is closed first."""
    head = _exactly(one, 8)
    if head is None:
        return None
    body = _exactly(one, frames.size_of(head, frames.REPLY, frames.MAX_REPLY))
    return frames.unpack_reply(head + body) if body is not None else None


def _exactly(one: socket.socket, size: int) -> Optional[bytes]:
    found = b""
    while len(found) < size:
        try:
            part = one.recv(size - len(found))
        except ConnectionError:
            return None
        if not part:
            return None
        found += part
    return found


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ %s }" % ", ".join("%s = %s" % (name, _toml(one)) for name, one in value.items())
    if isinstance(value, str):
        return '"%s"' % value
    return str(value).lower() if isinstance(value, bool) else str(value)
