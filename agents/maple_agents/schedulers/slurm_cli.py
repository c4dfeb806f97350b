"""Slurm through its commands: squeue for all jobs at once, scontrol for details, sacct for what is gone from memory."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

from . import slurm_details, slurm_json, slurm_tables
from .commands import Said, quiet_environment, run
from .errors import SchedulerError
from .protocol import Job, JobState, Node, Queue, Server
from .slurm_accounting import Accounting
from .slurm_errors import is_gone, slurm_refusal
from .slurm_ids import ID, is_id, meant
from .slurm_jobs import job_of
from .slurm_places import nodes_of, queue_of, server_of

_JOB = {
    "%i": "id",
    "%j": "name",
    "%u": "user",
    "%T": "state",
    "%r": "reason",
    "%P": "partition",
    "%a": "account",
    "%N": "nodes",
    "%Z": "work_dir",
    "%V": "submitted",
    "%S": "started",
    "%e": "ended",
    "%o": "command",
    "%k": "comment",
}
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
_DETAILS_AT_MOST = 32  # jobs; each costs the controller one request, and sites limit those
_KEPT_AT_MOST = 4096  # jobs whose details are remembered
_AT_ONCE = 1000  # ids on one command line
_JSON_SINCE = (23, 2)  # before, `squeue --json` gives all jobs, whichever are asked for


class SlurmCommands:
    """The `Scheduler` of a Slurm cluster, through its commands.

    *folder*: where they lie, None: in PATH. *environ*: what they run in, None: our own; SLURM_CONF is in it.
    *as_json*: whether squeue is asked for JSON, which tells all of a job at once; None: where its release gives only
    the jobs that are asked for. Where it cannot be read a table is asked for, from then on; then exit codes and output
    paths come from scontrol, for at most 32 new states of jobs in a question, those over first.
    """

    name = "slurm"
    via = "Slurm's commands"

    def __init__(
        self,
        folder: str | None = None,
        *,
        sbatch: str = "",
        environ: Mapping[str, str] | None = None,
        timeout: float = 30.0,
        submit_timeout: float = 60.0,
        as_json: bool | None = None,
    ) -> None:
        self._folder = folder
        self._as_json = as_json
        self._sbatch = sbatch or self._command("sbatch")
        self._environ = environ
        self._timeout = timeout
        self._submit_timeout = submit_timeout
        self._accounting = Accounting(self._run)
        self._shown: dict[tuple[str, str, int | None], dict[str, str]] = {}

    def jobs(self, ids: Sequence[str]) -> dict[str, Job]:
        """Return a job for each of *ids*; an array under its own id is one job, made of its tasks."""
        asked = list(dict.fromkeys(one for one in ids if is_id(one)))
        found: list[Job] = []
        for at in range(0, len(asked), _AT_ONCE):
            found += self._known(asked[at : at + _AT_ONCE])
        return {one: meant(one, found) for one in ids}

    def jobs_of(self, user: str, ended: bool = False) -> list[Job]:
        """Return the jobs and tasks of *user*; with *ended* those over that the controller still has in memory."""
        found = self._jobs_now(["-u", user], all_states=ended)
        return [job for job in found if job.owner == user and (ended or not job.over)]

    def nodes(self) -> list[Node]:
        """Return every node, with its partitions."""
        separator = slurm_tables.mark()
        said = self._ask("sinfo", ["-h", "-a", "-N", "-o", slurm_tables.form(list(_NODE), separator)])
        return nodes_of(slurm_tables.rows(said.out, list(_NODE.values()), separator))

    def queues(self) -> list[Queue]:
        """Return every partition."""
        said = self._ask("scontrol", ["-a", "-o", "show", "partition"])
        return [queue for line in said.out.splitlines() if (queue := queue_of(line))]

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
        words = [self._sbatch, "--parsable", *argv, "--", script_path]
        try:
            said = run(words, timeout=self._submit_timeout, env=self._base() if env is None else env, cwd=cwd)
        except SchedulerError as error:
            if error.transient:
                error = SchedulerError(asked, error.text, "look with squeue whether it was submitted first")
            raise error from None
        job_id = re.search(r"^(\d+)(;[\w.-]+)?$", said.out, re.MULTILINE)
        if said.code or job_id is None:
            raise slurm_refusal(asked, said)
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
        self._shown = {}  # what was changed may be among it
        words = ["update", "JobId=%s" % job_id, *("%s=%s" % pair for pair in changes.items())]
        said = self._run("scontrol", words)
        if said.code and is_gone(said.err):
            return False
        if said.code:
            raise slurm_refusal("altering job %s" % job_id, said)
        return True

    def _known(self, asked: list[str]) -> list[Job]:
        """Return the jobs among *asked* that the controller has in memory, then those that accounting remembers."""
        found = self._jobs_now(["-j", ",".join(asked)], all_states=True)
        missing = [one for one in asked if meant(one, found).state is JobState.VANISHED]
        return found + (self._accounting.jobs(missing) if missing else [])

    def _jobs_now(self, which: Sequence[str], all_states: bool) -> list[Job]:
        """Return the jobs that the controller has in memory, each task of an array on its own."""
        if self._as_json is None:
            self._as_json = _release(self._run("squeue", ["--version"]).out) >= _JSON_SINCE
        if self._as_json:
            found = self._json(which, all_states)
            if found is not None:
                return found
        jobs = self._with_details(self._queue(which, all_states))
        self._as_json = False  # the table was read, and the JSON was not
        return jobs

    def _json(self, which: Sequence[str], all_states: bool) -> list[Job] | None:
        """Return what squeue says as JSON, maybe of more jobs; None where it says none that can be read."""
        try:
            said = self._run("squeue", ["-a", *_states(all_states), *which, "--json"])
            return [] if said.code and is_gone(said.err) else None if said.code else slurm_json.jobs(said.out)
        except SchedulerError as error:
            if error.transient:
                raise
        except (ValueError, RecursionError):
            pass
        return None

    def _queue(self, which: Sequence[str], all_states: bool) -> list[dict[str, str]]:
        """Return rows of squeue, each task of an array on its own."""
        separator = slurm_tables.mark()
        words = ["-h", "-a", "-r", *_states(all_states), *which, "-o", slurm_tables.form(list(_JOB), separator)]
        said = self._run("squeue", words)
        if said.code and is_gone(said.err):
            return []
        if said.code:
            raise slurm_refusal("asking squeue", said)
        return slurm_tables.rows(said.out, list(_JOB.values()), separator)

    def _with_details(self, rows: list[dict[str, str]]) -> list[Job]:
        """Return the jobs of *rows* with their details, which are asked for once while a job's state stays."""
        jobs = {row["id"]: job_of(row, {}) for row in rows}
        newest = sorted(jobs.values(), key=lambda job: (job.over, job.submitted or 0), reverse=True)
        unknown = [job for job in newest if ID.fullmatch(job.id) and _as_it_is(job) not in self._shown]
        if unknown:
            self._show(unknown[:_DETAILS_AT_MOST], {job.id: job.name for job in newest})
        return [job_of(row, self._shown.get(_as_it_is(jobs[row["id"]]), {})) for row in rows]

    def _show(self, jobs: Sequence[Job], names: Mapping[str, str]) -> None:
        """Ask scontrol; for one that has gone meanwhile it exits with 1, and the others are there."""
        said = run(
            [self._command("scontrol")],
            timeout=self._timeout,
            env=self._quiet(),
            stdin=slurm_details.questions(job.id for job in jobs),
        )
        found = slurm_details.answers(said.out, names)
        if len(self._shown) > _KEPT_AT_MOST:
            self._shown = {}
        self._shown.update((_as_it_is(job), found[job.id]) for job in jobs if job.id in found)

    def _scancel(self, job_id: str, options: Sequence[str]) -> bool:
        """Call scancel, which is silent about unknown and ended jobs, and exits with 0, unless it is verbose."""
        if not is_id(job_id):
            return False
        said = self._run("scancel", ["-v", *options, job_id])
        if is_gone(said.err):
            return False
        if said.code or "error:" in said.err:
            raise slurm_refusal("scancel %s" % job_id, said)
        return True

    def _ask(self, command: str, words: Sequence[str]) -> Said:
        said = self._run(command, words)
        if said.code:
            raise slurm_refusal("asking %s" % command, said)
        return said

    def _run(self, command: str, words: Sequence[str]) -> Said:
        return run([self._command(command), *words], timeout=self._timeout, env=self._quiet())

    def _base(self) -> Mapping[str, str]:
        return os.environ if self._environ is None else self._environ

    def _quiet(self) -> dict[str, str]:
        return quiet_environment(self._base(), SLURM_TIME_FORMAT="%s")

    def _command(self, name: str) -> str:
        return os.path.join(self._folder, name) if self._folder else name


def _states(all_of_them: bool) -> list[str]:
    return ["-t", "all"] if all_of_them else []


def _release(text: str) -> tuple[int, ...]:
    """Return the release of `slurm-wlm 22.05.8`: 22 and 5; nothing where none is said."""
    found = re.search(r" (\d{2})\.(\d{2})\b", text, re.ASCII)
    return (int(found[1]), int(found[2])) if found else ()


def _as_it_is(job: Job) -> tuple[str, str, int | None]:
    """Return what changes when anything that scontrol tells of a job may have changed."""
    return job.id, job.raw_state, job.started
