"""`maple show`: what was really submitted, what Maple thought of it, and what became of it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Optional

import click

from ...base import output
from ...base.terminal import on_screen
from .. import completion
from .versions import asked_of_service

if TYPE_CHECKING:
    from maple_submit_filter.types.job_records import Record, Version

Object = dict[str, Any]


@click.command()
@click.argument("job", metavar="JOBID|last", shell_complete=completion.submissions)
@click.option("--script", is_flag=True, help="Print only the script that was submitted; secrets are masked.")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON; its shape is stable.")
def show(job: str, script: bool, as_json: bool) -> int:
    """Show what was really submitted: the difference to what you wrote, findings, launch plan, and how the job ended.

    JOBID is the scheduler's, or the record's id in the last line of a repaired script; "last" is your last submission.

    \b
    Examples:
      maple show last
      maple show 4711
      maple show 4711 --script > again.sh

    Exit code: 0 shown, 1 no such submission is remembered, 2 usage, 3 the service does not answer.
    """
    with asked_of_service():
        from maple_agents.ask.memory.versions import decision

        from ...progress.earlier_runs import with_log

        record = _record(job)
        version = _version(record) if record else None
        record = with_log(record, version) if record else None
        decided = decision(record.decision) if record else None
    if record is None:
        from maple_agents.base.near_names import meant

        from ...diagnose.read.clean_lines import safe  # a token may have been typed in place of a number

        last = "none of your submissions is known yet"
        hint = meant(job, ("last",))
        wrong = "%s: you have no submission of this id; %s%smaple history lists your jobs"
        named = wrong % (safe(job), hint + " " if hint else "", _unknown_ids())
        click.echo("\n".join(on_screen("maple: %s" % (last if job == "last" else named))), err=True)
        return 1
    if script:
        return _printed(record, version, decided)
    if as_json:
        from .answers import show as answer

        output.echo(answer(record, version, decided))
    else:
        from .history_page import shown

        shown(record, version, decided)
    return 0


def _unknown_ids() -> str:
    """Return a hint where the service knows of no job at all which submission it came from, "" else."""
    from maple_agents.ask.memory.versions import records

    submissions = list(records())
    if not submissions or any(record.job for record in submissions):
        return ""
    return "the service knows no job ids: its hooks tell them; maple show last shows the newest; "


def _record(job: str) -> "Optional[Record]":
    """Return the submission that is meant, the newest of several; a task of an array is found by the array's id too."""
    from maple_agents.ask.memory.versions import records, submission

    if job == "last":
        return next(iter(records(limit=1)), None)
    record = submission(job)
    if record is not None:
        return record
    return next((record for record in records() if record.id == job), None)


def _version(record: "Record") -> "Optional[Version]":
    from maple_agents.ask.memory.service import ask
    from maple_agents.ask.memory.versions import version

    fields = ask({"ask": "version", "version": record.version}) if record.version else None
    return version(fields) if fields else None


def _printed(record: "Record", version: "Optional[Version]", decided: Optional[Object]) -> int:
    from .versions import submitted

    if version is not None and not record.verdict:
        how = "qstat -f" if version.scheduler == "pbs" else "scontrol write batch_script"
        wrong = "maple: a helper answered for %s, so what was submitted is not known here; %s tells of the job itself"
        click.echo(wrong % (record.id, how), err=True)
        return 1
    source, _ = submitted(record, version, decided)
    if not source:
        click.echo("maple: the script of %s is no longer kept" % record.id, err=True)
        return 1
    if b"[masked]" in source:
        click.echo("maple: secrets are masked as [masked]; put them back before submitting", err=True)
    sys.stdout.buffer.write(source)
    return 0
