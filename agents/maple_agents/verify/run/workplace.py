"""The folder of one verification: where the nodes find the mini-apps and leave their facts, and how it goes again.

It is a hidden folder beside the script, or in the folder that the job starts in: the nodes read the user's program
there and write its output there, so they see it; the home folder is not on the nodes of every site.

Which folders the nodes see: those on a network file system come first, where there are any.

A folder on a disk of this host may be seen elsewhere as well, exported under the same name; so it is not ruled out.
Types are those of /proc/self/mounts (Linux).

What a verification has open, written down, so that the next one can clear up after one that was killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import socket
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ...ask import verified_runs
from ...ask.schedulers import Scheduler, SchedulerError
from ...ask.verified_runs import CannotVerify
from ..exchange.exchange import SAFE

NETWORK = frozenset(
    [
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "fuse.ceph",
        "fuse.glusterfs",
        "fuse.sshfs",
        "glusterfs",
        "gpfs",
        "lustre",
        "nfs",
        "nfs4",
        "orangefs",
        "panfs",
        "pvfs2",
        "smb3",
        "vastnfs",
        "wekafs",
        "dvs",
    ]
)

PREFIX = ".maple-verify-"
ENTRY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "on_node.py")


class Workplace:
    """A folder that only its owner may enter, until it is closed; *keep* leaves it where it is."""

    def __init__(self, candidates: Iterable[str], keep: bool = False) -> None:
        self.keep = keep
        self.token = secrets.token_hex(4)
        self.path = self._made(candidates)
        try:
            for name in ("facts", "job"):
                os.mkdir(os.path.join(self.path, name), 0o700)
            copied = os.path.join(self.path, "maple_miniapps")
            shutil.copytree(
                verified_runs.miniapps_folder(), copied, ignore=shutil.ignore_patterns("__pycache__", "*.json")
            )
        except BaseException:
            remove(self.path)
            raise

    def close(self) -> None:
        """Remove the folder with all that is in it."""
        if not self.keep:
            remove(self.path)

    def _made(self, candidates: Iterable[str]) -> str:
        tried = []
        for folder in candidates:
            path = os.path.join(os.path.abspath(folder), PREFIX + self.token)
            if not SAFE.fullmatch(os.fsencode(path)):
                tried.append(f"{folder}: its name has signs that a shell would read")
                continue
            try:
                os.mkdir(path, 0o700)
                return path
            except OSError as error:
                tried.append(f"{folder}: {(error.strerror or str(error)).lower()}")
        raise CannotVerify(
            "there is no folder for the mini-apps (" + "; ".join(tried) + ")", "call maple from a folder you may write"
        )

    @property
    def output(self) -> str:
        """Return where the job's standard output goes."""
        return os.path.join(self.path, "out")

    @property
    def errors(self) -> str:
        """Return where the job's standard error goes."""
        return os.path.join(self.path, "err")

    def facts(self, entry: str) -> str:
        """Return the folder into which the ranks of an entry put their facts."""
        return os.path.join(self.path, "facts", entry)

    def add_entry(self, entry: str, settings: Mapping[str, Any]) -> None:
        """Put an entry there that a launch line can start; its file may also be executed as it is."""
        os.mkdir(self.facts(entry), 0o700)
        target = os.path.join(self.path, f"{entry}.py")
        shutil.copyfile(ENTRY, target)
        os.chmod(target, 0o700)
        _written(os.path.join(self.path, f"{entry}.json"), json.dumps(settings).encode())

    def add_script(self, name: str, source: bytes) -> str:
        """Put the script there under its own name, and return its path."""
        path = os.path.join(self.path, "job", os.path.basename(name) or "script")
        _written(path, source)
        os.chmod(path, 0o700)
        return path


def remove(path: str) -> None:
    """Remove such a folder; any other is left alone. What ranks still write there meanwhile goes with it."""
    if not os.path.basename(path).startswith(PREFIX) or not _is_folder(path):
        return
    for _ in range(5):
        shutil.rmtree(path, ignore_errors=True)
        if not os.path.lexists(path):
            return


def _is_folder(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def _written(path: str, content: bytes) -> None:
    with open(path, "xb") as file:
        file.write(content)


def shared_first(folders: Sequence[str], mounts: Iterable[str] | None = None) -> list[str]:
    """Return *folders*, those on a network file system first, else in their order. *mounts*: lines of the table."""
    table = _table(_lines() if mounts is None else mounts)
    return sorted(dict.fromkeys(folders), key=lambda folder: kind(folder, table) not in NETWORK)


def kind(folder: str, table: dict[str, str]) -> str:
    """Return the type of the file system that a folder is on, "" where the table does not have it."""
    path = os.path.realpath(folder)
    while path not in table and path != "/":
        path = os.path.dirname(path)
    return table.get(path, "")


def _table(mounts: Iterable[str]) -> dict[str, str]:
    """Return mount point -> type; the last one mounted at a place counts."""
    rows = [line.split(" ") for line in mounts]
    return {row[1].replace("\\040", " "): row[2] for row in rows if len(row) > 2}


def _lines() -> list[str]:
    try:
        with open("/proc/self/mounts", encoding="utf-8", errors="surrogateescape") as file:
            return file.read().split("\n")
    except OSError:
        return []


class Opened:
    """The note of one verification: its folder, its job, and the process that answers for both."""

    def __init__(self, token: str, folder: str, scheduler: str, environ: Mapping[str, str] = os.environ) -> None:
        own = verified_runs.own_folder(environ)
        self._folder = os.path.join(own, "open") if own else None
        self._name = f"{token}.json"
        self._told: dict[str, Any] = {
            "folder": folder, "scheduler": scheduler, "host": socket.gethostname(), "pid": os.getpid(),
            "started": _started(os.getpid()), "job": None,
        }  # fmt: skip
        self._put()

    def submitted(self, job_id: str) -> None:
        """Note the job."""
        self._told["job"] = job_id
        self._put()

    def close(self) -> None:
        """Forget all of it: nothing is open any more."""
        if self._folder:
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(self._folder, self._name))

    def _put(self) -> None:
        if self._folder:
            with contextlib.suppress(OSError):  # a full disk is no reason not to verify
                verified_runs.write_value(self._folder, self._name, self._told)


def clear_leftovers(scheduler: Scheduler, environ: Mapping[str, str] = os.environ) -> list[str]:
    """End what dead verifications of this host have left, and return their folders."""
    own = verified_runs.own_folder(environ)
    folder = os.path.join(own, "open") if own else ""
    folders = []
    for name in verified_runs.names_in(folder):
        path = os.path.join(folder, name)
        record = verified_runs.read_value(path)
        if record is None or not _is_dead(record) or record.get("scheduler") != scheduler.name:
            continue
        job, left = record.get("job"), record.get("folder")
        if isinstance(job, str):
            with contextlib.suppress(SchedulerError):
                scheduler.cancel(job)
        if isinstance(left, str):
            remove(left)
            folders.append(left)
        with contextlib.suppress(OSError):
            os.unlink(path)
    return folders


def _is_dead(record: Mapping[str, Any], started: Callable[[int], str] | None = None) -> bool:
    if record.get("host") != socket.gethostname() or not isinstance(record.get("pid"), int):
        return False
    return (started or _started)(record["pid"]) != record.get("started")


def _started(pid: int) -> str:
    """Return when a process started, in ticks since boot; "" where there is none. A pid alone is given out again."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[19].decode()
    except (OSError, IndexError):
        return ""
