"""`maple history`: the versions of one's jobs, what changed from one to the next, and how each ended.

With `--metadata`: what is known of the newest, each value with its place and how it was read.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from typing import TYPE_CHECKING, Optional, Sequence

import click
from maple_submit_filter.answer.report import printable
from maple_submit_filter.host import own_folders

from ...base import output
from ...base.terminal import on_screen
from .. import completion
from .versions import asked_of_service

if TYPE_CHECKING:
    from maple_submit_filter.types.job_records import Outcome, Record, Version

    from maple_agents.admission.agent.asking import Found
    from maple_agents.ask.memory.versions import Job

HOW = {
    "arguments": "the launch line",
    "script": "the script",
    "plan": "what would start",
    "config": "a config",
    "program": "the program",
    "model": "a model, two of three samples, checked at its place",
}
_MOST = 1 << 20  # bytes of what was kept
Row = tuple[str, str, str, str]


@click.command()
@click.argument("job", metavar="[NAME|PATH]", default="", shell_complete=completion.name_or_file)
@click.option("--why", is_flag=True, help="Show which parts of each version were read again, and why.")
@click.option(
    "--metadata", is_flag=True, help="Show what is known of the newest version: each value, where, and how read."
)
@click.option(
    "--ask", "asks", is_flag=True, help="With --metadata: let the configured model look for what is not known."
)
@click.option("--limit", metavar="N", type=click.IntRange(1, 50), default=10, show_default=True,
              help="Versions of a job, or jobs where none is named.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON; its shape is stable.")
def history(job: str, why: bool, metadata: bool, asks: bool, limit: int, as_json: bool) -> int:
    """Show the versions of a job: when, what changed, what Maple changed, the job's id, and how it ended.

    NAME is the job's name or its script's, with or without .sh; PATH is its script. A scheduler's JOBID, the beginning
    of a version's id, and "last" for your last submission work too. Without NAME all of your jobs are listed. You see
    your own jobs only, and secrets in scripts are masked.

    A job that was submitted without Maple is listed by how it ended, where the scheduler's hooks told that.

    How far a run came is read in its log, once it is over, by you; the service keeps the numbers with the version.

    With --ask a language model, if one is configured, reads the files of the job's own folder as you, masked, for what
    is not known. Three times; a value counts if two agree and it stands where they say. Nothing else is believed.

    \b
    Examples:
      maple history
      maple history train.sh --metadata
      maple history train.sh
      maple history --why --limit 3 train

    Exit code: 0 shown, 1 nothing of that name is remembered, 2 usage, 3 the service does not answer.
    """
    with asked_of_service():
        jobs = _found(job, limit, wide=bool(job) or why or as_json)
        ends = _unrecorded(job) if not jobs or not job else []
        if (metadata or asks) and jobs:
            return show_values(jobs[:1], asks)
        if job or why or as_json:
            from ...progress.earlier_runs import completed

            jobs = completed(jobs)
    if as_json:
        from .answers import history as answer

        output.echo(answer(jobs, ends[:limit], limit))
    elif job or why:
        from .history_page import show

        for lineage in jobs:
            show(lineage, limit, why)
    else:
        from .history_page import listed

        listed(jobs)
    bare = _without_versions() if not job and not as_json else False
    if ends and not as_json:
        from .history_page import listed_unrecorded

        listed_unrecorded(ends, limit)
    if not jobs and not bare and not ends and not as_json:
        _nothing(job)
    return 0 if jobs or bare or ends else 1


def _found(job: str, limit: int, wide: bool) -> "list[Job]":
    """Return the jobs that are meant; with their scripts where differences are shown."""
    from maple_agents.ask.memory.versions import jobs, with_scripts

    lineages = jobs(job, _absolute(job) or "")
    became = _submission(job) if job and not lineages else None
    if became is not None and became.version:
        lineages = jobs(became.version, "")
    if not job:
        lineages = lineages[:limit]
    return [with_scripts(lineage) for lineage in lineages[:5]] + lineages[5:] if wide else lineages


def _unrecorded(job: str) -> "list[Outcome]":
    """Return the ends of jobs that only the scheduler's hooks know: of one id or name, or of all."""
    from maple_agents.ask.memory.versions import is_meant, unrecorded

    return [end for end in unrecorded() if not job or end.name == job or is_meant(job, end.job)]


