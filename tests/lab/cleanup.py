"""End whatever is left of a lab, knowing nothing but its directory.

Three callers, one way: the lab when it stops, its keeper (this file as a program) when the lab's owner died, and the
sweep at the start of the next lab when the keeper died as well. Standard library only: the keeper is `python3 -IS`.

Everything a lab ever starts carries SLURM_CONF=<directory>/etc/slurm.conf in its environment, or lives in a node's own
host-name namespace; nothing else is touched. Slurm's state is thrown away, so nobody is asked to stop politely.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time


def clean(directory: str) -> None:
    """End the lab's processes, remove its links and its directory. May be called again and again."""
    _end_processes(directory)
    _remove_links(os.path.basename(directory))
    shutil.rmtree(directory, ignore_errors=True)


def sweep(parent: str) -> None:
    """Clean every lab under *parent* whose owner is gone: a living owner holds the lock on its directory."""
    for name in sorted(os.listdir(parent)):
        directory = os.path.join(parent, name)
        lock = locked(directory)
        if lock is not None:
            clean(directory)
            os.close(lock)


def locked(directory: str) -> int | None:
    """Return the descriptor of the lab's lock if nobody else holds it."""
    try:
        lock = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    return lock


def _end_processes(directory: str) -> None:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        left = belonging(directory)
        if not left:
            return
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def belonging(directory: str) -> list[int]:
    """Return the living processes of the lab in *directory*."""
    mark = b"\0SLURM_CONF=" + os.fsencode(directory) + b"/etc/slurm.conf\0"
    spared = _ancestors()
    others = [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) not in spared]
    marked = {pid for pid in others if mark in b"\0" + _read(pid, "environ") + b"\0"}
    spaces = {_space(pid) for pid in marked} - {_space(os.getpid()), ""}
    return [pid for pid in others if (pid in marked or _space(pid) in spaces) and not _dead(pid)]


def _ancestors() -> set[int]:
    pid, found = os.getpid(), set()
    while pid > 1 and pid not in found:
        found.add(pid)
        fields = _read(pid, "stat").rpartition(b")")[2].split()
        pid = int(fields[1]) if len(fields) > 1 else 0
    return found | {1}


def _dead(pid: int) -> bool:
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    return not fields or fields[0] in (b"Z", b"X")


def _space(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/ns/uts")
    except OSError:
        return ""


def _read(pid: int, name: str) -> bytes:
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except OSError:
        return b""


def _remove_links(lab: str) -> None:
    """Remove the bridge; the nodes' own ends went with the namespaces, which lived only in their processes."""
    for link in os.listdir("/sys/class/net"):
        if link == f"mb{lab}" or link.startswith(f"v{lab}-"):
            subprocess.run(["ip", "link", "del", link], stderr=subprocess.DEVNULL, timeout=10, check=False)


def keep(directory: str) -> None:
    """Wait until the owner closes our standard input, by stopping or by dying, then clean."""
    for wanted in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(wanted, signal.SIG_IGN)
    while os.read(0, 4096):
        pass
    for _ in range(500):  # the lock goes with the owner's last descriptor
        lock = locked(directory)
        if lock is not None or not os.path.isdir(directory):
            break
        time.sleep(0.01)
    if os.path.isdir(directory):
        clean(directory)


if __name__ == "__main__":
    keep(sys.argv[1])
