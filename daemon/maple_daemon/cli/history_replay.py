"""`maple admin replay`: a site's own accounting, played again under other orderings and limits."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click
from maple_agents.base import output
from maple_agents.base.complaint import Complaint
from maple_agents.cli import completion

if TYPE_CHECKING:
    from maple_agents.forecast.runs import Run
    from maple_agents.scheduling.replay import Replay

_FORMS = ("sacct", "pbs", "swf")


def file_option(form: str, what: str, multiple: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command an option that names a file of accounting, or several."""
    return click.option("--%s" % form, metavar="FILE", shell_complete=completion.files, multiple=multiple,
                        type=click.Path(exists=True, dir_okay=False), help=what)  # fmt: skip


@click.command("replay")
@file_option("sacct", "Output of sacct --parsable2 (its columns: see below).")
@file_option("pbs", "Accounting logs of a PBS server.")
@file_option("swf", "A log in the Standard Workload Format.")
@click.option("--unit", type=click.Choice(("gpus", "nodes", "processors")),
              help="What jobs are counted in.  [default: the first that half of them have]")  # fmt: skip
@click.option("--pool", type=click.IntRange(min=1), metavar="N",
              help="How many there are of it.  [default: the most that ran at one time]")  # fmt: skip
@click.option("--html", metavar="FILE", type=click.Path(), help="Write a page with plots; FILE must not exist.")
@click.option("--limits", is_flag=True, help="Only what rules that shorten limits would have done.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON; its shape is stable.")
def replay(
    sacct: str | None,
    pbs: str | None,
    swf: str | None,
    unit: str | None,
    pool: int | None,
    html: str | None,
    limits: bool,
    as_json: bool,
) -> None:
    """Say what other orderings, forecasts and limits would have changed for the jobs of an accounting file.

    The file's jobs are played again on one pool: first come, first served, with and without backfill, the smallest
    first, the least work first by Maple's forecasts, by no information and by perfect knowledge. Nothing is asked of
    the scheduler, nothing is changed, and no user is named.

    \b
    Examples:
      sacct -a -X -P -S 2026-01-01 -o "JobID,User,JobName,WorkDir,\\
        Submit,Start,End,ElapsedRaw,TimelimitRaw,State,NNodes,\\
        AllocTRES" > jobs.txt
      maple admin replay --sacct jobs.txt
      maple admin replay --sacct jobs.txt --html replay.html
      maple admin replay --pbs /var/spool/pbs/server_priv/accounting/20261101
      maple admin replay --swf site.swf --pool 512 --json
    """
    from maple_agents.scheduling.queueing.jobs import TooLarge
    from maple_agents.scheduling.replay import NothingToReplay, page
    from maple_agents.scheduling.replay import replay as played

    form, path = _meant({"sacct": sacct, "pbs": pbs, "swf": swf})
    if html and os.path.lexists(html):
        raise Complaint("%s exists, and nothing is written over" % html, "name another file")
    runs = _read(form, path)
    try:
        with _Steps() as steps:
            done = played(runs, unit or "", pool, steps.done)
    except (NothingToReplay, TooLarge) as error:
        raise Complaint("%s: %s" % (path, error), "see --unit and --pool") from None
    if html:
        _write(html, page(done, os.path.basename(path)))
    if as_json:
        output.echo(done)
    else:
        _show(done, os.path.basename(path), limits, html)


def _meant(files: dict[str, str | None]) -> tuple[str, str]:
    """Return the form and the file; exactly one must be named."""
    named = [(form, path) for form, path in files.items() if path]
    if len(named) != 1:
        raise Complaint("name one file of jobs", "--sacct FILE, --pbs FILE or --swf FILE")
    return named[0]


def _read(form: str, path: str) -> "list[Run]":
    from maple_agents.forecast.accounting import read_file

    lost: list[int] = []
    runs = read_file(path, form, lost.append)
    if lost:
        click.echo("note: %d lines could not be read, the first is line %d" % (len(lost), lost[0]), err=True)
    if not runs:
        raise Complaint("%s: no ended job in it" % path, "is it of the form --%s?" % form)
    return runs


class _Steps:
    """A bar on a terminal, by the parts that are done."""

    PARTS = 7  # forecasts and six policies

    def __enter__(self) -> "_Steps":
        from rich.console import Console
        from rich.progress import Progress

        console = Console(stderr=True)
        self._progress = Progress(console=console, transient=True, disable=not console.is_terminal)
        self._progress.start()
        self._task = self._progress.add_task("playing the history", total=self.PARTS)
        return self

    def done(self, part: str) -> None:
        self._progress.update(self._task, advance=1, description="played: %s" % part)

    def __exit__(self, *raised: object) -> None:
        self._progress.stop()


def _write(path: str, text: str) -> None:
    try:
        with open(path, "x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise Complaint("%s: %s" % (path, error.strerror)) from None


def _show(done: "Replay", source: str, limits: bool, html: str | None) -> None:
    from maple_agents.scheduling.replay import LIMITS_OF_IT, summary
    from rich.table import Table

    tables = []
    if not limits:
        table = Table(
            "ordering", "mean wait", "1 in 100", "longest", "to the end", "slowdown", box=None, header_style="bold"
        )
        for row in (done["recorded"], *done["policies"]):
            hours = (row["wait"], row["late"], row["worst"], row["completion"])
            table.add_row(row["policy"], *("%.2f h" % number for number in hours), "%.2f" % row["slowdown"])
        tables.append(table)
    rules = Table("limit", "shortened", "killed", "hours asked", "now", box=None, header_style="bold")
    for limit in done["limits"]:
        jobs = ("%d" % limit["changed"], "%d" % limit["killed"])
        asked = ("%.0f" % limit["asked_before"], "%.0f" % limit["asked_after"])
        rules.add_row("%g x the longest of 3" % limit["factor"], *jobs, *asked)
    tables.append(rules)
    _say(summary(done, source))
    _print(tables)
    if not limits:
        _say(LIMITS_OF_IT)
    if html:
        click.echo("written: %s" % html)


def _say(text: str) -> None:
    import sys

    from maple_agents.base.terminal import on_screen

    for line in on_screen(text, sys.stdout):
        click.echo(line)


def _print(tables: list[Any]) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    for table in tables:
        for column in table.columns[1:]:
            column.justify = "right"
        console.print()
        console.print(table)
    console.print()
