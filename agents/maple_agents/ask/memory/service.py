"""One question to the service about one's own jobs: finds its socket, asks, and takes back what it says."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import struct
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Iterator, Mapping, NamedTuple

from maple_submit_filter.answer.report import printable
from maple_submit_filter.host import configuration
from maple_submit_filter.types.job_records import Outcome

from ...base.quantities import elapsed
from ..sites.this_site import COMMANDS, front_conf

ASK, TELL, ANSWER = b"MPH1", b"MPA1", b"MPJ1"
SECONDS = 5.0
MOST_ANSWER = 16 << 20
USUAL = "/run/maple/daemon.sock"
OF_VERIFY = re.compile(r"(?:maple-verify|mv)-[0-9a-f]{8}", re.ASCII)  # names of jobs of which `maple verify` has told


_AT: ContextVar[tuple[str, int] | None] = ContextVar("the one service that is asked", default=None)


@contextmanager
def at(path: str, uid: int) -> Iterator[None]:
    """Ask the service at one socket alone; *uid*: whom it runs as, -1 where only root and oneself are believed."""
    before = _AT.set((path, uid))
    try:
        yield
    finally:
        _AT.reset(before)


class NoService(Exception):
    """Nobody answers; one line why, and what to do."""


class Refused(Exception):
    """The service answers that it cannot: one line."""


def ask(question: Mapping[str, object], kind: bytes = ASK, seconds: float = SECONDS) -> Any:
    """Return what the service has found, within *seconds*. Raises `NoService` and `Refused`."""
    body = json.dumps(question).encode()
    until = time.monotonic() + seconds
    tried = []
    for path, uid in places(os.environ):
        try:
            return _read(_exchange(path, uid, kind + struct.pack(">I", len(body)) + body, until))
        except OSError as error:
            tried.append("%s: %s" % (path, (error.strerror or str(error)).lower()))
    raise NoService(
        "the Maple service does not answer (%s); job history needs it; maple admin doctor tells why" % "; ".join(tried)
    )


def places(environ: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """Yield sockets to try and the service's uid there: MAPLE_SOCKET alone where it is set, else what is installed."""
    settled_place = _AT.get()
    if settled_place is not None:
        yield settled_place
        return
    if environ.get("MAPLE_SOCKET"):
        yield environ["MAPLE_SOCKET"], -1
        return
    installed = list(_installed(environ))
    own = environ.get("XDG_RUNTIME_DIR")
    installed += (
        [(os.path.join(own, "maple.sock"), -1)] if own and os.path.exists(os.path.join(own, "maple.sock")) else []
    )
    yield from installed or [(USUAL, -1)]


