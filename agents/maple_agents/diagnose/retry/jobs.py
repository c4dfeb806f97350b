"""A copy as a job: submitted as the first one was, waited for, and cancelled where nobody waits any longer."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
from collections.abc import Callable, Mapping, Sequence

from maple_submit_filter.types.submission import Submission

from ...ask.schedulers import Job, JobState, Scheduler, SchedulerError
from ...ask.schedulers.commands import run
from ...ask.schedulers.job_wait import Pace, changes
from .loop import NotTried

SUBMIT = 120.0  # seconds that the submit command may take
LONGEST = 30 * 86400.0  # seconds that a job is waited for
HELD = 10.0  # seconds; a job that is held so long waits for somebody
_PACE = Pace(first=0.5)
_ANSWERS = {
    "slurm": re.compile(r"^(?:Submitted batch job )?(\d+)(?:[; ].*)?$", re.MULTILINE),
    "pbs": re.compile(r"^(\d+(?:\[\d*\])?(?:\.[A-Za-z0-9][\w.-]*)?)$", re.MULTILINE | re.ASCII),
}
_TASK = re.compile(r"\d+_(\d+)\Z", re.ASCII)
_BLOCKING = (b"--wait", b"-W")


def words(asked: Submission, path: str, task: str = "") -> list[str]:
    """Return the submit command's words for *asked*, whose script is the copy at *path*.

    *task*: "4711_3" resubmits task 3 of that Slurm array alone. Options that would make sbatch wait are left out.
    """
    given, named = list(asked.argv), os.fsencode(path)
    at = max((place for place, word in enumerate(given) if place and word == named), default=len(given))
    options, behind = given[1:at], given[at + 1 :]
    more: list[bytes] = []
    if asked.scheduler == "slurm":
        options = [word for word in options if word not in _BLOCKING]
        index = _TASK.match(task)
        more = [b"--array=" + index[1].encode()] if index is not None else []
    return [os.fsdecode(word) for word in (given[0], *options, *more, named, *behind)]


def submit(argv: Sequence[str], scheduler: str, cwd: str, environ: Mapping[str, str] = os.environ) -> str:
    """Submit, and return the job's id. Raises `NotTried` with the command's own words where it refuses."""
    command = shutil.which(os.path.basename(argv[0]), path=environ.get("PATH"))
    if command is None:
        raise NotTried("%s is not on PATH" % argv[0])
    try:
        said = run([command, *argv[1:]], timeout=SUBMIT, env=environ, cwd=cwd)
    except SchedulerError as error:
        raise NotTried("%s: %s; see whether it was submitted all the same" % (argv[0], error.text)) from error
    found = _ANSWERS[scheduler].search(said.out)
    if said.code or found is None:
        lines = (said.err or said.out).strip().splitlines()
        raise NotTried("%s: %s" % (argv[0], lines[-1] if lines else "exited with %d" % said.code))
    return found[1]


def waited(
    scheduler: Scheduler, job_id: str, tell: Callable[[Job], None], clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Job:  # fmt: skip
    """Return a job when it is over, or held for so long that it waits for somebody; *tell* hears of every change.

    Raises `NotTried` where the scheduler cannot be asked.
    """
    deadline = clock() + LONGEST
    try:
        while True:
            seen = _until_held(scheduler, job_id, tell, deadline, clock, sleep)
            if seen is None or seen.over or clock() >= deadline:
                return seen or Job(job_id, JobState.UNKNOWN)
            sleep(HELD)
            again = scheduler.jobs([job_id])[job_id]
            if again.state is JobState.HELD:
                return again
    except SchedulerError as error:
        raise NotTried("job %s: %s" % (job_id, error.text)) from error


def _until_held(
    scheduler: Scheduler, job_id: str, tell: Callable[[Job], None], deadline: float, clock: Callable[[], float],
    sleep: Callable[[float], None],
) -> Job | None:  # fmt: skip
    seen = None
    for _, seen in changes(scheduler, [job_id], deadline, _PACE, clock=clock, sleep=sleep):
        tell(seen)
        if seen.state is JobState.HELD:
            break
    return seen


def cancel(scheduler: Scheduler, job_id: str) -> bool:
    """Ask for a job's end; return whether that could be asked."""
    with contextlib.suppress(SchedulerError):
        return scheduler.cancel(job_id)
    return False
