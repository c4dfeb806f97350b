"""What a scheduler says about jobs, nodes and queues, as values, and the `Scheduler` that says it.

What Maple calls the state of a job, of all schedulers: the words of `job_records.STATES`.

What a scheduler refuses, or why it cannot be asked: one exception.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from maple_submit_filter.answer.report import printable


class JobState(StrEnum):
    """Where a job is on its way; the scheduler's own word stands in `Job.raw_state`."""

    QUEUED = "queued"  # may start when its turn comes
    HELD = "held"  # waits until somebody lets it go
    RUNNING = "running"  # has its nodes, also while it is suspended
    EXITING = "exiting"  # its processes have ended, its output may not be there yet
    FINISHED = "finished"  # over, and its output delivered
    VANISHED = "vanished"  # the scheduler knows no such job: never, or no longer
    UNKNOWN = "unknown"  # a word that Maple does not know


class EndReason(StrEnum):
    """Why a job ended, as far as the scheduler tells."""

    COMPLETED = "completed"  # exit code 0
    EXITED = "exited"  # another exit code
    SIGNALLED = "signalled"  # a signal ended it, or its owner sent one
    CANCELLED = "cancelled"  # somebody deleted it, before or after its start
    WALLTIME = "walltime"
    MEMORY = "memory"
    LIMIT = "limit"  # another limit: processor time, processors, a deadline
    NODE = "node"  # a node was lost
    PREEMPTED = "preempted"
    NOT_STARTED = "not started"  # the scheduler could not start its processes
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Ending:
    """How a job ended. *raw* is the scheduler's own text: `-29`, `271`, `TIMEOUT 0:15`."""

    reason: EndReason
    exit_code: int | None = None  # 0 to 255; None where a signal or the scheduler ended it
    signal: int | None = None
    raw: str = ""

    @property
    def shell_signal(self) -> int | None:
        """Return the signal that a shell reports as 128 + n, None where the code is none such.

        A program may also exit with such a code of its own accord.
        """
        code = self.exit_code
        return code - 128 if code is not None and 128 < code <= 128 + 64 else None


@dataclass(frozen=True, slots=True)
class Job:
    """A job as its scheduler sees it. None, or empty: the scheduler does not say.

    Times are seconds since 1970. Paths have no host in front; a path of an array parent may hold the scheduler's own
    sign for the index. *inexact* names the keys of *attributes* whose text may differ from what was submitted.
    """

    id: str
    state: JobState
    raw_state: str = ""
    substate: str = ""
    ending: Ending | None = None
    name: str = ""
    owner: str = ""
    queue: str = ""
    account: str = ""
    nodes: tuple[str, ...] = ()  # each host once, the first is where the script runs
    work_dir: str | None = None
    stdout: str | None = None
    stderr: str | None = None
    array_id: str | None = None
    array_index: int | None = None
    submitted: int | None = None
    started: int | None = None
    ended: int | None = None
    comment: str = ""
    submit_arguments: tuple[str, ...] | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)
    inexact: frozenset[str] = frozenset()

    @property
    def over(self) -> bool:
        """Return True when nothing more will come of it: finished or vanished."""
        return self.state in (JobState.FINISHED, JobState.VANISHED)


@dataclass(frozen=True, slots=True)
class Node:
    """A node. *states* are the scheduler's own words, in lower case; *usable*: it takes jobs, now or after others."""

    name: str
    states: tuple[str, ...]
    usable: bool
    cpus: int | None = None
    gpus: int | None = None
    memory_mib: int | None = None
    queues: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    comment: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue or partition. *accepts* jobs, *starts* them. Limits are None where there is none, or none is told."""

    name: str
    accepts: bool
    starts: bool
    default: bool = False
    max_walltime: int | None = None  # seconds
    max_nodes: int | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Server:
    """The scheduler's own server. *name* is the PBS server's host or Slurm's ClusterName."""

    name: str
    version: str
    attributes: Mapping[str, str] = field(default_factory=dict)


