"""Slurm through its commands: squeue for all jobs at once, scontrol for details, sacct for what is gone from memory."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Optional, Unpack

from maple_submit_filter.request.slurm import options

from ..commands import Commands, How, Output, run
from ..protocol import Job, JobState, Node, Queue, SchedulerError, Server
from . import tables as slurm_tables
from .jobs import is_id, job_meant, job_of
from .queue import SlurmQueue
from .tables import is_gone, nodes_of, queue_of, server_of, slurm_refusal

_NODE = {
    "%N": "name",
    "%P": "partition",
    "%T": "state",
    "%c": "cpus",
    "%m": "memory",
    "%G": "gres",
    "%f": "features",
    "%E": "reason",
}
_AT_ONCE = 1000  # ids on one command line


class SlurmCommands(Commands):
    """The `Scheduler` of a Slurm cluster, through its commands.

    SLURM_CONF is in *environ*. *as_json*: as `SlurmQueue` has it.
    """

    name = "slurm"
    via = "Slurm's commands"
    submits = "sbatch"
    quiet = {"SLURM_TIME_FORMAT": "%s"}

    def __init__(self, folder: str | None = None, *, as_json: bool | None = None, **how: Unpack[How]) -> None:
        super().__init__(folder, **how)
        self._accounting = Accounting(self._run)
        self._queue = SlurmQueue(self._run, as_json)

    def jobs(self, ids: Sequence[str]) -> dict[str, Job]:
        """Return a job for each of *ids*; an array under its own id is one job, made of its tasks."""
        asked = list(dict.fromkeys(job_id for job_id in ids if is_id(job_id)))
        jobs: list[Job] = []
        for at in range(0, len(asked), _AT_ONCE):
            jobs += self._known(asked[at : at + _AT_ONCE])
        return {job_id: job_meant(job_id, jobs) for job_id in ids}

    def jobs_of(self, user: str, ended: bool = False) -> list[Job]:
        """Return the jobs and tasks of *user*; with *ended* those over that the controller still has in memory."""
        jobs = self._jobs_now(["-u", user], all_states=ended)
        return [job for job in jobs if job.owner == user and (ended or not job.over)]

    def nodes(self) -> list[Node]:
        """Return every node, with its partitions."""
        separator = slurm_tables.mark()
        answer = self._ask("sinfo", ["-h", "-a", "-N", "-o", slurm_tables.form(list(_NODE), separator)])
        return nodes_of(slurm_tables.rows(answer.out, list(_NODE.values()), separator))

    def queues(self) -> list[Queue]:
        """Return every partition."""
        answer = self._ask("scontrol", ["-a", "-o", "show", "partition"])
        return [queue for line in answer.out.splitlines() if (queue := queue_of(line))]

    def server(self) -> Server:
        """Return the cluster."""
        return server_of(self._ask("scontrol", ["show", "config"]).out)

    def submit(
        self,
        script_path: str,
        argv: Sequence[str] = (),
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> str:
        """Submit through sbatch and return the job's id. One on another cluster is `7;name`, and refused by the others.

        A submission that is late may have happened all the same; the exception says so.
        """
        asked = "submitting %s" % os.path.basename(script_path)
        words = [self._submit, "--parsable", *argv, "--", script_path]
        try:
            answer = run(words, timeout=self._submit_timeout, env=self._base() if env is None else env, cwd=cwd)
        except SchedulerError as error:
            if error.transient:
                error = SchedulerError(asked, error.text, "look with squeue whether it was submitted first")
            raise error from None
        job_id = re.search(r"^(\d+)(;[\w.-]+)?$", answer.out, re.MULTILINE)
        if answer.code or job_id is None:
            raise slurm_refusal(asked, answer)
        return job_id[0]

    def cancel(self, job_id: str) -> bool:
        """Cancel a job; False when there is none, or it is over."""
        return self._scancel(job_id, [])

    def signal(self, job_id: str, signal: str) -> bool:
        """Send a signal to the job's steps and its batch script; False when there is no such job, or it is over."""
        if not re.fullmatch(r"[A-Za-z]\w{0,20}|\d{1,2}", signal, re.ASCII):
            raise ValueError("%r is no signal" % signal)
        return self._scancel(job_id, ["--full", "--signal=%s" % signal.removeprefix("SIG")])

    def alter(self, job_id: str, changes: Mapping[str, str]) -> bool:
        """Change fields of `scontrol update` (`TimeLimit`); False when there is no such job, or it is over."""
        wrong = [key for key, value in changes.items() if not re.fullmatch(r"[A-Za-z]\w*", key) or "\0" in value]
        if wrong:
            raise ValueError("%r cannot be changed" % wrong[0])
        if not is_id(job_id):
            return False
        self._queue.forget()
        words = ["update", "JobId=%s" % job_id, *("%s=%s" % pair for pair in changes.items())]
        answer = self._run("scontrol", words)
        if answer.code and is_gone(answer.err):
            return False
        if answer.code:
            raise slurm_refusal("altering job %s" % job_id, answer)
        return True

    def _known(self, asked: list[str]) -> list[Job]:
        """Return the jobs among *asked* that the controller has in memory, then those that accounting remembers."""
        jobs = self._jobs_now(["-j", ",".join(asked)], all_states=True)
        missing = [job_id for job_id in asked if job_meant(job_id, jobs).state is JobState.VANISHED]
        return jobs + self._accounting.besides(jobs, missing)

    def _jobs_now(self, which: Sequence[str], all_states: bool) -> list[Job]:
        """Return the jobs that the controller has in memory, each task of an array on its own."""
        return self._queue.jobs(which, all_states)

    def _scancel(self, job_id: str, options: Sequence[str]) -> bool:
        """Call scancel, which is silent about unknown and ended jobs, and exits with 0, unless it is verbose."""
        if not is_id(job_id):
            return False
        answer = self._run("scancel", ["-v", *options, job_id])
        if is_gone(answer.err):
            return False
        if answer.code or "error:" in answer.err:
            raise slurm_refusal("scancel %s" % job_id, answer)
        return True

    def _ask(self, command: str, words: Sequence[str]) -> Output:
        answer = self._run(command, words)
        if answer.code:
            raise slurm_refusal("asking %s" % command, answer)
        return answer


