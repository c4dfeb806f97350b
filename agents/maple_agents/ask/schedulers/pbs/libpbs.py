"""PBS through libpbs: exact values, no delay between questions, and a time limit that the library has not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from ..commands import Worker
from ..protocol import Job, Node, Queue, SchedulerError, Server
from . import changes as pbs_changes
from .ifl import Connection, Pool
from .jobs import answered, is_id, job_of, node_of, queue_of, server_of
from .library import LOST, NO_SUCH_JOB, Attribute, Library, Status

Answer = TypeVar("Answer")


class Pbs:
    """The `Scheduler` of a PBS server, through a loaded libpbs.

    *timeout*: seconds for each question, *submit_timeout* for qsub. *server* None: the one of pbs.conf.
    """

    name = "pbs"

    def __init__(
        self,
        library: Library,
        server: str | None = None,
        *,
        qsub: str = "qsub",
        timeout: float = 30.0,
        submit_timeout: float = 60.0,
    ) -> None:
        self.via = "libpbs (%s)" % library.path
        self._pool = Pool(library, server)
        self._worker = Worker("asking PBS")
        self._qsub = qsub
        self._timeout = timeout
        self._submit_timeout = submit_timeout
        self._history = "x"

    def jobs(self, ids: Sequence[str]) -> dict[str, Job]:
        """Return a job for each of *ids*: one question for all, finished ones included."""
        asked = list(dict.fromkeys(job_id for job_id in ids if is_id(job_id)))
        statuses = self._known(asked) if asked else []
        return answered(ids, [_job(status) for status in statuses])

    def jobs_of(self, user: str, ended: bool = False) -> list[Job]:
        """Return the jobs and subjobs of *user*; with *ended* also those that PBS still has in its history."""
        owner = [Attribute("User_List", "", user)]
        return [_job(status) for status in self._with_history(lambda c, x: c.selstat(owner, "T" + x), ended)]

    def nodes(self) -> list[Node]:
        """Return every node."""
        return [node_of(status.name, status.values()) for status in self._read(lambda c: c.statnode())]

    def queues(self) -> list[Queue]:
        """Return every queue; which one is the default, the server says."""
        answers = self._read(lambda c: (c.statque(), c.statserver()))
        default = "".join(status.values().get("default_queue", "") for status in answers[1][:1])
        return [queue_of(status.name, status.values(), default) for status in answers[0]]

    def server(self) -> Server:
        """Return the server. Raises `SchedulerError` when it names none."""
        statuses = self._read(lambda c: c.statserver())
        if not statuses:
            raise SchedulerError("asking for the server", "it did not say who it is", "see the PBS administrator")
        return server_of(statuses[0].name, statuses[0].values())

    def submit(
        self,
        script_path: str,
        argv: Sequence[str] = (),
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> str:
        """Submit through qsub, never through libpbs, and return the job's id."""
        return pbs_changes.submit(self._qsub, script_path, argv, cwd, env, self._submit_timeout)

    def cancel(self, job_id: str) -> bool:
        """Delete a job; False when there is none, or it is over."""
        return self._change(job_id, lambda c: c.deljob(job_id))

    def signal(self, job_id: str, signal: str) -> bool:
        """Send a signal; False when there is no such job, or it is over."""
        name = pbs_changes.signal_name(signal)
        return self._change(job_id, lambda c: c.sigjob(job_id, name))

    def alter(self, job_id: str, changes: Mapping[str, str]) -> bool:
        """Change attributes (`Resource_List.walltime`); False when there is no such job, or it is over."""
        wanted = pbs_changes.attributes(changes)
        return self._change(job_id, lambda c: c.alterjob(job_id, wanted))

    def _known(self, asked: list[str]) -> list[Status]:
        """Return the jobs among *asked* that the server knows.

        A server of 23.06 drops unknown ids from a list; should another refuse the list for one of them, each is asked
        for on its own.
        """
        try:
            return self._with_history(lambda c, x: c.statjob(",".join(asked), x))
        except SchedulerError as error:
            if error.code not in NO_SUCH_JOB:
                raise
        return [job for job_id in asked for job in self._known([job_id])] if len(asked) > 1 else []

    def _with_history(self, ask: Callable[[Connection, str], list[Status]], ended: bool = True) -> list[Status]:
        """Ask with finished jobs, and without where the server keeps no history."""
        try:
            return self._read(lambda c: ask(c, self._history if ended else ""))
        except SchedulerError as error:
            if not (ended and self._history and "job history" in error.text.lower()):
                raise
            self._history = ""
        return self._read(lambda c: ask(c, ""))

    def _read(self, ask: Callable[[Connection], Answer]) -> Answer:
        """Ask, and once more on a new connection when the server has closed ours; a question changes nothing."""

        def twice() -> Answer:
            try:
                return self._on_connection(ask)
            except SchedulerError as error:
                if error.code not in LOST:
                    raise
            return self._on_connection(ask)

        return self._worker.call(twice, self._timeout)

    def _change(self, job_id: str, change: Callable[[Connection], None]) -> bool:
        """Make a change, never twice; a connection that was closed meanwhile is an error that says so."""
        if not is_id(job_id):
            return False
        try:
            self._worker.call(lambda: self._on_connection(change), self._timeout)
        except SchedulerError as error:
            if error.code in NO_SUCH_JOB:
                return False
            raise
        return True

    def _on_connection(self, ask: Callable[[Connection], Answer]) -> Answer:
        try:
            return ask(self._pool.connection())
        except SchedulerError as error:
            if error.code in LOST:
                self._pool.drop()
            raise


def _job(status: Status) -> Job:
    return job_of(status.name, status.values())
