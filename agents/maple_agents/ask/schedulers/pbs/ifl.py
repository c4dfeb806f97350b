"""libpbs through ctypes: typed calls on a connection that belongs to one thread.

Facts that shape this module (OpenPBS 23.06, measured):
- Two threads in one connection crash the library on its error paths, so a connection refuses any thread but its own.
- The error number is per thread. It is set to 0 before each call and read after it, in the same thread.
- NULL with error number 0 is an empty answer, and a result of 0 with an error number is a failure.
- The error text is left over from earlier failures: it is read only after a call that failed with a number.
- The library has no time limit: see `ask/schedulers/commands.py`.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterable
from typing import Any

from ..protocol import MisuseError, SchedulerError
from .library import (
    BAD_VALUE,
    EQ,
    NOT_AUTHENTICATED,
    SET,
    SYSTEM,
    Attribute,
    Library,
    Status,
    attribute_list,
    bytes_of,
    copied,
    pbs_error,
    text_of,
)

_this = threading.local()


class Connection:
    """A connection to a PBS server, for the thread that opened it and no other.

    Raises `SchedulerError` with the error number where the server cannot be reached. libpbs and its pbs_iff print why
    they could not authenticate to file descriptor 2 by themselves: see docs/schedulers.md for why that is left so.
    """

    def __init__(self, library: Library, server: str | None = None) -> None:
        self._library = library
        self._owner, self._process = _token(), os.getpid()
        self._number = -1
        self._open = False
        named = None if server is None else bytes_of(server)
        number = self._call("pbs_connect", named)
        if number < 0:
            asked = "connecting to PBS%s" % (" server %s" % server if server else "")
            raise pbs_error(asked, self._errno[0] or NOT_AUTHENTICATED, None)  # no connection, so no text of it
        self._number = number
        self._open = True

    def close(self) -> None:
        """Give the connection back; twice is no mistake."""
        if self._open:
            self._check()
            self._open = False
            self._call("pbs_disconnect", self._number)

    def __del__(self) -> None:
        """Close what nobody holds any more: no other thread can be in it. A child leaves its parent's alone."""
        if getattr(self, "_open", False) and self._process == os.getpid():
            self._open = False
            with contextlib.suppress(Exception):
                self._call("pbs_disconnect", self._number)

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def statjob(self, ids: str, extend: str = "") -> list[Status]:
        """Return the jobs of a comma list of ids, without those the server does not know; an empty list asks for all.

        *extend*: x with finished jobs, t with the subjobs of an array. An unknown id alone is an error.
        """
        return self._statuses("pbs_statjob", bytes_of(ids), None, _optional(extend), asked="asking for job %s" % ids)

    def selstat(self, criteria: Iterable[Attribute], extend: str = "") -> list[Status]:
        """Return the jobs that fit all *criteria*, each taken as equality. By owner: `User_List`, not `Job_Owner`."""
        wanted = attribute_list((attribute, EQ) for attribute in criteria)
        return self._statuses("pbs_selstat", wanted, None, _optional(extend), asked="selecting jobs")

    def statserver(self) -> list[Status]:
        """Return the server."""
        return self._statuses("pbs_statserver", None, None, asked="asking for the server")

    def statque(self, queue: str = "") -> list[Status]:
        """Return the queue, or all of them."""
        return self._statuses("pbs_statque", bytes_of(queue), None, None, asked="asking for queues")

    def statnode(self, node: str = "") -> list[Status]:
        """Return the node, or all of them."""
        return self._statuses("pbs_statnode", bytes_of(node), None, None, asked="asking for nodes")

    def alterjob(self, job_id: str, changes: Iterable[Attribute]) -> None:
        """Change attributes of a job; those in error are named in the exception."""
        wanted = attribute_list((attribute, SET) for attribute in changes)
        self._do("pbs_alterjob", bytes_of(job_id), wanted, None, asked="altering job %s" % job_id)

    def deljob(self, job_id: str) -> None:
        """Delete a job. A running one stays R for seconds."""
        self._do("pbs_deljob", bytes_of(job_id), None, asked="deleting job %s" % job_id)

    def sigjob(self, job_id: str, signal: str) -> None:
        """Send a signal, `SIGTERM` or `15`, to a running job."""
        self._do("pbs_sigjob", bytes_of(job_id), bytes_of(signal), None, asked="signalling job %s" % job_id)

    def _statuses(self, function: str, *arguments: Any, asked: str) -> list[Status]:
        self._check()
        answer = self._call(function, self._number, *arguments)
        try:
            if not answer and self._errno[0]:
                raise self._failure(asked)
            return copied(answer)
        finally:
            if answer:
                self._library.functions.pbs_statfree(answer)

    def _do(self, function: str, *arguments: Any, asked: str) -> None:
        self._check()
        result = self._call(function, self._number, *arguments)
        if result or self._errno[0]:
            raise self._failure(asked, result)

    def _call(self, function: str, *arguments: Any) -> Any:
        """Call into the library with this thread's error number at 0."""
        self._errno = self._library.errno()
        self._errno[0] = 0
        return getattr(self._library.functions, function)(*arguments)

    def _failure(self, asked: str, result: int = 0) -> SchedulerError:
        """Return the exception for the call that just failed, with the text that belongs to it."""
        code = self._errno[0]
        if not code:
            return pbs_error(asked, result, None)  # no number was set, so the text would be an older one
        text = text_of(self._library.functions.pbs_geterrmsg(self._number)) or None
        if code in (SYSTEM, BAD_VALUE):
            wrong = self._attributes_in_error()
            if wrong:
                return pbs_error(asked, BAD_VALUE, "; ".join(wrong))
        return pbs_error(asked, code, text)

    def _attributes_in_error(self) -> list[str]:
        errors = self._library.functions.pbs_get_attributes_in_error(self._number)
        if not errors:
            return []
        entries = (errors.contents.entries[index] for index in range(max(0, errors.contents.count)))
        return [_refused(entry) for entry in entries]

    def _check(self) -> None:
        """Refuse whoever is not the owner, before the library is entered."""
        if self._process != os.getpid():
            raise MisuseError("a PBS connection does not survive a fork; open a new one in the child")
        if self._owner is not _token():
            raise MisuseError("a PBS connection belongs to the thread that opened it; ask the pool for one")
        if not self._open:
            raise MisuseError("this PBS connection is closed")


