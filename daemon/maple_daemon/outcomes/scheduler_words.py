"""From the scheduler's own words to an `Outcome`: one table for hooks, commands and libraries.

The words are read by the schedulers' adapters (`slurm_jobs.ending`: the states of squeue(1), job state codes;
`pbs_jobs.ending`: Exit_status and substate of PBS's job attributes); what Maple calls them stands in `states`.

Asking the scheduler, where no hook tells: one question for all jobs that are not known to have ended, seldom.
"""

from __future__ import annotations

import os
import pwd
import re
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from maple_agents.ask.schedulers import SchedulerError, choose
from maple_agents.ask.schedulers.pbs import jobs as pbs_jobs
from maple_agents.ask.schedulers.protocol import GOING_ON, OF_REASON, OF_STATE, Ending, EndReason, Job, JobState
from maple_agents.ask.schedulers.slurm import jobs as slurm_jobs
from maple_submit_filter.types.job_records import Outcome, Record

from ..base.telemetry import log
from .events import Ended

FORGOTTEN = 600.0  # seconds after which a job that the scheduler does not know is none that comes yet

_DEFAULT, _DEFAULT_OF_TASK = "slurm-%j.out", "slurm-%A_%a.out"  # in the working directory: sbatch(1), --output
_ENDS_OF_A_KILL = (9, 15)  # signals that scancel, qdel, a limit and a program send: without a state word, who knows


def of_event(event: Ended) -> Outcome:
    """Return how the job ended, as its hook says."""
    state, ending = _slurm(event) if event.scheduler == "slurm" else _pbs(event)
    return Outcome(
        event.job, state, event.uid, event.source, ending.exit_code, ending.signal, event.nodes, event.submitted,
        event.started, event.ended if state not in GOING_ON else None, event.name, event.workdir, event.script_hash,
        event.record, _path(event, _stdout(event)), _path(event, event.stderr),
    )  # fmt: skip


def of_job(job: Job, uid: int, source: str) -> Outcome | None:
    """Return where a job is that the scheduler was asked about; None where it says a word that is not known."""
    if job.state is JobState.UNKNOWN:
        return None
    ending = job.ending or Ending(EndReason.UNKNOWN)
    state = OF_STATE.get(job.state) or OF_REASON[ending.reason]
    return Outcome(
        job.id, state, uid, source, ending.exit_code, ending.signal, ",".join(job.nodes), job.submitted, job.started,
        job.ended, job.name, job.work_dir or "", output=job.stdout or "", error=job.stderr or "",
    )  # fmt: skip


def better(old: Outcome, new: Outcome) -> Outcome:
    """Return which of two words about one job holds: an end over what goes on, a known end over an unknown one.

    Hooks may arrive in another order than they were sent. A job that was put back into its queue goes on after an end.
    What somebody ended stays so: a hook that knows the exit status alone takes it for a failure, or for well done.
    """
    new = _filled(new, old)
    if new.state == "requeued" and (old.ended or 0) <= (new.submitted or 0):
        return new
    less = ("unknown",) if old.state != "cancelled" else ("unknown", "failed", "completed")
    if old.state not in GOING_ON and (new.state in GOING_ON or (new.state in less and new.state != old.state)):
        return _filled(old, new)
    return new


def _filled(outcome: Outcome, other: Outcome) -> Outcome:
    """Return *outcome* with what only the other knows: each of two hooks may know a part, of a hash too."""
    names = ("nodes", "submitted", "started", "name", "workdir", "record", "output", "error")
    hashed = other.script_hash if other.script_hash.startswith(outcome.script_hash) else outcome.script_hash
    return outcome._replace(
        script_hash=hashed, **{name: getattr(outcome, name) or getattr(other, name) for name in names}
    )


def of_array(array: str, task: Outcome, before: Outcome | None) -> Outcome:
    """Return what is known of a whole array when one of its tasks has ended: it failed as the first task that did.

    While all went well it is running: nobody tells how many tasks there are.
    """
    if before is not None and before.state not in GOING_ON:
        return before
    whole = Outcome(array, "running", task.uid, task.source, None, None, "", task.submitted, task.started)
    whole = whole._replace(name=task.name, workdir=task.workdir, script_hash=task.script_hash, record=task.record)
    if task.state in GOING_ON or task.state == "completed":
        return whole
    return task._replace(job=array)


def _slurm(event: Ended) -> tuple[str, Ending]:
    """PENDING is what `jobcomp/script` says of a job that was put back into its queue (22.05)."""
    word = event.state or _word(event.exit)
    if slurm_jobs.state(word) is not JobState.FINISHED and word:
        return ("requeued" if word.startswith("PENDING") or "REQUEUE" in word else "unknown"), Ending(EndReason.UNKNOWN)
    ending = slurm_jobs.ending(word, event.exit)
    return OF_REASON[ending.reason], ending


