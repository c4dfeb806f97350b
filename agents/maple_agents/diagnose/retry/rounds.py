"""Fix, run, read again: up to five rounds, each with the user's word and none of them without.

A fix of the launch is proven by mini-apps within seconds; any other, and every one where the user said `--submit`, by
the job itself.

A copy as a job: submitted as the first one was, waited for, and cancelled where nobody waits any longer.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import click
from maple_submit_filter.types.submission import Submission

from ...ask.schedulers import Job, JobState, Scheduler, SchedulerError, choose
from ...ask.schedulers.commands import run as run_command
from ...ask.schedulers.job_wait import Pace, changes
from ...ask.verified_runs import CannotVerify, Interrupted
from ...base.complaint import Complaint
from ...base.new_file import put
from ...base.terminal import at_terminal, on_screen
from ...verify.run.watch import Interrupts
from .. import explanation
from ..diagnosis import UNKNOWN
from ..values import Case, Cure, Diagnosis, Ended
from .loop import Attempt, NotTried, Story, complained, show_story, story, story_json, submitted, untried
from .verification import PROVEN, explain_verified, run_miniapps

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

QUESTION = "Each round submits a job: the launch lines with mini-apps where these prove the fix, else the fixed copy."


def run(
    diagnosis: Diagnosis,
    rounds: int,
    model: str | None,
    submit: bool = False,
    tell: Callable[[dict[str, object]], None] | None = None,
) -> int:
    """Return the exit code of `maple-fix --rounds`: 0 it ran, 1 it did not.

    *submit*: the user said `--submit`; else a terminal is asked once. *tell*: gets the keys for the JSON; None: a table
    is printed. Raises `Complaint` where nobody can be asked, and `click.exceptions.Exit` at a signal; then the job of
    the round is cancelled and its copy gone.
    """
    first = diagnosis.causes[0].cause
    if first != "none" and untried(diagnosis, {submitted(diagnosis)}) is not None:
        _agreed(submit)
        made = _rounds(diagnosis, rounds, model, submit)
    else:
        made = story(diagnosis, 0 if first == "none" else 1, _never)
    if tell is not None:
        tell(story_json(made))
    else:
        show_story(made, diagnosis)
    return 0 if first == "none" or made.attempts and made.attempts[-1].ran else 1


def _agreed(submit: bool) -> None:
    """Return where the user has given word. Raises `Complaint` where there is none to be had."""
    if submit:
        return
    if not at_terminal():
        raise Complaint("--rounds submits jobs and cannot ask here", "add --submit")
    click.echo("\n".join(on_screen(QUESTION)), err=True)
    if not click.confirm("Go on?", default=False, err=True):
        raise click.exceptions.Exit(1)


def _never(_: Diagnosis, __: Cure, ___: int) -> Attempt:
    raise NotTried("no fix changes the script")


def _rounds(diagnosis: Diagnosis, rounds: int, model: str | None, submit: bool) -> Story:
    try:
        scheduler = choose(diagnosis.case.scheduler)
    except SchedulerError as error:
        raise Complaint("no round was tried: %s" % error.text, error.remedy) from error
    interrupts = Interrupts()
    try:
        with interrupts.caught(), waiting() as tell:
            rounds_by = _Rounds(scheduler, model, submit, interrupts, tell)
            return story(diagnosis, rounds, rounds_by.attempt)
    except Interrupted as error:
        complained("interrupted: the job of this round was cancelled, its copy is gone")
        raise click.exceptions.Exit(128 + error.number) from error


@dataclass(frozen=True)
class _Rounds:
    """The rounds of one failure, at the edge."""

    scheduler: Scheduler
    model: str | None
    submit: bool
    interrupts: Interrupts
    tell: Tell

    def attempt(self, now: Diagnosis, cure: Cure, number: int) -> Attempt:
        """Run a fix, and read what came of it. Raises `NotTried`."""
        asked = now.case.asked
        if asked is None:
            raise NotTried("there is no script that could be fixed")
        with self._copy(now, cure) as path:
            changed = _changed(asked, cure, path)
            if not self.submit and now.causes[0].cause in PROVEN:
                made = self._by_miniapps(now, cure, number, path, changed)
                if made is not None:
                    return made
            return self._by_job(now, cure, number, path, changed)

    @contextlib.contextmanager
    def _copy(self, now: Diagnosis, cure: Cure) -> Iterator[str]:
        """Give the copy of a round; one that no job ran is taken away again."""
        with self.interrupts.held():
            path = written(cure, now)
        try:
            yield path
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(path)
            raise

    def _by_miniapps(self, now: Diagnosis, cure: Cure, number: int, path: str, changed: Submission) -> Attempt | None:
        """Return what mini-apps prove of a copy's launch lines, None where they prove nothing."""
        try:
            made = run_miniapps(
                changed, now.case.site, self.scheduler, lambda job_id, _: self.tell(number, job_id, None)
            )
        except (CannotVerify, SchedulerError):
            return None
        if made.verdict.result.value == "unclear":
            return None
        after = explain_verified(made, changed, now.case.site)
        job = made.job.id if made.job is not None else ""
        return Attempt(number, cure, path, "mini-app", job, made.verdict.result.value, after)

    def _by_job(self, now: Diagnosis, cure: Cure, number: int, path: str, changed: Submission) -> Attempt:
        argv = submit_words(changed, path, now.case.ended.id)
        cwd = os.fsdecode(changed.cwd)
        job_id, over = "", False
        try:
            with self.interrupts.held():
                job_id = submit(argv, self.scheduler.name, cwd)
            self.tell(number, job_id, None)
            seen = waited(self.scheduler, job_id, lambda job: self.tell(number, job_id, job))
            after = self._read(job_id, now.case, changed)
            over = seen.over
        finally:
            if job_id and not over:
                with self.interrupts.held():
                    cancel(self.scheduler, job_id)
        return Attempt(number, cure, path, "job", job_id, after.case.ended.state, after)

    def _read(self, job_id: str, before: Case, changed: Submission) -> Diagnosis:
        try:
            case = explanation.case_of(job_id, (), None, before.site.id, (), None, None)
        except Complaint as error:
            unread = replace(before, ended=Ended(job_id), asked=changed, logs=(), missing=(error.format_message(),))
            return Diagnosis(unread, (UNKNOWN,))
        if case.asked is None or case.asked.script is None:
            case = replace(case, asked=changed)
        return explanation.explained(case, self.model)


