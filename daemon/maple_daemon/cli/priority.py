"""`maple admin priority`: waiting jobs ordered by forecasts, within a bound; off unless an administrator says on."""

from __future__ import annotations

import functools
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional, TypedDict

import click
from maple_agents.base import output
from maple_agents.base.complaint import Complaint
from maple_agents.cli.groups import Group

from .memory_admin import config_option, memory, settings_of
from .prefix import Command, daemon_toml, meant, plainly

if TYPE_CHECKING:
    from ..priority.live import Stand, Switch
    from ..priority.queue import SlurmQueue

ETC = "/etc/maple/daemon.toml"


class Explained(TypedDict):
    """Why a waiting job stands where it does. *seconds* is null, and *why* says so, where nothing is foretold of it.

    *size*: GPUs or nodes. *waited*: seconds. *scheduler*: what sprio shows. *runs*: on how many the forecast rests.
    """

    job: str
    on: bool
    size: int
    waited: float
    points: int
    scheduler: str
    seconds: Optional[float]
    why: str
    runs: int
    basis: str


def _asking(command: Command) -> Command:
    """Turn what the scheduler refuses into one line; beside what `plainly` does."""

    @functools.wraps(command)
    def run(*words: Any, **options: Any) -> Any:
        from maple_agents.ask.schedulers.protocol import SchedulerError

        try:
            return command(*words, **options)
        except SchedulerError as error:
            raise Complaint(str(error)) from None

    return plainly(run)  # type: ignore[return-value]


@click.group("priority", cls=Group)
def priority() -> None:
    """Let waiting jobs that are foretold to be short come forward, within a bound.

    A process of its own, `maple-daemon --role priority`, sets Slurm's SiteFactor, which `sprio` shows and ageing and
    fair share are added to; never a job's Priority, and no nice value. A job rises while it waits and after the
    patience stands before all, whatever was foretold of it. Without that process, or with an error, jobs stand where
    Slurm puts them. Its user has to be an operator of Slurm: sacctmgr modify user maple set adminlevel=operator.

    \b
    Examples:
      maple admin priority on --bound 1000
      maple admin priority status
      maple admin priority explain 4711
      maple admin priority off
    """


@priority.command()
@config_option
@click.option("--bound", type=click.IntRange(1, 100_000_000), default=1000, show_default=True,
              help="Points that a job is put forward or back at most; compare with sprio -w.")  # fmt: skip
@click.option("--patience", type=click.FloatRange(min=0, min_open=True, max=2160), default=24.0, show_default=True,
              metavar="HOURS", help="After so long a job stands before all, whatever was foretold.")  # fmt: skip
@click.option("--every", type=click.FloatRange(0.2, 3600), default=30.0, show_default=True, metavar="SECONDS",
              help="Between two looks at the queue.")  # fmt: skip
@click.option("--reference", type=click.FloatRange(min=0, min_open=True), default=3600.0, show_default=True,
              metavar="SECONDS", help="Work on one GPU or node that is put neither forward nor back.")  # fmt: skip
@click.option("--pbs-table", "table", default="", metavar="FILE",
              help="On PBS: what the hook maple_points.py reads, /var/spool/maple/forecasts.json.")  # fmt: skip
@_asking
def on(path: str, bound: int, patience: float, every: float, reference: float, table: str) -> None:
    """Switch it on; the process that does it is started by its unit, or by the line that is printed.

    On PBS, with --pbs-table, nothing is set in the queue: a hook gives each new job its points from that file, and
    job_sort_formula, which is the administrator's, adds them to waiting. The head of the hook has the lines for qmgr.
    """
    from ..priority.live import Switch

    path = _settings_file(path)
    hindered = "" if table else _queue().hindered()
    if hindered:
        raise Complaint(hindered, "set PriorityType=priority/multifactor in slurm.conf first")
    _write(path, Switch(on=True, bound=bound, every=every, patience_hours=patience, reference_seconds=reference,
                        table=os.path.abspath(table) if table else ""))  # fmt: skip
    click.echo("on: at most %d points forward or back; holds from the next round on" % bound)
    click.echo("where it does not run yet: systemctl enable --now maple-priority")
    click.echo("    or: maple-daemon --role priority --config %s" % path)


@priority.command()
@config_option
@_asking
def off(path: str) -> None:
    """Switch it off, and take all points back from jobs that still wait."""
    from ..priority.knowledge import remove

    path = _settings_file(path)
    now = _read(path)
    _write(path, now.model_copy(update={"on": False}))
    if now.table:
        remove(Path(now.table))
        click.echo("off: further jobs get no points; those of queued jobs count until job_sort_formula is unset:")
        click.echo("    qmgr -c 'unset server job_sort_formula'")
    else:
        click.echo("off: points taken back from %d jobs" % _taken_back(path))


