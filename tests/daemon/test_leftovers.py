"""A run that is interrupted leaves no folder and no daemon behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.daemon.breaking import until

RUN = """
import time
from tests.ready import Ready
from tests.daemon.serving import Daemon
Daemon.ready = %s
daemon = Daemon(store="").start()
print(daemon.process.pid, daemon.folder, flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("ready", ["None", "Ready('maple_daemon.serve')"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_daemon_and_folder_go_with_the_process_that_made_them(number: int, ready: str) -> None:
    """However that ends, and whether it started the daemon or had it forked."""
    own = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "cwd": Path(__file__).parents[2]}
    with subprocess.Popen([sys.executable, "-c", RUN % ready], **own) as run:
        assert run.stdout is not None
        pid, folder = run.stdout.readline().decode().split()
        assert os.path.exists(folder) and os.path.exists("/proc/" + pid)
        run.send_signal(number)
    until(lambda: not os.path.exists(folder) and not _lives(pid))


def _lives(pid: str) -> bool:
    try:
        with open("/proc/%s/stat" % pid, "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] != b"Z"
    except OSError:
        return False
