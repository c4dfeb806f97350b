"""`maple forecast`: how long a job will run and what it will hold, from its own earlier runs; or why nobody can say."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Optional, Tuple, TypedDict

import click
from maple_submit_filter.answer.report import printable

from ..base import json_output
from . import completion

if TYPE_CHECKING:
    from ..forecast.needs import Forecast, MemoryAdvice, NoForecast
    from ..forecast.runs import Asked, Run
    from ..forecast.sources import Known

NOTHING = 1  # exit code


class Job(TypedDict):
    """What is asked for. *work*: the values that scale it."""

    name: str
    limit_seconds: Optional[float]
    work: dict[str, str]
    nodes: Optional[int]


class RunTime(TypedDict):
    """How long it will run. *q90_seconds*: nine of ten such jobs end before; *last_was_cut*: by its limit."""

    seconds: float
    q10_seconds: Optional[float]
    q90_seconds: Optional[float]
    basis: Annotated[str, "version|folder|name"]
    scaled_by: Optional[str]
    last_was_cut: bool


class Memory(TypedDict):
    """How much to ask for on a node; the most that was seen, and where a run was killed."""

    bytes: int
    held_bytes: int
    killed_at_bytes: Optional[int]


class EarlierRun(TypedDict):
    """A run that it rests on."""

    job: str
    seconds: float
    ended: float
    state: str
    memory_bytes: Optional[int]


class Answer(TypedDict):
    """`maple forecast`. *changed*: what is not as in the last run, here and there. *silent*: who could not be asked."""

    job: Job
    forecast: Optional[RunTime]
    why_none: Optional[str]
    changed: dict[str, list[str]]
    memory: Optional[Memory]
    runs: list[EarlierRun]
    silent: list[str]


@click.command()
@click.argument("script", metavar="SCRIPT", shell_complete=completion.files)
@click.argument("words", nargs=-1, metavar="[-- WORDS...]", type=click.UNPROCESSED)
@click.option("--site", "site_id", metavar="ID", shell_complete=completion.sites,
              help="Read the script for this site, not for the one we are on.")  # fmt: skip
@click.option("--sacct", "accounting_file", metavar="FILE", type=click.Path(exists=True, dir_okay=False),
              help="Take the runs from output of sacct --parsable2 in a file; nobody is asked.")  # fmt: skip
@click.option("--days", metavar="N", type=click.IntRange(1, 3650), default=90, show_default=True,
              help="How far back the scheduler's accounting is asked.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON; its shape is stable.")
def forecast(
    script: str,
    words: Tuple[str, ...],
    site_id: Optional[str],
    accounting_file: Optional[str],
    days: int,
    as_json: bool,
) -> int:
    """Say how long a job will run, from its own earlier runs; nothing is submitted, and nothing is changed.

    Earlier runs are those of exactly this script, else of the same job name in this folder, else of the same name. They
    come from the Maple service, where it runs, and from the scheduler's accounting. Where a value that scales the work
    has changed (epochs, steps, batch size, model, data, nodes), there is a forecast only if the runs show how time
    goes with it. WORDS stand before the script on the command line of sbatch or qsub.

    \b
    Examples:
      maple forecast job.sh
      maple forecast job.sh -- --time=12:00:00
      maple forecast job.sh --json
      maple forecast job.sh --sacct jobs.txt

    Exit code: 0 forecast, 1 none can be made, 2 usage, or the script cannot be read.
    """
    from ..ask.submission import answer
    from ..forecast import sources
    from ..forecast.accounting import read_file
    from ..forecast.lineages import Lineages
    from ..forecast.needs import Forecast, memory_advice
    from ..forecast.needs import forecast as made

    asked_script = answer(script, words, site_id)
    asked = sources.asked_of(asked_script, time.time())
    if accounting_file:  # runs of other users and names tell how far runs stray, and are no ground
        known = sources.Known(tuple(read_file(accounting_file, "sacct")))
    else:
        known = sources.known(asked, asked_script.site.scheduler, days)
    lineages = Lineages(known.runs)
    said = made(asked, lineages)
    memory = memory_advice(said.runs)
    if as_json:
        json_output.echo(_answer(asked, said, memory, known))
    else:
        _show(asked, said, memory, known)
    return 0 if isinstance(said, Forecast) else NOTHING


def _show(asked: "Asked", said: "Forecast | NoForecast", memory: "MemoryAdvice | None", known: "Known") -> None:
    from ..forecast.needs import Forecast

    for line in sentences(asked, said, memory):
        click.echo(printable(line))
    for line in known.silent if not isinstance(said, Forecast) else ():
        click.echo(printable("not asked: %s" % line))
    if said.runs:
        _table(said.runs)


def sentences(asked: "Asked", said: "Forecast | NoForecast", memory: "MemoryAdvice | None" = None) -> list[str]:
    """Return what is said to people: what is asked for, what is forecast and from what, what is advised."""
    from ..forecast.needs import Forecast

    lines = [_forecast(asked, said) if isinstance(said, Forecast) else _none(said)]
    if isinstance(said, Forecast) and said.cut:
        lines.append("note: the last run was ended by its limit, so it needs longer than that")
    if isinstance(said, Forecast) and asked.work.values and not any(run.asked.work.values for run in said.runs):
        now = ", ".join("%s %s" % pair for pair in asked.work.values)
        lines.append("note: nobody kept what these runs had to do; this holds if it was as now (%s)" % now)
    if memory is not None:
        lines.append(_memory(asked, memory))
    return lines


def _forecast(asked: "Asked", forecast: "Forecast") -> str:
    from ..base.quantities import elapsed

    asks = "asks %s; " % elapsed(asked.limit) if asked.limit else ""
    times = sorted(run.seconds for run in forecast.runs)
    took = elapsed(times[0]) if len(times) == 1 else "%s to %s" % (elapsed(times[0]), elapsed(times[-1]))
    runs = "the last run" if len(times) == 1 else "the last %d runs" % len(times)
    which = {"version": "of this version", "folder": "of %s here" % asked.name, "name": "of %s" % asked.name}[
        forecast.basis
    ]
    drawn = "; %s alone changed, and time went with it" % forecast.scaled if forecast.scaled else ""
    most = ", and nine of ten such jobs end before %s" % elapsed(forecast.most) if forecast.most else ""
    return "%s%s %s took %s%s: about %s%s" % (asks, runs, which, took, drawn, elapsed(forecast.seconds), most)


def _none(no_forecast: "NoForecast") -> str:
    from ..base.quantities import elapsed

    if not no_forecast.changed:
        return "no forecast: %s" % no_forecast.why
    changed = ", ".join("%s is %s, was %s" % (name, here, there) for name, (here, there) in no_forecast.changed.items())
    return "no forecast: %s (%s); the last run took %s" % (
        no_forecast.why,
        changed,
        elapsed(no_forecast.runs[0].seconds),
    )


def _memory(asked: "Asked", memory: "MemoryAdvice") -> str:
    gib = "%d GiB" % (memory.bytes >> 30)
    if memory.killed:
        return "memory: a run was killed at %.1f GiB; ask for %s or more" % (memory.killed / (1 << 30), gib)
    held = "memory: a task was seen to hold %.1f GiB" % (memory.held / (1 << 30))
    if asked.memory and asked.memory < memory.bytes:
        return "%s, and %.0f GiB are asked for; %s would leave a fifth to spare" % (held, asked.memory / (1 << 30), gib)
    return held


def _table(runs: "tuple[Run, ...]") -> None:
    from ..base.quantities import elapsed

    click.echo("it rests on:")
    for run in runs:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(run.ended))
        click.echo(printable("  job %s  ended %s  ran %s  %s" % (run.job, when, elapsed(run.seconds), run.state)))


def _answer(asked: "Asked", said: "Forecast | NoForecast", memory: "MemoryAdvice | None", known: "Known") -> Answer:
    from ..forecast.needs import Forecast

    none = None if isinstance(said, Forecast) else said
    nodes, work = asked.work.nodes, dict(asked.work.values)
    return Answer(
        job=Job(name=asked.name, limit_seconds=asked.limit, work=work, nodes=nodes),
        forecast=_run_time(said) if isinstance(said, Forecast) else None,
        why_none=none.why if none else None,
        changed={name: list(pair) for name, pair in none.changed.items()} if none else {},
        memory=Memory(bytes=memory.bytes, held_bytes=memory.held, killed_at_bytes=memory.killed) if memory else None,
        runs=[_earlier(run) for run in said.runs],
        silent=list(known.silent),
    )


def _run_time(forecast: "Forecast") -> RunTime:
    return RunTime(
        seconds=forecast.seconds,
        q10_seconds=forecast.least,
        q90_seconds=forecast.most,
        basis=forecast.basis,
        scaled_by=forecast.scaled or None,
        last_was_cut=forecast.cut,
    )


def _earlier(run: "Run") -> EarlierRun:
    return EarlierRun(job=run.job, seconds=run.seconds, ended=run.ended, state=run.state, memory_bytes=run.memory)