@priority.command()
@config_option
@_asking
def reset(path: str) -> None:
    """Take all points back from jobs that still wait, as after the process was killed; the switch stays as it is."""
    click.echo("points taken back from %d jobs" % _taken_back(_settings_file(path)))


@priority.command()
@config_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@_asking
def status(path: str, as_json: bool) -> None:
    """Say whether it is on, how far it goes, and how many jobs have points."""
    from ..priority.live import Status, points_written, written_place

    path = _settings_file(path)
    switch = _read(path)
    given = {job: points for job, points in points_written(written_place(settings_of(path))).items() if points}
    hindered = "" if switch.table else _queue().hindered()
    if as_json:
        output.echo(Status(**switch.model_dump(), jobs=len(given), hindered=hindered).model_dump())
        return
    click.echo("%s: bound %d, patience %g h, every %g s" % ("on" if switch.on else "off", switch.bound,
                                                           switch.patience_hours, switch.every))  # fmt: skip
    click.echo("%d waiting jobs have points of Maple's" % len(given))
    if hindered:
        click.echo("without effect: %s" % hindered)


@priority.command()
@config_option
@click.argument("job", metavar="JOBID")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@_asking
def explain(path: str, job: str, as_json: bool) -> None:
    """Say what is foretold of a waiting job, the points that come of it, and what sprio shows."""
    from ..priority.knowledge import Knowledge
    from ..priority.live import stand

    path = _settings_file(path)
    settings, switch, queue, now = settings_of(path), _read(path), _queue(), time.time()
    waiting = next((each for each in queue.waiting() if each.job == job.partition("_")[0]), None)
    if waiting is None:
        raise Complaint("job %s does not wait" % job, "squeue -t PENDING lists those that do")
    with memory(settings) as store:
        stood = stand(waiting, Knowledge(store), switch.bounds, now)
    shown = queue.shown(waiting.job)
    if as_json:
        output.echo(_explained(stood, switch, now, shown))
        return
    click.echo("\n".join(_lines(stood, switch, now, shown)))


def _explained(stood: "Stand", switch: "Switch", now: float, shown: str) -> Explained:
    from maple_agents.forecast.needs import Forecast

    foretold, waiting = stood.foretold, stood.waiting
    forecast = foretold if isinstance(foretold, Forecast) else None
    return Explained(
        job=waiting.job, on=switch.on, size=waiting.size, waited=max(0.0, now - waiting.submitted), points=stood.points,
        scheduler=shown, seconds=forecast.seconds if forecast else None,
        why="" if isinstance(foretold, Forecast) else foretold.why, runs=len(foretold.runs),
        basis=forecast.basis if forecast else "",
    )  # fmt: skip


def _lines(stood: "Stand", switch: "Switch", now: float, shown: str) -> list[str]:
    from maple_agents.base import quantities
    from maple_agents.forecast.needs import Forecast

    foretold, waiting = stood.foretold, stood.waiting
    if isinstance(foretold, Forecast):
        runs = "%s by %s" % (_counted(len(foretold.runs), "run"), foretold.basis)
        lasts = quantities.elapsed(foretold.seconds)
        first = "foretold   %s on %s, from %s" % (lasts, _counted(waiting.size, "GPU or node"), runs)
    else:
        first = "foretold   nothing: %s" % foretold.why
    waited = quantities.elapsed(max(0.0, now - waiting.submitted))
    return [
        "job %s" % waiting.job,
        "  " + first,
        "  waited     %s of a patience of %g h" % (waited, switch.patience_hours),
        "  points     %+d of at most %d%s" % (stood.points, switch.bound, "" if switch.on else " (it is off: none)"),
        "  sprio      %s" % (shown or "shows nothing of it"),
    ]


def _counted(number: int, what: str) -> str:
    return "%d %s%s" % (number, what, "s"[: number != 1])


def _settings_file(path: str) -> str:
    file = path or daemon_toml(meant()) or (ETC if os.path.exists(ETC) else "")
    if not file:
        raise Complaint("no daemon.toml is known", "name it with --config, or the installation with --prefix")
    return os.path.abspath(file)


def _queue() -> "SlurmQueue":
    from ..priority.queue import SlurmQueue

    return SlurmQueue()


def _read(path: str) -> "Switch":
    from ..priority.live import place, read

    try:
        return read(place(path))
    except ValueError as error:
        raise Complaint(str(error), "correct it, or switch it on anew") from None


def _write(path: str, switch: "Switch") -> None:
    from ..install.release import layout
    from ..priority.live import place

    layout.write_json(Path(place(path)), switch.model_dump())


def _taken_back(path: str) -> int:
    from ..priority.live import Rounds, written_place

    return Rounds(_queue(), written_place(settings_of(path))).reset()
