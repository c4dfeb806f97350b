"""What happens to a job from outside while it runs, and what its node already does when it comes."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from tests.agents.debug.lab.cluster import FailingLab
from tests.agents.debug.lab.failing import Failure

LISTENER = (  # says a line once it listens
    "import socket,time,sys\ns=socket.socket()\ns.bind(('',int(sys.argv[1])))\ns.listen()\n"
    "print('listens',flush=True)\ntime.sleep(600)"
)


@contextlib.contextmanager
def listeners(lab: FailingLab, failure: Failure) -> Iterator[None]:
    """Hold the port that the failure wants taken, on every node."""
    ports = [one.does.removeprefix("listen-") for one in failure.during if one.does.startswith("listen-")]
    held = [
        subprocess.Popen(
            ["nsenter", "--target", str(lab.node_pid(number)), "--net", "/usr/bin/python3", "-c", LISTENER, port],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )
        for port in ports
        for number in range(len(lab.shape.hosts()))
    ]  # fmt: skip
    for one in held:
        until_it_listens(one)
    try:
        yield
    finally:
        for one in held:
            one.kill()
            one.wait()


def until_it_listens(listener: subprocess.Popen[bytes]) -> None:
    """Wait for the line of a `LISTENER`: on a busy machine a job comes before it otherwise."""
    assert listener.stdout is not None
    listener.stdout.readline()


def disturb(lab: FailingLab, failure: Failure, job: int, folder: Path) -> None:
    """Do what is to happen to a running job, when its time has come."""
    for one in failure.during:
        if one.does.startswith("listen-"):
            continue
        _until(lambda: lab.show(job).get("JobState") != "PENDING", failure.longest)
        _until(partial(_has_said, folder, one.said), 100)
        time.sleep(one.after)
        _DOES[one.does](lab, job)


def _has_said(folder: Path, words: str) -> bool:
    return words in "".join(path.read_text(errors="replace") for path in folder.glob("*.out"))


def _cancel(lab: FailingLab, job: int) -> None:
    lab.cancel(job)


def _requeue_hold(lab: FailingLab, job: int) -> None:
    lab.run(["scontrol", "requeuehold", str(job)])


def _hangup(lab: FailingLab, job: int) -> None:
    lab.run(["scancel", "--signal=HUP", str(job)])


def _node_down(lab: FailingLab, job: int) -> None:
    """Stop the last node of the job, and say to the controller at once what it would find after its timeout."""
    hosts = lab.run(["scontrol", "show", "hostnames", lab.show(job)["NodeList"]]).stdout.split()
    number = [host for host, _ in lab.shape.hosts()].index(hosts[-1])
    os.kill(lab.node_pid(number), signal.SIGKILL)
    lab.run(["scontrol", "update", f"nodename={hosts[-1]}", "state=down", "reason=Not responding"])


_DOES = {"cancel": _cancel, "requeue-hold": _requeue_hold, "hangup": _hangup, "node-down": _node_down}


def _until(true: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            raise TimeoutError(f"nothing to disturb after {seconds} s")
        time.sleep(0.2)
