"""`maple history --metadata`: what is known of a job, each value with its place and how it was read."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from typing import TYPE_CHECKING, Sequence

import click
from maple_submit_filter.answer.report import printable
from maple_submit_filter.host import own_folders

if TYPE_CHECKING:
    from maple_submit_filter.types.job_records import Version

    from maple_agents.admission.agent.remembered import Found
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


def shown(jobs: "Sequence[Job]", asks: bool) -> int:
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
        found = ask(choice.model if choice else None, version.cwd, script, known, before,
                    *([choice.limit] if choice else []))  # fmt: skip
    except ModelError as error:
        click.echo("maple: %s" % error, err=True)
        return []
    for why in found.wrong:
        click.echo("maple: %s" % printable(why), err=True)
    if found.found != before:
        _keep(path, found.found)
    return [_row(claim.name, claim.value, claim.file, claim.line, "model") for claim in found.claims
            if claim.name not in known]  # fmt: skip


def _kept_at(version: "Version") -> str:
    """Return where the user's own state keeps what was found of a job, "" where there is no such folder."""
    state = own_folders.state()
    name = hashlib.sha256(
        ("%s\0%s" % (version.path or version.name, version.cwd)).encode("utf-8", "replace")
    ).hexdigest()
    return os.path.join(state, "metadata", name[:32] + ".json") if state else ""


def _kept(path: str) -> "Found":
    from maple_agents.admission.agent.remembered import Found, read

    try:
        with open(path, encoding="utf-8") as file:
            return read(file.read(_MOST))
    except (OSError, ValueError):
        return Found()


def _keep(path: str, found: "Found") -> None:
    """Write it for oneself alone, whole or not at all; what cannot be kept is asked for again."""
    from maple_agents.admission.agent.remembered import written

    if not path:
        return
    with contextlib.suppress(OSError):
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        handle, draft = tempfile.mkstemp(dir=os.path.dirname(path))
        with open(handle, "w", encoding="utf-8") as file:
            file.write(written(found))
        os.replace(draft, path)


def _table(rows: Sequence[Row]) -> None:
    wide = [max((len(row[at]) for row in rows), default=0) for at in range(3)]
    for row in rows:
        cells = "  ".join(cell.ljust(size) for cell, size in zip(row, wide))
        click.echo(printable("%s  %s" % (cells, row[3])))
    if not rows:
        click.echo("nothing is known of it yet")
