"""`maple progress`: how far, how fast, and whether it will make it."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Optional

import click

from ...base import output
from ...base.complaint import Complaint
from ...progress.answers import QUESTIONS
from .. import completion

if TYPE_CHECKING:
    from ...progress.job_logs import JobLogs
    from ...progress.values import Progress

ALARM, UNKNOWN = 3, 1


@click.command()
@click.argument("job", metavar="[JOBID|LOG]", required=False, shell_complete=completion.job_or_file)
@completion.log_files
@click.option("--watch", is_flag=True, help="Show it again and again, in place, until the job is over.")
@click.option("--every", metavar="SECONDS", type=click.IntRange(2, 3600), default=15, show_default=True,
              help="With --watch: how often the logs are read.")  # fmt: skip
@click.option("--notify", is_flag=True,
              help="Look once and say nothing; alarms that are new start what notify.toml asks for.")  # fmt: skip
@click.option("--ask", "question", metavar="QUESTION", shell_complete=completion.offering(lambda ctx: QUESTIONS),
              help=f"Answer a question, as JSON: {', '.join(QUESTIONS)}; or your own words.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON; its shape is stable.")
def progress(
    job: Optional[str],
    logs: tuple[str, ...],
    watch: bool,
    every: int,
    notify: bool,
    question: Optional[str],
    as_json: bool,
) -> int:
    """Show how far a job is, how fast, when it will be done, and what is odd.

    Without a job your running jobs are listed, one line each. With one each number is shown with the line of the log
    that tells it. LOG is a file, or a folder of files of ranks. A total that nothing tells is unknown: none is made up.

    \b
    Examples:
      maple progress                       my running jobs
      maple progress 4711                  one job, with its lines
      maple progress slurm-4711.out        a log; its job need not be known
      maple progress 4711 --watch          until it is over
      maple progress 4711 --json --ask eta for programs

    Lines of a program's own are read by a pattern of yours: [progress] pattern = '...' in maple.toml beside the script
    or the log, or in /etc/maple/progress.toml for a site. It is a regular expression of Python with the groups step,
    total, epoch, epochs, loss, step_seconds or ms, as far as the lines tell them.

    Words of your own (--ask "will it make it?") are answered where a language model is set (maple new --help): it may
    only choose one of these questions, and must quote lines of the log letter by letter; the answer is Maple's own.

    \b
    maple.toml:
      [progress]
      pattern = 'round (?P<step>[0-9]+) of (?P<total>[0-9]+)'

    An alarm is told once: here, or in one line by the next maple or sbatch on a terminal (qsub too). For that a small
    process of yours looks at your running jobs, at most every 5 minutes and only behind a maple command on a terminal;
    from cron: maple progress --notify. It can start a command of yours and send a mail, once for each kind of alarm of
    a job, as --watch does: [notify] command = '...' and mail = 'me@example.org' in ~/.config/maple/notify.toml. The
    command is run by sh, as you, with MAPLE_JOB, MAPLE_ALARM (silent, limit, loss-not-finite, loss-explodes,
    rank-behind, slower) and MAPLE_SAYS, a sentence; the mail goes to sendmail of this host, as you.

    Exit code: 0 shown; 1 nothing tells how far it is, or no job of yours runs; 2 usage, or nothing can be read; 3
    shown, and something is odd (an alarm).
    """
    from ...progress.earlier_runs import kept
    from ...progress.notices import seen
    from ..fix.application import interruptible, printing, spoken

    with interruptible():
        spoken()
        if notify:
            return _notified(job, logs)
        if job is None and not logs:
            return _jobs(watch, every, question, as_json)
        if watch and not (as_json or question):
            from .watch import Facts, watched

            facts = Facts(lambda: _found(job, logs))
            state = watched(lambda: _read(facts.get()), every)
        else:
            state = _read(_found(job, logs))
            with printing():
                _shown(state, question, as_json)
            seen(state)
        kept(state)
        return code(state)


def _notified(job: Optional[str], logs: tuple[str, ...]) -> int:
    from .notify import Notice, looked

    notice = Notice()
    progresses = [_read(_found(job, logs))] if job is not None or logs else running()
    looked(progresses, notice)
    return ALARM if any(progress.alarms for progress in progresses) else 0


def _jobs(watch: bool, every: int, question: Optional[str], as_json: bool) -> int:
    from ..fix.application import printing

    if question:
        raise Complaint("--ask wants a job", "maple progress JOBID --ask %s" % question)
    if watch and not as_json:
        from .watch import Facts, watched_jobs

        facts = Facts(_running)
        return watched_jobs(lambda: [_read(logs) for logs in facts.get()], every)
    progresses = running()
    with printing():
        if as_json:
            from ...progress.answers import VERSION, whole
            from ...progress.shapes import Jobs

            output.echo(Jobs(version=VERSION, jobs=[whole(progress) for progress in progresses]))
        else:
            from ...progress.notices import seen
            from .table import listed

            click.echo("\n".join(listed(progresses)) if progresses else "none of your jobs runs", err=not progresses)
            for progress in progresses:
                seen(progress)
    return 0 if progresses else UNKNOWN


def running() -> "list[Progress]":
    """Return how far each running job of the caller's is. Raises `Complaint`."""
    return [_read(logs) for logs in _running()]