def _changed(asked: Submission, cure: Cure, path: str) -> Submission:
    """Return the submission of a copy."""
    argv = cure.argv if cure.argv is not None else asked.argv
    named = os.fsencode(path)
    argv = tuple(named if place and word == asked.path and word else word for place, word in enumerate(argv))
    if named not in argv:
        argv = (*argv, named)
    return asked._replace(
        argv=argv, path=named, script=cure.script if cure.script is not None else asked.script, came="file"
    )


# A line on the terminal while a round's job is waited for; where nobody looks there is none.

Tell = Callable[[int, str, Job | None], None]


@contextmanager
def waiting() -> Iterator[Tell]:
    """Give a function that is told of a round, its job's id, and what the scheduler says of that job."""
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True, highlight=False).status("looking for a fix") as status:
        yield lambda number, job_id, job: status.update(Text(words(number, job_id, job)))


def words(number: int, job_id: str, job: Job | None) -> str:
    """Return how far a round has come; the time is that of the last change."""
    state = job.state.value if job is not None else "submitted"
    why = ", " + job.comment if job is not None and job.state.value in ("queued", "held") and job.comment else ""
    return "round %d: job %s: %s%s since %s (Ctrl-C cancels it)" % (
        number, job_id, state, why, time.strftime("%H:%M:%S"),
    )  # fmt: skip


# The names of fixed copies: beside the script, `NAME.maple.sh`, `NAME.maple-2.sh`, and nothing is overwritten.

MOST = 999  # copies of one script
_COPY = re.compile(r"\.maple(-\d{1,3})?\Z")


def written(cure: Cure, diagnosis: Diagnosis) -> str:
    """Write what *cure* makes of the script, and return the copy's path. Raises `NotTried`."""
    asked = diagnosis.case.asked
    if asked is None:
        raise NotTried("there is no script that could be fixed")
    script = cure.script if cure.script is not None else asked.script or b""
    path = os.path.join(os.fsdecode(asked.cwd), os.fsdecode(asked.path) or "job.sh")
    try:
        return _put(script, path)
    except Complaint as error:
        raise NotTried(error.format_message()) from error


def _put(script: bytes, path: str) -> str:
    for number in range(1, MOST + 1):
        new = name(path, number)
        if os.path.lexists(new):
            continue
        try:
            put(script, new)
            return new
        except Complaint:
            if not os.path.lexists(new):  # else somebody was quicker
                raise
    raise NotTried("%s: there are %d copies already" % (path, MOST))


def name(path: str, number: int) -> str:
    """Return the path of a script's copy: of `job.sh` `job.maple.sh`, then `job.maple-2.sh`; a copy's are its own."""
    folder, base = os.path.split(path)
    stem = _COPY.sub("", base[:-3] if base.endswith(".sh") else base)
    return os.path.join(folder, stem + (".maple.sh" if number == 1 else ".maple-%d.sh" % number))


def submit_words(asked: Submission, path: str, task: str = "") -> list[str]:
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
        answer = run_command([command, *argv[1:]], timeout=SUBMIT, env=environ, cwd=cwd)
    except SchedulerError as error:
        raise NotTried("%s: %s; see whether it was submitted all the same" % (argv[0], error.text)) from error
    match = _ANSWERS[scheduler].search(answer.out)
    if answer.code or match is None:
        lines = (answer.err or answer.out).strip().splitlines()
        raise NotTried("%s: %s" % (argv[0], lines[-1] if lines else "exited with %d" % answer.code))
    return match[1]


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