# Jobs that the controller has forgotten, from the accounting; a cluster may have none.

_FIELDS = {
    "JobID": "id",
    "JobName": "name",
    "User": "user",
    "State": "state",
    "Reason": "reason",
    "Partition": "partition",
    "Account": "account",
    "NodeList": "nodes",
    "WorkDir": "work_dir",
    "Submit": "submitted",
    "Start": "started",
    "End": "ended",
    "ExitCode": "exit_code",
    "Comment": "comment",
    "StdOut": "stdout",  # since 24.05
    "StdErr": "stderr",
    "SubmitLine": "submit_line",
}


_NONE = "accounting storage is disabled"  # 25.11 says so only here; before, --helpformat failed


class Accounting:
    """sacct, asked through *run*, which takes a command and its words."""

    def __init__(self, run: Callable[[str, Sequence[str]], Output]) -> None:
        self._run = run
        self._known: dict[str, str] | None = None

    def jobs(self, ids: Sequence[str]) -> list[Job]:
        """Return the jobs and tasks among *ids* that it remembers; none where there is no accounting.

        Raises `SchedulerError` where there is one that does not answer.
        """
        fields = self._fields()
        if not fields:
            return []
        separator = slurm_tables.mark()
        words = ["-X", "-n", "-p", "--delimiter=" + separator, "-j", ",".join(ids), "--format=" + ",".join(fields)]
        answer = self._run("sacct", words)
        if answer.code and _NONE in answer.err.lower():
            self._known = {}
            return []
        if answer.code:
            raise slurm_refusal("asking sacct", answer)
        return [job_of(row, {}) for row in slurm_tables.parsable(answer.out, list(fields.values()), separator)]

    def besides(self, jobs: Sequence[Job], missing: Sequence[str]) -> list[Job]:
        """Return the jobs among *missing* that it remembers, of which the controller, who knows *jobs*, has none.

        Where it does not answer, and *jobs* holds any, each of them is in a state that nobody knows.
        """
        try:
            return self.jobs(missing) if missing else []
        except SchedulerError:
            if not jobs:
                raise
            return [Job(job_id, JobState.UNKNOWN) for job_id in missing]

    def _fields(self) -> dict[str, str]:
        """Return the fields of ours that this sacct knows, asked once."""
        if self._known is None:
            known = self._help()
            self._known = {name: field for name, field in _FIELDS.items() if name in known}
        return self._known

    def _help(self) -> set[str]:
        try:
            answer = self._run("sacct", ["--helpformat"])
        except SchedulerError as error:
            if error.transient:
                raise
            return set()  # no such command
        return set() if answer.code else set(answer.out.split())


SECONDS = 15.0  # a busy controller answers late, and a user waits
_SEVERAL = re.compile(rb"^#SBATCH[ \t]+(?:hetjob|packjob)\b", re.MULTILINE)


def complaint(argv: Sequence[bytes], script: bytes, cwd: str, environ: Mapping[str, str] = os.environ) -> Optional[str]:
    """Return what sbatch says against *script* with the words *argv*, the command first; "" where it would take it.

    None where that cannot be asked. Nothing is submitted. Raises `SchedulerError` where sbatch is not here or late.
    """
    read = options.read(argv)
    if read is None or b":" in argv or _SEVERAL.search(script):
        return None
    with tempfile.TemporaryDirectory(prefix="maple-") as folder:
        words = [os.fsdecode(word) for word in argv[1:]]
        if read.came != "wrap":
            path = os.path.join(folder, os.path.basename(words[read.word - 1]) if read.came == "file" else "sbatch")
            with open(path, "wb") as file:
                file.write(script)
            words = [*words[: read.word - 1], path, *words[read.word :]] if read.came == "file" else [*words, path]
        answer = run(
            ["sbatch", "--test-only", *words],
            timeout=SECONDS,
            env={**environ, "MAPLE": "off", "LC_ALL": "C"},
            cwd=cwd if os.path.isdir(cwd) else None,
        )
    return answer.err.strip() if answer.code else ""
