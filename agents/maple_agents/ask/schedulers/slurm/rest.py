"""Slurm's jobs from slurmrestd over its unix socket: one request for all of them, no command started.

slurmrestd has to run as the user who asks (`-a rest_auth/local`); it refuses root. It gives what that user may see.
"""

from __future__ import annotations

import http.client
import socket
import time
from collections.abc import Sequence

from ..errors import SchedulerError
from ..protocol import Job
from . import json as slurm_json
from .ids import meant

VERSIONS = tuple("v0.0.%d" % number for number in range(44, 36, -1))
LIMIT = 256 * 1024 * 1024  # bytes; a job is about 4 KiB
_ASKED = "asking slurmrestd"


class SlurmRest:
    """What asks for jobs alone. *path*: of the socket. *timeout*: seconds for a whole question."""

    name = "slurm"
    via = "slurmrestd"

    def __init__(self, path: str, timeout: float = 30.0) -> None:
        self._path, self._timeout = path, timeout
        self._version = ""

    def jobs(self, ids: Sequence[str]) -> dict[str, Job]:
        """Return a job for each of *ids*, vanished where Slurm has none. Raises `SchedulerError`."""
        if not ids:
            return {}
        try:
            found = slurm_json.jobs(self._all())
        except ValueError:
            raise SchedulerError(_ASKED, "the answer is not of a form that is known", "ask Slurm's commands") from None
        return {one: meant(one, found) for one in ids}

    def _all(self) -> bytes:
        until = time.monotonic() + self._timeout
        for version in (self._version,) if self._version else VERSIONS:
            status, body = self._get("/slurm/%s/jobs" % version, until)
            if status == 404:
                continue
            if status != 200:
                remedy = "run slurmrestd as the user who asks" if status in (401, 403) else "look into its log"
                raise SchedulerError(_ASKED, body[:200].decode("utf-8", "replace"), remedy, status)
            self._version = version
            return body
        self._version = ""
        raise SchedulerError(_ASKED, "it speaks no version that is known", "load its openapi plug-in for slurmctld")

    def _get(self, path: str, until: float) -> tuple[int, bytes]:
        connection = _Connection(self._path, until)
        try:
            connection.request("GET", path, headers={"Accept": "application/json"})
            answer = connection.getresponse()
            body = bytearray()
            while block := answer.read(1 << 16):
                body += block
                if len(body) > LIMIT or time.monotonic() > until:
                    raise SchedulerError(_ASKED, "too much, or too slow", "ask Slurm's commands", transient=True)
            return answer.status, bytes(body)
        except (OSError, http.client.HTTPException) as error:
            why = str(error) or type(error).__name__
            raise SchedulerError(_ASKED, why, "is slurmrestd running?", transient=True) from None
        finally:
            connection.close()


class _Connection(http.client.HTTPConnection):
    """HTTP over a unix socket."""

    def __init__(self, path: str, until: float) -> None:
        super().__init__("localhost", timeout=max(0.1, until - time.monotonic()))
        self._path = path

    def connect(self) -> None:
        """Connect to the socket's path."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)