def _installed(environ: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """Yield what each front.conf names: of the commands that stand in for sbatch and qsub on PATH, and beside us."""
    paths = (environ.get("PATH", ""), os.path.dirname(os.path.abspath(sys.argv[0])))
    fronts = [front_conf(command, {"PATH": path}) for path in paths for command in COMMANDS]
    programs = [shutil.which(command, path=environ.get("PATH")) for command in COMMANDS]
    beside = [os.path.join(os.path.dirname(os.path.realpath(program)), "..", "etc", "front.conf")
              for program in (*programs, sys.argv[0], sys.executable) if program]  # fmt: skip
    for conf in dict.fromkeys(os.path.normpath(folder) for folder in (*fronts, *beside) if folder):
        try:
            settings = configuration.read_conf(conf)
        except OSError:
            continue
        if settings.get("socket"):
            uid = settings.get("service_uid", "")
            yield settings["socket"], int(uid) if uid.isdigit() else -1


def _exchange(path: str, service: int, frame: bytes, until: float) -> bytes:
    """Return the body of the answer. Raises `OSError`, also where the peer is nobody to tell of one's jobs."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_left(until))
        connection.connect(path)
        _, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        if uid not in (0, os.getuid(), service):
            raise OSError("listening there is uid %d, who is neither root nor the service's user" % uid)
        connection.sendall(frame)
        head = _exactly(connection, 8, until)
        size = int(struct.unpack(">I", head[4:])[0])
        if head[:4] != ANSWER or size > MOST_ANSWER:
            raise OSError("the answer is none of Maple's")
        return _exactly(connection, size, until)


def _left(until: float) -> float:
    """Return the seconds until then, a millisecond at least: 0 would mean not to wait, and another error."""
    return max(0.001, until - time.monotonic())


def _exactly(connection: socket.socket, size: int, until: float) -> bytes:
    parts = []
    while size > 0:
        connection.settimeout(_left(until))
        part = connection.recv(min(size, 1 << 20))
        if not part:
            raise OSError("it hung up: it is busy, keeps no memory, or is older than this command")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _read(body: bytes) -> Any:
    """Return what was found. Raises `Refused`, and `OSError` for what is no answer."""
    try:
        answer = json.loads(body)
    except ValueError:
        raise OSError("the answer is none of Maple's") from None
    if not isinstance(answer, dict) or "found" not in answer:
        raise Refused(str(answer.get("wrong", "no reason")) if isinstance(answer, dict) else "no reason")
    return answer["found"]


STATES = ("failed", "timeout", "out-of-memory", "node-failed")  # ends that nobody wished for
ENDED = {"timeout": "its time limit", "out-of-memory": "out of memory", "node-failed": "its node failed"}
MOST_NAME = 60  # characters
_PART = re.compile(r"(\d+)[_+]\d", re.ASCII)


class Failure(NamedTuple):
    """A job that failed. *job*: of an array the whole array's id. *seconds*: that it ran, None where not known."""

    job: str
    name: str
    state: str
    exit_code: int | None = None
    signal: int | None = None
    seconds: float | None = None
    ended: float = 0.0


OF_MAPLE = re.compile(r"(?:maple-verify|mv)-[0-9a-f]{8}|maple-doctor")  # the names that these commands give


def failure_of(outcome: Outcome) -> Failure | None:
    """Return the failure that an end is, None for a job that ran well, goes on, or that somebody ended.

    Nor are jobs of `maple verify` and `maple admin doctor` a user's: each command told how its own ended.
    """
    if outcome.state not in STATES or OF_MAPLE.fullmatch(outcome.name):
        return None
    ran = outcome.ended - outcome.started if outcome.ended and outcome.started else None
    return Failure(
        whole(outcome.job), outcome.name, outcome.state, outcome.exit_code, outcome.signal,
        ran if ran is not None and ran >= 0 else None, outcome.ended or 0.0,
    )  # fmt: skip


def whole(job: str) -> str:
    """Return the id of the array or heterogeneous job that *job* is a part of: it is told once for all its tasks."""
    if "[" in job:
        first, _, rest = job.partition("[")
        return first + "[]" + rest.partition("]")[2]
    match = _PART.match(job)
    return match[1] if match else job


def failures_line(failures: Sequence[Failure], cause: Callable[[str], str] = lambda job: "") -> str:
    """Return the line that tells of *failures*, the newest first; "" for none.

    *cause*: what a diagnosis made at the job's end says of it, "" for nothing.
    """
    if not failures:
        return ""
    failure = failures[0]
    name = " (%s)" % failure.name[:MOST_NAME] if failure.name else ""
    after = " after %s" % elapsed(failure.seconds) if failure.seconds is not None else ""
    why = cause(failure.job) or _ending(failure)
    more = "; %d more of your jobs failed too" % (len(failures) - 1) if len(failures) > 1 else ""
    text = "maple: job %s%s failed%s%s; maple-fix %s%s" % (
        failure.job, name, after, ": " + why if why else "", failure.job, more,
    )  # fmt: skip
    return printable(text)


def read(rows: Any) -> list[Failure]:
    """Return the failures that the service tells of. Raises `ValueError` for what is no answer."""
    try:
        return [Failure(*row) for row in rows]
    except TypeError as error:
        raise ValueError("not failures: %s" % error) from None


def _ending(failure: Failure) -> str:
    if failure.state in ENDED:
        return ENDED[failure.state]
    if failure.signal:
        return "signal %d" % failure.signal
    return "exit code %d" % failure.exit_code if failure.exit_code else ""