class Pool:
    """Connections to one server, one for each thread that asks; a thread's own ends with the thread."""

    def __init__(self, library: Library, server: str | None = None) -> None:
        self.library = library
        self.server = server
        self._mine = threading.local()

    def connection(self) -> Connection:
        """Return this thread's connection, opened when first asked for, after a fork, and after `drop`."""
        held: tuple[int, Connection] | None = getattr(self._mine, "held", None)
        if held is None or held[0] != os.getpid():
            held = (os.getpid(), Connection(self.library, self.server))
            self._mine.held = held
        return held[1]

    def drop(self) -> None:
        """Close this thread's connection; the next that is asked for is a new one."""
        held: tuple[int, Connection] | None = self._mine.__dict__.pop("held", None)
        if held is not None and held[0] == os.getpid():
            held[1].close()


def _token() -> object:
    """Return an object of this thread alone; thread numbers are given out again, this is not."""
    if not hasattr(_this, "token"):
        _this.token = object()
    return _this.token


def _optional(text: str) -> bytes | None:
    return bytes_of(text) if text else None


def _refused(entry: Any) -> str:
    """Return `Illegal attribute or resource value Resource_List.walltime`, as PBS words it."""
    text = text_of(entry.text).strip() or "error %d" % entry.code
    name = text_of(entry.attribute.contents.name) if entry.attribute else ""
    resource = text_of(entry.attribute.contents.resource) if entry.attribute else ""
    key = "%s.%s" % (name, resource) if resource else name
    return text if key in text else "%s %s" % (text, key)