class Scheduler(Protocol):
    """One scheduler, whatever the way to it.

    A job that the scheduler does not know is a value (state vanished, or False), never an exception. What cannot be
    asked or is refused raises `SchedulerError`; every method returns or raises within the adapter's time limit.
    """

    @property
    def name(self) -> str:
        """Return `pbs` or `slurm`."""

    @property
    def via(self) -> str:
        """Return how it is asked, in words for people."""

    def jobs(self, ids: Sequence[str]) -> dict[str, Job]:
        """Return a job for each of *ids*, under the id as it was asked; all are asked for at once."""

    def jobs_of(self, user: str, ended: bool = False) -> list[Job]:
        """Return the jobs and array tasks of *user*; with *ended* also those over that the scheduler still lists."""

    def nodes(self) -> list[Node]:
        """Return every node."""

    def queues(self) -> list[Queue]:
        """Return every queue or partition."""

    def server(self) -> Server:
        """Return who answers."""

    def submit(
        self,
        script_path: str,
        argv: Sequence[str] = (),
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> str:
        """Submit a script through the real command and return the job's id.

        *argv* are the words before the script. *env* is the whole environment of the command, because schedulers hand
        it to the job; None: our own.
        """

    def cancel(self, job_id: str) -> bool:
        """Ask for the job's end; False when there is no such job, or it is over. It may go on for seconds."""

    def signal(self, job_id: str, signal: str) -> bool:
        """Send a signal, `TERM` or `15`, to the job's processes; False when there is no such job, or it is over."""

    def alter(self, job_id: str, changes: Mapping[str, str]) -> bool:
        """Change what a job asks for, in the scheduler's own names; False when there is no such job, or it is over.

        PBS: attributes (`Resource_List.walltime`, `Job_Name`); Slurm: fields of `scontrol update` (`TimeLimit`).
        """


OF_REASON = {
    EndReason.COMPLETED: "completed",
    EndReason.EXITED: "failed",
    EndReason.SIGNALLED: "failed",
    EndReason.CANCELLED: "cancelled",
    EndReason.WALLTIME: "timeout",
    EndReason.MEMORY: "out-of-memory",
    EndReason.LIMIT: "timeout",  # processor time, or Slurm's --deadline
    EndReason.NODE: "node-failed",
    EndReason.PREEMPTED: "preempted",
    EndReason.NOT_STARTED: "failed",
    EndReason.UNKNOWN: "unknown",
}
OF_STATE = {  # of a job that is not over
    JobState.QUEUED: "pending",
    JobState.HELD: "pending",
    JobState.RUNNING: "running",
    JobState.EXITING: "running",
}
GOING_ON = frozenset(("pending", "running", "requeued"))


# How a job ended, in the words of `maple_submit_filter.types.job_records.STATES`.

_OF_STATE = {**OF_STATE, JobState.VANISHED: "unknown", JobState.UNKNOWN: "unknown"}


def state_of(job: Job, restarts: int = 0) -> str:
    """Return the state; one that waits again after it ran is requeued."""
    if job.state is JobState.FINISHED:
        return of_ending(job.ending or Ending(EndReason.UNKNOWN))
    word = _OF_STATE[job.state]
    return "requeued" if word == "pending" and restarts else word


def of_ending(ending: Ending) -> str:
    """Return the state of a job that is over."""
    return OF_REASON[ending.reason]


class SchedulerError(Exception):
    """One line: what was asked, what the scheduler said, what to do.

    *code* is the PBS error number or a command's exit code, None where nobody answered. *transient*: the same question
    may well be answered later, so who waits goes on waiting.
    """

    def __init__(self, asked: str, text: str, remedy: str, code: int | None = None, *, transient: bool = False) -> None:
        self.asked = asked
        self.code = code
        self.text = text
        self.remedy = remedy
        self.transient = transient
        number = "" if code is None else " (%d)" % code
        super().__init__(printable("%s: %s%s; %s" % (asked, one_line(text) or "no reason given", number, remedy)))


class MisuseError(RuntimeError):
    """A mistake in our own code: a connection used by another thread, after a fork, or after it was closed."""


def one_line(text: str) -> str:
    """Return *text* on one line, cut after 300 characters."""
    joined = " / ".join(line.strip() for line in text.splitlines() if line.strip())
    return joined if len(joined) <= 300 else joined[:299] + "…"