def _word(code: str) -> str:
    """Return a state for an exit code alone, as EpilogSlurmctld has it, "" where it may be one of several."""
    match = re.fullmatch(r"(\d{1,3}):(\d{1,3})", code, re.ASCII)
    if match is None or int(match[2]) in _ENDS_OF_A_KILL:
        return ""
    return "COMPLETED" if code == "0:0" else "FAILED"


def _pbs(event: Ended) -> tuple[str, Ending]:
    fields = {"substate": event.state, "Exit_status": event.exit, "comment": event.comment}
    ending = pbs_jobs.ending({name: value for name, value in fields.items() if value})
    killed = ending.reason is EndReason.SIGNALLED and ending.signal in _ENDS_OF_A_KILL
    killed = killed or ending.shell_signal == signal.SIGTERM and not event.comment  # of qdel, or of the script's own
    return "unknown" if killed else OF_REASON[ending.reason], ending


def _stdout(event: Ended) -> str:
    """Return where output was asked to go. Without -o Slurm (22.05, 24.11) tells nothing, and 25.11 a bare name.

    Such a name of an array's task may be the one that sbatch gives to others: then it is not known.
    """
    if event.scheduler != "slurm" or event.stdout not in ("", _DEFAULT):
        return event.stdout
    if not event.workdir or (not event.stdout and event.batch != "yes"):
        return ""
    return _DEFAULT if "_" not in event.job else _DEFAULT_OF_TASK if not event.stdout else ""


def _path(event: Ended, pattern: str) -> str:
    """Return where output goes; Slurm's hooks give the pattern as it was asked for, PBS puts a host in front."""
    if event.scheduler == "pbs":
        return re.sub(r"^[A-Za-z0-9._-]+:(?=/)", "", pattern, flags=re.ASCII)
    path = _expanded(pattern, _signs(event))
    return os.path.join(event.workdir, path) if path and event.workdir else path


def _signs(event: Ended) -> dict[str, str]:
    """Return what sbatch(1), "filename pattern", calls the job's own facts; those of a node are not known here."""
    array, underscore, task = event.job.partition("_")
    signs = {"j": event.job, "A": event.array or event.job, "x": event.name, "u": event.owner, "%": "%"}
    if underscore:
        signs |= {"A": array, "a": task, "j": event.number}  # the task's own number is not its id
    return {sign: value for sign, value in signs.items() if value}


def _expanded(pattern: str, signs: Mapping[str, str]) -> str:
    """Return the path, "" where a sign in it is not known."""
    unknown = False

    def sign_value(match: re.Match[str]) -> str:
        nonlocal unknown
        value = signs.get(match[2])
        unknown = unknown or value is None
        return (value or "").rjust(min(10, int(match[1] or 0)), "0") if match[2] in "jAa" else value or ""

    path = re.sub(r"%(\d{0,2})([A-Za-z%])", sign_value, pattern, flags=re.ASCII)
    return "" if unknown else path


class Asked(Protocol):
    """As much of a `Scheduler` as is needed here."""

    @property
    def name(self) -> str:
        """Return `pbs` or `slurm`."""

    def jobs(self, ids: Sequence[str]) -> dict[str, Job]:
        """Return a job for each id, in one question."""


class Polling:
    """*seconds* between two questions. *scheduler* makes the adapter when it is first needed."""

    def __init__(self, seconds: float, scheduler: Callable[[], Asked] = choose) -> None:
        self.seconds = seconds
        self._choose, self._scheduler = scheduler, None  # type: Callable[[], Asked], Asked | None
        self._said = ""

    def ask(self, records: Sequence[Record]) -> list[Outcome]:
        """Return what became of the jobs of these records; raises nothing, what cannot be asked is said."""
        if not records:
            return []
        try:
            if self._scheduler is None:
                self._scheduler = self._choose()
            jobs = self._scheduler.jobs(list(dict.fromkeys(record.job for record in records)))
        except (SchedulerError, OSError, ValueError) as error:
            self._say(str(error))
            return []
        self._say("")
        outcomes = (outcome_of(record, jobs.get(record.job), self._scheduler.name, time.time()) for record in records)
        return [outcome for outcome in outcomes if outcome is not None]

    def _say(self, why: str) -> None:
        if why and why != self._said:
            log().warning("the scheduler was not asked", why=why)
        self._said = why


def outcome_of(record: Record, job: Job | None, scheduler: str, now: float) -> Outcome | None:
    """Return the outcome where it says more than was known; None for a job of somebody else's that has the same id."""
    if job is None or not _is_of(job, record.uid):
        return None
    if job.state is JobState.VANISHED:
        if now - record.at < FORGOTTEN:
            return None
        return Outcome(record.job, "unknown", record.uid, "%s, asked" % scheduler)
    made = of_job(job, record.uid, "%s, asked" % scheduler)
    if made is None or (record.outcome is not None and record.outcome.state == made.state):
        return None
    return made._replace(job=record.job)


def _is_of(job: Job, uid: int) -> bool:
    """Schedulers use ids again. A job that vanished has no owner any more."""
    if not job.owner:
        return True
    try:
        return pwd.getpwnam(job.owner).pw_uid == uid
    except KeyError:
        return job.owner == str(uid)
