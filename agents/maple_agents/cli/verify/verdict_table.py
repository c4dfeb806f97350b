"""A verdict for people: the ranks as a table, what broke and what to do, what is unwise."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Iterator

import click
from maple_submit_filter.answer.report import printable

from ...base import output
from ...base.output import WIDE, coloured, width

if TYPE_CHECKING:
    from maple_agents.verify.run.facts import Fact
    from maple_agents.verify.run.runs import Run
    from maple_agents.verify.verification import Verified

RANKS = 32  # rows of one launch line; of more, those that failed and the first few
COLUMNS = ("rank", "local", "world", "node", "master", "GPUs", "CPUs", "link", "came to")
HELP = "help: "  # begins what to do
COLOURS = {"passed": "green", "failed": "red", "unclear": "yellow"}


def show(title: str, made: "Verified") -> None:
    """Print everything about one verification."""
    for run in made.runs:
        if run.facts:
            _table(run)
    for line in _reasons(made):
        output.say([line], bold=not line.startswith(HELP))
    output.say(_beside(made))
    output.say([summary(title, made)], fg=COLOURS[made.verdict.result.value])


def lines(made: "Verified") -> Iterator[str]:
    """Yield the reasons, each with what to do, then the differences and warnings."""
    yield from _reasons(made)
    yield from _beside(made)


def _reasons(made: "Verified") -> Iterator[str]:
    for reason in made.verdict.reasons:
        where = f"line {reason.line}: " if reason.line else ""
        yield printable(f"{where}{reason.kind.value}: {reason.says}")
        if reason.remedy:
            yield HELP + printable(reason.remedy)


def _beside(made: "Verified") -> Iterator[str]:
    verdict = made.verdict
    for difference in verdict.differences[:10]:
        who = f"rank {difference.rank}" if difference.rank is not None else "a process"
        yield printable(
            f"{who} on {difference.host}: {difference.what} {difference.real}, planned {difference.planned}"
        )
    for warning in verdict.warnings:
        yield printable((f"line {warning.line}: " if warning.line else "") + f"warning: {warning.says}")
    for line in made.aside:
        yield f"line {line}: its program stood aside and did not run"
    if made.folder:
        yield printable(f"kept in {made.folder}")


def summary(title: str, made: "Verified") -> str:
    """Return the last line."""
    ranks = sum(len(run.facts) for run in made.runs)
    apps = ", ".join(dict.fromkeys(run.stage.app for run in made.runs if run.facts)) or ", ".join(made.miniapps)
    job = f", job {made.job.id}" if made.job else ""
    text = f"{title}: {made.verdict.result.value} ({apps}, {ranks} ranks{job}, {made.total:.1f} s)"
    return printable(text)


def _table(run: "Run") -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=f"line {run.step.line}: {run.stage.app}", title_justify="left", box=None, pad_edge=False)
    for column in COLUMNS:
        table.add_column(column, justify="right" if column in ("rank", "local", "world", "link") else "left")
    shown = _shown(run)
    for fact in shown:
        style = "" if fact.ok else "red"
        table.add_row(*(Text(printable(cell), style=style) for cell in cells(fact)))
    plain = not coloured()
    columns = width() if sys.stdout.isatty() else WIDE
    console = Console(file=sys.stdout, width=columns, no_color=plain, highlight=False, emoji=False, markup=False)
    console.print(table)
    if len(shown) < len(run.facts):
        click.echo(f"and {len(run.facts) - len(shown)} more ranks")


def _shown(run: "Run") -> list["Fact"]:
    if len(run.facts) <= RANKS:
        return list(run.facts)
    bad = [fact for fact in run.facts if not fact.ok]
    return (bad + [fact for fact in run.facts if fact.ok])[:RANKS]


def cells(fact: "Fact") -> tuple[str, ...]:
    """Return the row of a rank; what is not known is empty."""
    seen, rates = fact.visible(), fact.rates()
    link = f"{max(rates.values()) / 1e6:.0f} MB/s" if rates else ""
    master = f"{fact.master_addr}:{fact.master_port}" if fact.master_addr else ""
    end = "its end" if fact.ok else f"{fact.phase}: {fact.error or 'no word since'}"
    numbers = ("" if number is None else str(number) for number in (fact.rank, fact.local_rank, fact.world_size))
    cpus = str(fact.table("machine").get("cpus") or "")
    return (*numbers, fact.host, master, "" if seen is None else ",".join(seen) or "none", cpus, link, end)
