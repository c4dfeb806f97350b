"""PBS through its commands, where libpbs cannot be loaded. What is inexact then: see `answers.py`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Unpack

from ..commands import Commands, How, Output
from ..protocol import Job, JobState, Node, Queue, SchedulerError, Server
from . import changes as pbs_changes
from .answers import Entry, entries_of
from .jobs import answered, is_id, job_of, node_of, queue_of, server_of
from .library import NO_SUCH_JOB, from_exit

# Exit codes of the commands are the lowest eight bits of the error number: 153 and 35.
_UNKNOWN = {number & 255 for number in NO_SUCH_JOB}
_AT_ONCE = 1000  # ids on one command line
_UNKNOWN_ID = re.compile(r"Unknown Job Id:? +(\S+)", re.ASCII)


class PbsCommands(Commands):
    """The `Scheduler` of a PBS server, through qstat, pbsnodes, qdel, qsig, qalter and qsub.

    Two runs of qstat by one user within a second cost a delay of 0.2 s, which PBS itself adds.
    """

    name = "pbs"
    via = "qstat and its kin"
    submits = "qsub"
    quiet = {"TZ": "UTC0"}  # qstat prints times in its own zone

    def __init__(self, folder: str | None = None, **how: Unpack[How]) -> None:
        super().__init__(folder, **how)
        self._json = True
        self._history = True

    def jobs(self, ids: Sequence[str]) -> dict[str, Job]:
        """Return a job for each of *ids*; unknown ones among them do not hide the others."""
        asked = list(dict.fromkeys(job_id for job_id in ids if is_id(job_id)))
        pieces = [self._known(asked[at : at + _AT_ONCE]) for at in range(0, len(asked), _AT_ONCE)]
        open_ids = frozenset(job_id for piece in pieces for job_id in piece.open)
        return answered(ids, [job for piece in pieces for job in piece.jobs], open_ids)

    def jobs_of(self, user: str, ended: bool = False) -> list[Job]:
        """Return the jobs and subjobs of *user*, picked from those of all users.

        `qstat -u` prints another form, without the attributes.
        """
        jobs = self._jobs(["-t"], ended)
        return [job for job in jobs if job.owner == user and (ended or not job.over)]

    def nodes(self) -> list[Node]:
        """Return every node."""
        return [node_of(entry.name, entry.values) for entry in self._entries("pbsnodes", ["-a"], "nodes")]

    def queues(self) -> list[Queue]:
        """Return every queue; which one is the default, the server says."""
        default = self.server().attributes.get("default_queue", "")
        return [queue_of(entry.name, entry.values, default) for entry in self._entries("qstat", ["-Q", "-f"], "Queue")]

    def server(self) -> Server:
        """Return the server. Raises `SchedulerError` when it names none."""
        entries = self._entries("qstat", ["-B", "-f"], "Server")
        if not entries:
            raise SchedulerError("qstat -B", "it did not say who it is", "see the PBS administrator")
        return server_of(entries[0].name, entries[0].values)

    def submit(
        self,
        script_path: str,
        argv: Sequence[str] = (),
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> str:
        """Submit through qsub and return the job's id."""
        return pbs_changes.submit(self._submit, script_path, argv, cwd, env, self._submit_timeout)

    def cancel(self, job_id: str) -> bool:
        """Delete a job; False when there is none, or it is over."""
        return self._change("qdel", [], job_id)

    def signal(self, job_id: str, signal: str) -> bool:
        """Send a signal; False when there is no such job, or it is over."""
        return self._change("qsig", ["-s", pbs_changes.signal_name(signal)], job_id)

    def alter(self, job_id: str, changes: Mapping[str, str]) -> bool:
        """Change attributes (`Resource_List.walltime`); False when there is no such job, or it is over."""
        return self._change("qalter", pbs_changes.words(changes), job_id)

    def _known(self, asked: list[str]) -> _Told:
        """Return what qstat tells of *asked*, asked for at once; what it is silent about is asked for in text again.

        With several ids in a row its JSON holds the first alone, and `-E` leaves unknown ones out without a word
        (23.06); its text does neither. So an id is gone only if qstat itself called it unknown.
        """
        first = self._report(["-E", *asked] if len(asked) > 1 and self._json else asked, asked)
        if not first.open:
            return first
        again = self._report(list(first.open), first.open, in_text=True)
        return _Told([*first.jobs, *again.jobs], again.open)

    def _report(self, words: Sequence[str], asked: Sequence[str], in_text: bool = False) -> _Told:
        jobs, answer = self._listed(words, in_text=in_text)
        gone = [Job(job_id, JobState.VANISHED) for job_id in _called_unknown(answer, asked)]
        states = answered(asked, [*jobs, *gone], frozenset(asked))
        return _Told(jobs, [job_id for job_id in asked if states[job_id] == Job(job_id, JobState.UNKNOWN)])

    def _jobs(self, words: Sequence[str], ended: bool = True) -> list[Job]:
        return self._listed(words, ended)[0]

    def _listed(self, words: Sequence[str], ended: bool = True, in_text: bool = False) -> tuple[list[Job], Output]:
        history = ["-x"] if ended and self._history else []
        try:
            entries, answer = self._answer("qstat", [*history, "-f", *words], "Jobs", in_text)
        except SchedulerError as error:
            if not history or "job history" not in error.text.lower():
                raise
            self._history = False
            return self._listed(words, ended, in_text)
        return [job_of(entry.name, entry.values, entry.inexact) for entry in entries], answer

    def _entries(self, command: str, words: Sequence[str], group: str) -> list[Entry]:
        return self._answer(command, words, group)[0]

    def _answer(
        self, command: str, words: Sequence[str], group: str, in_text: bool = False
    ) -> tuple[list[Entry], Output]:
        """Ask in JSON; where that is not known or cannot be read, in text, from then on."""
        form = ["-F", "json"] if self._json and not in_text else []
        options = [word for word in words if word.startswith("-") and (form or word != "-E")]
        operands = [word for word in words if not word.startswith("-")]
        answer = self._run(command, [*options, *form, *operands])
        complete = not answer.code or answer.code in _UNKNOWN
        if not complete and not (form and _is_usage(answer)):
            raise from_exit(command, answer.code, answer.err)
        entries = entries_of(answer.out, group) if complete else None
        if entries is None and not form:
            raise SchedulerError(command, "printed what cannot be read", "see the PBS administrator")
        if entries is None:
            self._json = False
            return self._answer(command, words, group)
        return entries, answer

    def _change(self, command: str, options: Sequence[str], job_id: str) -> bool:
        if not is_id(job_id):
            return False
        answer = self._run(command, [*options, job_id])
        if answer.code in _UNKNOWN and ("Unknown Job Id" in answer.err or "has finished" in answer.err):
            return False
        if answer.code:
            raise from_exit("%s %s" % (command, job_id), answer.code, answer.err)
        return True


class _Told(NamedTuple):
    """What qstat told: jobs, and the ids that it neither showed nor called unknown."""

    jobs: list[Job]
    open: list[str]


def _called_unknown(answer: Output, asked: Sequence[str]) -> list[str]:
    """Return the ids that qstat itself called unknown: by name, or by its exit status where it was asked for one."""
    named = _UNKNOWN_ID.findall(answer.err)
    return [*named, *asked] if answer.code in _UNKNOWN and len(asked) == 1 else named


def _is_usage(answer: Output) -> bool:
    return answer.code == 2 or "usage" in answer.err.lower() or "invalid option" in answer.err.lower()