def _running() -> "list[JobLogs]":
    from ...progress.job_logs import MOST_JOBS, of_job
    from ...progress.job_logs import running as jobs_that_run

    logs = []
    for job in jobs_that_run()[:MOST_JOBS]:
        try:
            logs.append(of_job(job.id))
        except Complaint:  # it ended a moment ago, or is of another part of an array
            continue
    return logs


def _found(job: Optional[str], logs: tuple[str, ...]) -> "JobLogs":
    """Return the job or the logs that are meant. Raises `Complaint`."""
    from ...progress.job_logs import of_files, of_job

    if job is not None and (not job[:1].isdigit() or os.path.exists(job)) and os.path.exists(job):
        return of_files([job, *logs])
    if job is not None and not logs:
        return of_job(job.strip())
    return of_files(logs)


def _read(meant: "JobLogs") -> "Progress":
    from dataclasses import replace

    from ...progress.formats import known
    from ...progress.log_ends import progress as read

    folders = [os.path.dirname(path) for path in (meant.script, *meant.files[:1]) if path] + [""]
    state = read(meant.files, known(folders), time.time(), meant.run, meant.hints, meant.ranks)
    return state if meant.files else replace(state, notes=(*state.notes, *meant.missing))


def _shown(state: "Progress", question: Optional[str], as_json: bool) -> None:
    from ...progress.answers import QUESTIONS, answer, whole

    if question:
        chosen = question if question in QUESTIONS else _meant(question, state)
        reply = answer(state, chosen)
        output.echo(reply if chosen == question else {**reply, "asked": question})
    elif as_json:
        output.echo(whole(state))
    else:
        from .page import page

        click.echo("\n".join(page(state)))


def _meant(words: str, state: "Progress") -> str:
    """Return which question of ours *words* ask, as the model that is set says. Raises `Complaint`."""
    from ...ask.models.choice import choose
    from ...ask.models.protocol import ModelError
    from ...progress.own_words import meant

    ours = "the questions are %s" % ", ".join(QUESTIONS)
    try:
        choice = choose()
        if choice is None:
            raise Complaint("--ask: no such question, and no model is set that could tell which is meant", ours)
        return meant(words, state, choice.model, choice.limit)
    except ModelError as error:
        raise Complaint("--ask: %s" % error, ours) from error


def code(progress: "Progress") -> int:
    """Return the exit code for what is known."""
    return UNKNOWN if progress.course.last is None else ALARM if progress.alarms else 0
