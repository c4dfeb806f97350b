"""Jobs that Slurm's controller has in memory: squeue for all at once, and what only scontrol tells, asked for once.

What `scontrol show job` tells (22.05 and later): all of a job, its output with the signs of its name filled in.

scontrol shows one job, or all; given commands on stdin it shows several in one process. Its prompt stands on a line of
its own, or in front of the answer where it was built without readline.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from ..commands import Output
from ..protocol import Job, SchedulerError
from . import json as slurm_json
from . import tables as slurm_tables
from .jobs import JOB_ID, job_of
from .tables import is_gone, slurm_refusal

_HEAD = re.compile(r"^(?:scontrol: )*JobId=(\d+) ((?:\w+=\S+ )*?)JobName=", re.MULTILINE | re.ASCII)
_FIELD = re.compile(r"(\S+?)=(.*?)(?=\s+[\w/:]+=|\s*$)")
_PATHS = ("StdErr", "StdIn", "StdOut")
_COMMENTS = ("Comment", "AdminComment", "SystemComment")
_WHOLE = (*_PATHS, *_COMMENTS, "Command", "WorkDir", "SubmitLine")  # fields whose value is the rest of their line
_DETAILS = ("ExitCode", "BatchFlag", "Command", "WorkDir", *_PATHS)

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

    def __call__(self, command: str, words: Sequence[str], stdin: bytes = b"") -> Output:
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
            answer = self._json(which, all_states)
            if answer is not None:
                return answer
        jobs = self.with_details(self._table(which, all_states))
        self._as_json = False  # the table was read, and the JSON was not
        return jobs

    def with_details(self, rows: list[dict[str, str]]) -> list[Job]:
        """Return the jobs of *rows* with their details, which are asked for once while a job's state stays."""
        jobs = {row["id"]: job_of(row, {}) for row in rows}
        newest = sorted(jobs.values(), key=lambda job: (job.over, job.submitted or 0), reverse=True)
        unknown = [job for job in newest if JOB_ID.fullmatch(job.id) and _as_it_is(job) not in self._shown]
        if unknown:
            self._show(unknown[:_DETAILS_AT_MOST], {job.id: job.name for job in newest})
        return [job_of(row, self._shown.get(_as_it_is(jobs[row["id"]]), {})) for row in rows]

    def forget(self) -> None:
        """Ask for details anew: a job was changed, and what was changed may be among them."""
        self._shown = {}

    def _json(self, which: Sequence[str], all_states: bool) -> list[Job] | None:
        """Return what squeue says as JSON; None where it says none that can be read."""
        try:
            answer = self._run("squeue", ["-a", *_states(all_states), *which, "--json"])
            return [] if answer.code and is_gone(answer.err) else None if answer.code else slurm_json.jobs(answer.out)
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
        answer = self._run("squeue", words)
        if answer.code and is_gone(answer.err):
            return []
        if answer.code:
            raise slurm_refusal("asking squeue", answer)
        return slurm_tables.rows(answer.out, list(_JOB.values()), separator)

    def _show(self, jobs: Sequence[Job], names: Mapping[str, str]) -> None:
        """Ask scontrol; for one that has gone meanwhile it exits with 1, and the others are there."""
        answer = self._run("scontrol", [], scontrol_questions(job.id for job in jobs))
        shown = scontrol_answers(answer.out, names)
        if len(self._shown) > _KEPT_AT_MOST:
            self._shown = {}
        self._shown.update((_as_it_is(job), shown[job.id]) for job in jobs if job.id in shown)


def _states(all_of_them: bool) -> list[str]:
    return ["-t", "all"] if all_of_them else []


def _release(text: str) -> tuple[int, ...]:
    """Return the release of `slurm-wlm 22.05.8`: 22 and 5; nothing where none is said."""
    match = re.search(r" (\d{2})\.(\d{2})\b", text, re.ASCII)
    return (int(match[1]), int(match[2])) if match else ()


def _as_it_is(job: Job) -> tuple[str, str, int | None]:
    """Return what changes when anything that scontrol tells of a job may have changed."""
    return job.id, job.raw_state, job.started


class Record(NamedTuple):
    """A job as scontrol shows it. *id*: `5_2` for a task of an array, of which *number* is what %j stands for."""

    id: str
    number: str
    fields: dict[str, str]


def scontrol_questions(ids: Iterable[str]) -> bytes:
    """Return what to give to scontrol's stdin to be shown *ids*, each of digits, `_` and `+`."""
    return "".join("show job %s\n" % job_id for job_id in ids).encode("ascii")


def scontrol_answers(text: str, names: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return exit code, batch flag and paths of each job in *text* by its id.

    *names*: the job names that squeue gave. A job that is there twice is not believed.
    """
    records = scontrol_records(text, names.values())
    seen = [record.id for record in records]
    kept = [record for record in records if seen.count(record.id) == 1]
    return {record.id: {name: record.fields[name] for name in _DETAILS if name in record.fields} for record in kept}


def scontrol_records(text: str, names: Iterable[str]) -> list[Record]:
    """Return the jobs in *text*, with all their fields.

    A name and a comment are any text, line ends included, and may look like another job: the *names* of jobs are taken
    out as a whole.
    """
    for name in names:
        if "\n" in name:
            text = text.replace("JobName=%s\n   UserId=" % name, "JobName=\n   UserId=")
    heads = list(_HEAD.finditer(text))
    ends = [match.start() for match in heads[1:]] + [len(text)]  # one more than heads where there is none
    return [Record(_id(head), head[1], _fields(text[head.end() : end])) for head, end in zip(heads, ends)]


def _id(head: re.Match[str]) -> str:
    fields = dict(word.split("=", 1) for word in head[2].split())
    if "ArrayJobId" in fields:
        return "%s_%s" % (fields["ArrayJobId"], fields.get("ArrayTaskId", ""))
    if "HetJobId" in fields:
        return "%s+%s" % (fields["HetJobId"], fields.get("HetJobOffset", ""))
    return head[1]


def _fields(record: str) -> dict[str, str]:
    """Return the fields of one record. Comments stand behind what is believed here, of which the first counts, and
    before the paths, of which the last does.
    """
    fields: dict[str, str] = {}
    for line in record.split("\n")[1:]:
        name, sign, value = line.lstrip(" ").partition("=")
        if not line.startswith("   ") or not sign:
            continue
        if name in _PATHS:
            fields[name] = value
        elif name in _WHOLE:
            fields.setdefault(name, value)
        else:
            for match in _FIELD.finditer(line.strip()):
                fields.setdefault(match[1], match[2])
    return fields
