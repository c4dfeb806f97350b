"""`maple admin import`: a site's accounting, put into the service's memory, so that forecasts know earlier runs."""

from __future__ import annotations

import itertools
import os
import pwd
import time
from collections.abc import Callable, Iterable, Iterator
from typing import IO, TYPE_CHECKING, NamedTuple, TypedDict

import click
from maple_agents.base import output
from maple_agents.base.complaint import Complaint
from maple_agents.forecast.runs import RunSum

from .history_replay import file_option
from .memory_admin import config_option, memory, settings_of

if TYPE_CHECKING:
    from maple_agents.forecast.runs import Run

    from ..store.protocol import Store

AT_ONCE = 5_000  # rows of one change of the store: whoever writes beside it waits no longer
_DAY = 86400.0


class Imported(TypedDict):
    """What came of files. *read*: runs; *old*: those that ended too long ago; *new*: not known; *unread*: lines."""

    read: int
    old: int
    unread: int
    new: int
    sums: list[RunSum]


class Taken(NamedTuple):
    """Rows of files. *old*: ended too long ago to be kept; *unread*: lines."""

    read: int = 0
    old: int = 0
    unread: int = 0

    def and_(self, read: int, old: int, unread: int = 0) -> Taken:
        """Return the sum of both."""
        return Taken(self.read + read, self.old + old, self.unread + unread)


@click.command("import")
@config_option
@file_option("sacct", "Output of sacct --parsable2 (its columns: see below).", multiple=True)
@file_option("pbs", "Accounting logs of a PBS server.", multiple=True)
@file_option(
    "swf", "Logs in the Standard Workload Format: for sums alone, as their users have no names.", multiple=True
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def import_(path: str, sacct: tuple[str, ...], pbs: tuple[str, ...], swf: tuple[str, ...], as_json: bool) -> None:
    """Put what ended jobs asked for and used into the service's memory, from files of the scheduler's accounting.

    `maple forecast` then rests on each user's own runs of before; nobody is told of another's. Doing it again, or with
    files that overlap, keeps each job once. Runs that ended longer ago than keep.days of the settings are left out.
    What is printed are sums over all users.

    \b
    Examples:
      sacct -a -P -S now-180days -o "JobID,User,JobName,WorkDir,\\
        Submit,Start,End,ElapsedRaw,TimelimitRaw,State,NNodes,\\
        AllocTRES,ReqMem,MaxRSS,TRESUsageInMax" > jobs.txt
      maple admin import --sacct jobs.txt
      maple admin import --pbs 20261101 --pbs 20261102
      maple admin import --swf site.swf --json
    """
    files = [(form, file) for form, named in (("sacct", sacct), ("pbs", pbs), ("swf", swf)) for file in named]
    if not files:
        raise Complaint("name a file of jobs", "--sacct FILE, --pbs FILE or --swf FILE")
    settings = settings_of(path)
    since, uid_of, taken = time.time() - settings.caps.days * _DAY, _uids(), Taken()
    with memory(settings, bulk=True) as store:
        before = store.run_count()
        for form, file in files:
            taken = taken.and_(*_import(store, form, file, since, uid_of))
        new, sums = store.run_count() - before, store.run_sums()
    if as_json:
        output.echo(Imported(read=taken.read, old=taken.old, unread=taken.unread, new=new, sums=sums))
        return
    click.echo("runs read %d, new %d, known %d" % (taken.read, new, taken.read - taken.old - new))
    if taken.old:
        click.echo("left out %d: they ended more than %d days ago (keep.days)" % (taken.old, settings.caps.days))
    _table(sums)


def _import(store: Store, form: str, path: str, since: float, uid_of: Callable[[str], int]) -> Taken:
    """Take one file, with a bar on a terminal. Raises `Complaint` where it is of another form."""
    from maple_agents.forecast.accounting import NoAccounting, of_another_form
    from maple_agents.forecast.accounting import read as runs_of

    from ..store.protocol import NOBODY

    taken, lost = Taken(), list[int]()
    with open(path, "rb") as file:
        try:
            for runs in _slices(runs_of(_lines(file), form, lost.append)):
                kept = [run for run in runs if run.ended >= since]
                store.keep_runs((NOBODY if form == "swf" else uid_of(run.asked.user), run) for run in kept)
                taken = taken.and_(len(runs), len(runs) - len(kept))
        except NoAccounting as error:
            raise of_another_form(path, error) from None
    if lost:
        first = (path, len(lost), lost[0])
        click.echo("note: %s: %d lines could not be read, the first is line %d" % first, err=True)
    return taken._replace(unread=len(lost))


def _uids() -> Callable[[str], int]:
    """Return what knows the uid of a name, each asked for once; of a name that nobody has here it is nobody's."""
    from ..store.protocol import NOBODY

    known: dict[str, int] = {}

    def uid_of(name: str) -> int:
        if name not in known:
            try:
                known[name] = pwd.getpwnam(name).pw_uid
            except (KeyError, ValueError):
                known[name] = NOBODY
        return known[name]

    return uid_of


def _slices(runs: Iterable[Run]) -> Iterator[list[Run]]:
    rest = iter(runs)
    while slice_ := list(itertools.islice(rest, AT_ONCE)):
        yield slice_


def _lines(file: IO[bytes]) -> Iterator[str]:
    """Yield the lines of a file, with a bar on a terminal by the bytes that are read."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(os.path.basename(file.name), total=os.fstat(file.fileno()).st_size)
        while block := file.readlines(1 << 20):
            for line in block:
                yield line.decode("utf-8", "replace")
            bar.update(task, completed=file.tell())


def _table(sums: list[RunSum]) -> None:
    if not sums:
        click.echo("sums are shown of ends that three users have in common")
        return
    click.echo("\n%-14s %6s %9s %14s %14s" % ("end", "users", "jobs", "node hours", "asked for"))
    for end in sums:
        click.echo("%-14s %6d %9d %14.0f %14.0f" % (end.state, end.users, end.jobs, end.hours, end.asked_hours))
