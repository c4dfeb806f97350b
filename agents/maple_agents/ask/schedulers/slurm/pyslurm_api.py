"""Slurm's jobs through pyslurm, where a release that fits is installed; all else through Slurm's commands.

pyslurm is bound to one release of Slurm, and its import can end the process: so it is imported by a child alone, one
for each question. A child that crashes, exits, hangs or talks nonsense is the last one; from then on the commands are
asked.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from typing import TypeGuard, Unpack

from ..commands import How, quiet_environment, run
from ..protocol import Job, SchedulerError, one_line
from . import json as slurm_json
from .commands import SlurmCommands
from .pyslurm_child import REFUSED

Row = dict[str, str]
SECONDS = 20.0  # for a child; it loads all jobs
_CHILD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pyslurm_child.py")
_SITE_ONLY = (sys.executable, "-I")  # what is installed, and nothing of the user's PYTHONPATH or folder


def is_installed() -> bool:
    """Return True where there is a pyslurm; whether it fits, only a child can find out."""
    try:
        return importlib.util.find_spec("pyslurm") is not None
    except (ImportError, ValueError):
        return False


def accounted(asked: Mapping[str, object], seconds: float, python: Sequence[str] = _SITE_ONLY) -> list[Row] | None:
    """Return what slurmdbd has of ended jobs, by the columns of sacct; None where no pyslurm here can tell.

    *asked*: conditions by the names of `pyslurm.db.JobFilter`. The child is one that may crash, hang or talk nonsense.
    """
    if not is_installed():
        return None
    try:
        answer = run([*python, _CHILD, json.dumps(dict(asked))], timeout=seconds, env=quiet_environment(os.environ))
        rows = json.loads(answer.out)["rows"] if answer.code == 0 else None
    except (SchedulerError, ValueError, LookupError, TypeError, RecursionError):
        return None
    return [{str(name): str(value) for name, value in row.items()} for row in rows] if _is_table(rows) else None


def _is_table(rows: object) -> TypeGuard[list[dict[str, object]]]:
    return isinstance(rows, list) and all(isinstance(row, dict) for row in rows)


class PySlurm(SlurmCommands):
    """The `Scheduler` of a Slurm cluster, with jobs from pyslurm; exit codes that it does not tell are scontrol's.

    *python*: the interpreter of the child, and its options. *why_not*: why pyslurm is not asked any more, "" while it
    is.
    """

    def __init__(self, folder: str | None = None, *, python: Sequence[str] = _SITE_ONLY, **how: Unpack[How]) -> None:
        super().__init__(folder, **how)
        self.via = "pyslurm"
        self.why_not = ""
        self._python = python

    def _jobs_now(self, which: Sequence[str], all_states: bool) -> list[Job]:
        """Return the jobs that are asked for and that the controller has in memory, each task of an array alone."""
        jobs = None if self.why_not else self._from_child()
        if jobs is None:
            return super()._jobs_now(which, all_states)
        asked = [job for job in _picked(jobs, which[0], which[1]) if all_states or not job.over]
        unsure = [dict(job.attributes) for job in asked if job.over and not job.attributes.get("exit_code")]
        detailed = {job.id: job for job in self._queue.with_details(unsure)} if unsure else {}
        return [detailed.get(job.id, job) for job in asked]

    def _from_child(self) -> list[Job] | None:
        """Return the jobs; None where the controller refused, and where pyslurm is not asked any more."""
        try:
            answer = run([*self._python, _CHILD], timeout=min(SECONDS, self._timeout), env=self._quiet())
            if answer.code == 0:
                return slurm_json.jobs(answer.out)
            if answer.code != REFUSED:
                last = answer.err.strip().splitlines()[-1:]
                self._give_up("it ended with %d: %s" % (answer.code, one_line("".join(last))))
        except (SchedulerError, ValueError, RecursionError) as error:
            self._give_up(str(error))
        return None

    def _give_up(self, why: str) -> None:
        self.why_not, self.via = why or "it said nothing", SlurmCommands.via


def _picked(jobs: Sequence[Job], option: str, value: str) -> list[Job]:
    """Return the jobs that squeue would give for `-u NAME`, or for `-j ID,ID`: of an id with all its tasks."""
    if option == "-u":
        return [job for job in jobs if job.owner == value]
    wanted = {_base(part) for part in value.split(",")}
    return [job for job in jobs if _base(job.id) in wanted]


def _base(job_id: str) -> str:
    return re.split("[_+]", job_id)[0]
