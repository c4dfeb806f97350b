"""Jobs that Slurm's controller has in memory: squeue for all at once, and what only scontrol tells, asked for once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Protocol

from ..commands import Said
from ..errors import SchedulerError
from ..protocol import Job
from . import details as slurm_details
from . import json as slurm_json
from . import tables as slurm_tables
from .ids import ID
from .jobs import job_of
from .tables import is_gone, slurm_refusal

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
_DETAILS_AT_MOST = 32  # jobs; each costs the controller one request, and sites limit those
_KEPT_AT_MOST = 4096  # jobs whose details are remembered
_JSON_SINCE = (23, 2)  # before, `squeue --json` gives all jobs, whichever are asked for


class Run(Protocol):
    """Runs a command of Slurm's with its words, in time. Raises `SchedulerError`."""

    def __call__(self, command: str, words: Sequence[str], stdin: bytes = b"") -> Said:
        """Return what it said."""


class SlurmQueue:
    """squeue and scontrol, asked through *run*.

    *as_json*: whether squeue is asked for JSON, which tells all of a job at once; None: where its release gives only
    the jobs that are asked for. Where it cannot be read a table is asked for, from then on; then exit codes and output
    paths come from scontrol, for at most 32 new states of jobs in a question, those over first.
    """

    def __init__(self, run: Run, as_json: bool | None = None) -> None:
        self._run, self._as_json = run, as_json
        self._shown: dict[tuple[str, str, int | None], dict[str, str]] = {}

    def jobs(self, which: Sequence[str], all_states: bool) -> list[Job]:
        """Return the jobs that squeue's options *which* mean, maybe more, each task of an array on its own."""
        if self._as_json is None:
            self._as_json = _release(self._run("squeue", ["--version"]).out) >= _JSON_SINCE
        if self._as_json:
            found = self._json(which, all_states)
            if found is not None:
                return found
        jobs = self.with_details(self._table(which, all_states))
        self._as_json = False  # the table was read, and the JSON was not
        return jobs

    def with_details(self, rows: list[dict[str, str]]) -> list[Job]:
        """Return the jobs of *rows* with their details, which are asked for once while a job's state stays."""
        jobs = {row["id"]: job_of(row, {}) for row in rows}
        newest = sorted(jobs.values(), key=lambda job: (job.over, job.submitted or 0), reverse=True)
        unknown = [job for job in newest if ID.fullmatch(job.id) and _as_it_is(job) not in self._shown]
        if unknown:
            self._show(unknown[:_DETAILS_AT_MOST], {job.id: job.name for job in newest})
        return [job_of(row, self._shown.get(_as_it_is(jobs[row["id"]]), {})) for row in rows]

    def forget(self) -> None:
        """Ask for details anew: a job was changed, and what was changed may be among them."""
        self._shown = {}

    def _json(self, which: Sequence[str], all_states: bool) -> list[Job] | None:
        """Return what squeue says as JSON; None where it says none that can be read."""
        try:
            said = self._run("squeue", ["-a", *_states(all_states), *which, "--json"])
            return [] if said.code and is_gone(said.err) else None if said.code else slurm_json.jobs(said.out)
        except SchedulerError as error:
            if error.transient:
                raise
        except (ValueError, RecursionError):
            pass
        return None

    def _table(self, which: Sequence[str], all_states: bool) -> list[dict[str, str]]:
        """Return rows of squeue, each task of an array on its own."""
        separator = slurm_tables.mark()
        words = ["-h", "-a", "-r", *_states(all_states), *which, "-o", slurm_tables.form(list(_JOB), separator)]
        said = self._run("squeue", words)
        if said.code and is_gone(said.err):
            return []
        if said.code:
            raise slurm_refusal("asking squeue", said)
        return slurm_tables.rows(said.out, list(_JOB.values()), separator)

    def _show(self, jobs: Sequence[Job], names: Mapping[str, str]) -> None:
        """Ask scontrol; for one that has gone meanwhile it exits with 1, and the others are there."""
        said = self._run("scontrol", [], slurm_details.questions(job.id for job in jobs))
        found = slurm_details.answers(said.out, names)
        if len(self._shown) > _KEPT_AT_MOST:
            self._shown = {}
        self._shown.update((_as_it_is(job), found[job.id]) for job in jobs if job.id in found)


def _states(all_of_them: bool) -> list[str]:
    return ["-t", "all"] if all_of_them else []


def _release(text: str) -> tuple[int, ...]:
    """Return the release of `slurm-wlm 22.05.8`: 22 and 5; nothing where none is said."""
    found = re.search(r" (\d{2})\.(\d{2})\b", text, re.ASCII)
    return (int(found[1]), int(found[2])) if found else ()


def _as_it_is(job: Job) -> tuple[str, str, int | None]:
    """Return what changes when anything that scontrol tells of a job may have changed."""
    return job.id, job.raw_state, job.started
