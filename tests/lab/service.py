"""The service of a lab's Maple: started for it, and ended with it by its process id."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tests.lab.processes import LabError

SECONDS = 60.0  # a machine that also runs a cluster is slow to start Python
SETTINGS = """\
conf = "{0}/maple/current/etc/front.conf"
socket = "{0}/maple/daemon.sock"
store = "{0}/maple/memory.db"
workers = 1
"""


@contextmanager
def serving(directory: str, environment: Mapping[str, str], wanted: bool) -> Iterator[None]:
    """Run the service of the lab in *directory* where it is *wanted*. Raises `LabError` where it does not start."""
    if not wanted:
        yield
        return
    settings = f"{directory}/maple/daemon.toml"
    with open(settings, "w", encoding="utf-8") as file:
        file.write(SETTINGS.format(directory))
    with running(directory, settings, f"{directory}/maple/daemon.sock", environment):
        yield


@contextmanager
def running(directory: str, settings: str, socket: str, environment: Mapping[str, str]) -> Iterator[None]:
    """Run a service with these settings, and end it. Raises `LabError` where it does not start."""
    log = f"{directory}/log/maple-daemon.out"
    os.makedirs(os.path.dirname(log), exist_ok=True)
    program = os.path.join(os.path.dirname(sys.executable), "maple-daemon")
    with open(log, "ab") as said:
        service = subprocess.Popen(
            [program, "--config", settings, "--foreground"], env=dict(environment), stdin=subprocess.DEVNULL,
            stdout=said, stderr=said, start_new_session=True, cwd="/",
        )  # fmt: skip
    try:
        _ready(service, socket, log)
        yield
    finally:
        service.terminate()
        try:
            service.wait(10)
        except subprocess.TimeoutExpired:
            service.kill()
            service.wait()


def _ready(service: "subprocess.Popen[bytes]", socket: str, log: str) -> None:
    end = time.monotonic() + SECONDS
    while not os.path.exists(socket):
        if service.poll() is not None or time.monotonic() > end:
            with open(log, encoding="utf-8", errors="replace") as file:
                raise LabError(f"Maple's service did not start: {file.read()[-500:].strip()}")
        time.sleep(0.05)
