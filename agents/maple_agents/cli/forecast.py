"""`maple forecast`: how long a job will run and what it will hold, from its own earlier runs; or why nobody can say."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Optional, Tuple, TypedDict

import click
from maple_submit_filter.answer.report import printable

from ..base import output
from . import completion

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..forecast.advice import MemoryAdvice
    from ..forecast.needs import Forecast, NoForecast
    from ..forecast.own_jobs import Size
    from ..forecast.runs import Asked, Lineages, Run
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
    basis: Annotated[str, "version|folder|lineage|name"]
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


class Goodput(TypedDict):
    """A number of GPUs that was run, with the samples of a step over all ranks. *jobs*: the newest that ran so."""

    gpus: int
    batch: int
    step_seconds: float
    samples_per_second: float
    jobs: list[str]


class Answer(TypedDict):
    """`maple forecast`. *changed*: what is not as in the last run, here and there. *silent*: who could not be asked.

    *sizes*: of the one amount that changed, each that was seen and the seconds it took. *advised_limit_seconds*: advice
    alone, where what is asked for is far beyond all runs.
    """

    job: Job
    forecast: Optional[RunTime]
    why_none: Optional[str]
    changed: dict[str, list[str]]
    sizes: list[list[float]]
    advised_limit_seconds: Optional[float]
    memory: Optional[Memory]
    runs: list[EarlierRun]
    goodput: list[Goodput]
    silent: list[str]


@click.command()
@click.argument("script", metavar="SCRIPT", shell_complete=completion.files)
@click.argument("words", nargs=-1, metavar="[-- WORDS...]", type=click.UNPROCESSED)
@click.option("--site", "site_id", metavar="ID|FILE", shell_complete=completion.site_or_file,
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

    Earlier runs are those of exactly this script, else of the same job name in this folder, else of its versions under
    another name, else of the same name. They come from the Maple service, where it runs, and from the scheduler's
    accounting. Where a value that scales the work has changed (epochs, steps, batch size, model, data, nodes), there is
    a forecast only if the runs show how time goes with it. WORDS stand before the script on the command line of sbatch
    or qsub.

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
    from ..forecast.advice import memory_advice
    from ..forecast.asked_job import asked_of
    from ..forecast.needs import Forecast
    from ..forecast.needs import forecast as made
    from ..forecast.own_jobs import compared, known_sizes
    from ..forecast.runs import Lineages

    asked_script = answer(script, words, site_id)
    asked = asked_of(asked_script, time.time())
    if accounting_file:  # runs of other users and names tell how far runs stray, and are no ground
        known = sources.Known(tuple(read_file(accounting_file, "sacct")))
    else:
        known = sources.known(asked, asked_script.site.scheduler, days)
    lineages = Lineages(known.runs)
    outlook = made(asked, lineages)
    run_at = [] if accounting_file else known_sizes(asked.name)
    if as_json:
        output.echo(_answer(asked, outlook, memory_advice(asked, lineages), known, run_at))
    else:
        _show(asked, outlook, lineages, known)
        for line in compared(run_at):
            click.echo(printable(line))
    return 0 if isinstance(outlook, Forecast) else NOTHING


def _show(asked: "Asked", outlook: "Forecast | NoForecast", lineages: "Lineages", known: "Known") -> None:
    from ..forecast.needs import Forecast

    for line in sentences(asked, outlook, lineages):
        click.echo(printable(line))
    if not outlook.runs:
        _similar(asked, known)
    for line in known.silent if not isinstance(outlook, Forecast) else ():
        click.echo(printable("not asked: %s" % line))
    if outlook.runs:
        _table(outlook.runs)


def _similar(asked: "Asked", known: "Known") -> None:
    """Name one's own jobs that are like one of which nothing is known."""
    from ..forecast.own_jobs import line

    sentence = line(asked, known.runs)
    if sentence:
        click.echo(printable(sentence))


def sentences(asked: "Asked", outlook: "Forecast | NoForecast", lineages: "Lineages") -> "Iterator[str]":
    """Yield what is said to people: what is asked for, what is forecast and from what, what is advised."""
    from ..forecast import advice
    from ..forecast.needs import Forecast

    yield advice.line(asked, outlook)
    yield from advice.notes(asked, outlook)
    held, busy = advice.memory_advice(asked, lineages), advice.gpu_advice(asked, lineages)
    if held is not None:
        yield advice.memory(asked, held)
    limit = advice.time_advice(asked, outlook) if isinstance(outlook, Forecast) else None
    if limit is not None:
        yield advice.time(asked, limit)
    if busy is not None:
        yield advice.gpus(busy)


def _table(runs: "tuple[Run, ...]") -> None:
    from ..base.quantities import elapsed

    click.echo("it rests on:")
    for run in runs:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(run.ended))
        click.echo(printable("  job %s  ended %s  ran %s  %s" % (run.job, when, elapsed(run.seconds), run.state)))


def _answer(
    asked: "Asked",
    outlook: "Forecast | NoForecast",
    memory: "MemoryAdvice | None",
    known: "Known",
    run_at: "list[Size]",
) -> Answer:
    from ..forecast.advice import time_advice
    from ..forecast.needs import Forecast

    none = None if isinstance(outlook, Forecast) else outlook
    nodes, work = asked.work.nodes, dict(asked.work.values)
    return Answer(
        job=Job(name=asked.name, limit_seconds=asked.limit, work=work, nodes=nodes),
        forecast=_run_time(outlook) if isinstance(outlook, Forecast) else None,
        why_none=none.why if none else None,
        changed={name: list(pair) for name, pair in none.changed.items()} if none else {},
        sizes=[list(pair) for pair in none.sizes] if none else [],
        advised_limit_seconds=time_advice(asked, outlook) if isinstance(outlook, Forecast) else None,
        memory=Memory(bytes=memory.bytes, held_bytes=memory.held, killed_at_bytes=memory.killed) if memory else None,
        runs=[_earlier(run) for run in outlook.runs],
        goodput=[
            Goodput(
                gpus=size.gpus,
                batch=size.batch,
                step_seconds=size.step_seconds,
                samples_per_second=size.speed,
                jobs=list(size.jobs),
            )
            for size in run_at
        ],
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