def _without_versions() -> bool:
    """List the submissions whose script the service has not read; return whether there are any."""
    from maple_agents.ask.memory.versions import unread

    from .history_page import listed_unread

    with asked_of_service():
        bare = unread()
    listed_unread(bare)
    return bool(bare)


def _submission(job: str) -> "Optional[Record]":
    """Return the submission that became a job, by the id that the scheduler gave it; of "last" one's last."""
    from maple_agents.ask.memory.versions import records, submission

    return next(iter(records(limit=1)), None) if job == "last" else submission(job)


def _absolute(path: str) -> Optional[str]:
    try:
        return os.path.abspath(path)
    except OSError:  # the working directory is gone
        return None


def _nothing(job: str) -> None:
    """Say that there is no such job."""
    from maple_agents.ask.memory.versions import names
    from maple_agents.base.near_names import meant

    from ...diagnose.read.clean_lines import safe  # a token may have been typed in place of a name

    with asked_of_service():
        hint = meant(job, names()) if job else ""
    what = "%s: you have no job of this name or path; %s" % (safe(job), safe(hint + " " if hint else ""))
    what += "maple history lists your jobs"
    click.echo("\n".join(on_screen("maple: %s" % (what if job else "none of your jobs is known yet"))), err=True)


def show_values(jobs: "Sequence[Job]", asks: bool) -> int:
    """Print the values of the newest version of each job; *asks*: a model, for what is not known."""
    for job in jobs:
        rows = [_row(value.name, value.value, value.file, value.line, value.by) for value in job.newest.values]
        _table(sorted([*rows, *_of_agent(job.newest, asks)]))
    return 0


def _row(name: str, value: str, file: str, line: int, by: str) -> Row:
    place = "%s:%d" % (file or "script", line) if line else file or "-"
    return name, value, place, HOW.get(by, by)


def _of_agent(version: "Version", asks: bool) -> list[Row]:
    """Return what the agent found before and still holds; with *asks* what it finds now."""
    from maple_agents.admission.agent.asking import ask
    from maple_agents.ask.models.choice import choose
    from maple_agents.ask.models.protocol import ModelError

    path = _kept_at(version)
    before, known = _kept(path), {value.name for value in version.values}
    script = version.script.decode("utf-8", "replace")
    try:
        choice = choose() if asks else None
        if asks and choice is None:
            click.echo("maple: no model is configured (MAPLE_MODEL, or model.toml)", err=True)
        answer = ask(choice.model if choice else None, version.cwd, script, known, before,
                    *([choice.limit] if choice else []))  # fmt: skip
    except ModelError as error:
        click.echo("maple: %s" % error, err=True)
        return []
    for why in answer.wrong:
        click.echo("maple: %s" % printable(why), err=True)
    if answer.found != before:
        _keep(path, answer.found)
    return [_row(claim.name, claim.value, claim.file, claim.line, "model") for claim in answer.claims
            if claim.name not in known]  # fmt: skip


def _kept_at(version: "Version") -> str:
    """Return where the user's own state keeps what was found of a job, "" where there is no such folder."""
    state = own_folders.state()
    name = hashlib.sha256(
        ("%s\0%s" % (version.path or version.name, version.cwd)).encode("utf-8", "replace")
    ).hexdigest()
    return os.path.join(state, "metadata", name[:32] + ".json") if state else ""


def _kept(path: str) -> "Found":
    from maple_agents.admission.agent.asking import Found, read

    try:
        with open(path, encoding="utf-8") as file:
            return read(file.read(_MOST))
    except (OSError, ValueError):
        return Found()


def _keep(path: str, memory: "Found") -> None:
    """Write it for oneself alone, whole or not at all; what cannot be kept is asked for again."""
    from maple_agents.admission.agent.asking import written

    if not path:
        return
    with contextlib.suppress(OSError):
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        handle, draft = tempfile.mkstemp(dir=os.path.dirname(path))
        with open(handle, "w", encoding="utf-8") as file:
            file.write(written(memory))
        os.replace(draft, path)


def _table(rows: Sequence[Row]) -> None:
    wide = [max((len(row[at]) for row in rows), default=0) for at in range(3)]
    for row in rows:
        cells = "  ".join(cell.ljust(size) for cell, size in zip(row, wide))
        click.echo(printable("%s  %s" % (cells, row[3])))
    if not rows:
        click.echo("nothing is known of it yet")
