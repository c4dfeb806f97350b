"""`maple admin purge|backup|check`: the memory of the service, while it runs.

`maple admin corrections`: what changed jobs came to over all users, and approving what did well.
"""

from __future__ import annotations

import datetime
import os
import pwd
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypedDict

import click
from maple_agents.base import output
from maple_agents.base.complaint import Complaint
from maple_agents.cli import completion
from maple_agents.cli.groups import Group

from .prefix import daemon_toml, meant

if TYPE_CHECKING:
    from maple_submit_filter.site.facts import Site

    from ..base.settings import Settings
    from ..install.report.audit import Memory
    from ..store.protocol import Candidate, Store


class Checked(TypedDict):
    """Whether the service's memory is sound: what is wrong with it, and files that were laid aside as corrupt."""

    store: str
    wrong: list[str]
    laid_aside: list[str]


class Correction(TypedDict):
    """How jobs ended for which a rule changed something. *concerns*: "template", "site" or "rule"."""

    code: str
    fact: str
    users: int
    ran: int
    failed: int
    concerns: str


class Corrections(TypedDict):
    """What changed jobs came to; *users*: how many have to agree."""

    users: int
    candidates: list[Correction]


_PREFIX = "maple.prefix"  # where a command's context keeps it


def _prefix(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    context.meta[_PREFIX] = value


def _path(context: click.Context, parameter: click.Parameter, value: str) -> str:
    """Return the settings that are meant: --config, else those of --prefix, else "" for those found by themselves."""
    prefix = context.meta.get(_PREFIX)
    return value or (os.path.join(os.path.abspath(prefix), "daemon.toml") if prefix else "")


def config_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command `--prefix`, as all that act on an installation have, and `--config` for settings elsewhere."""
    of_prefix = click.option("--prefix", metavar="P", is_eager=True, expose_value=False, callback=_prefix,
                             help="Installation whose daemon.toml holds.")  # fmt: skip
    of_file = click.option(
        "--config", "path", default="", metavar="FILE", callback=_path, shell_complete=completion.files,
        help="Settings in place of the installation's own daemon.toml, else /etc/maple/daemon.toml.",
    )  # fmt: skip
    return of_prefix(of_file(command))


@click.command()
@config_option
@click.option("--user", metavar="NAME|UID", help="Remove everything of this user, and nothing else.")
@click.option(
    "--older-than",
    "days",
    type=click.IntRange(min=1),
    metavar="DAYS",
    help="Remove what was not submitted for so long.  [default: keep.days of the settings]",
)
def purge(path: str, user: str | None, days: int | None) -> None:
    """Remove from the service's memory what is too old or too much, or all that is known of one user.

    The service removes what is too old or too much by itself, each hour. After --user it forgets what it holds in its
    own memory as well, within seconds, on every host that shares the store.

    \b
    Examples:
      maple admin purge
      maple admin purge --older-than 30
      maple admin purge --user ann
      maple admin purge --user 40123 --config /srv/maple/daemon.toml
    """
    if user is not None and days is not None:
        raise Complaint("--user removes everything of the user, whatever its age", "leave --older-than out")
    uid = _uid(user) if user is not None else None
    settings = settings_of(path)
    caps = settings.caps if days is None else settings.caps._replace(days=days)
    with memory(settings) as store:
        gone = store.purge(time.time(), caps, uid)
    whose = " of uid %d" % uid if uid is not None else ""
    click.echo(
        "removed%s: versions %d, submissions %d, decisions %d" % (whose, gone.versions, gone.records, gone.decisions)
    )
    for file in _laid_aside(settings.store) if uid is not None else ():
        click.echo(
            "warning: %s was set aside because it is corrupt and may hold this user's rows; remove it" % file, err=True
        )


@click.command()
@config_option
@click.argument("file", metavar="FILE", type=click.Path())
def backup(path: str, file: str) -> None:
    """Copy the service's memory into FILE, which must not exist, while the service runs.

    To put it back, stop the service and copy FILE over the store that daemon.toml names. Of a PostgreSQL server the
    copy is pg_dump's: put it back with pg_restore. FILE holds what users submitted, so only you can read it.

    \b
    Examples:
      maple admin backup /var/backups/maple-memory.db
      maple admin backup --config /srv/maple/daemon.toml \\
        memory-before-update.db
    """
    settings = settings_of(path)
    with memory(settings) as store:
        store.backup(os.path.abspath(file))
    click.echo("copied to %s: %d bytes" % (file, os.path.getsize(file)))


@click.command()
@config_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def check(path: str, as_json: bool) -> None:
    """Say whether the service's memory is sound; exit code 1 if it is not. Nothing is removed.

    The service lays a corrupt memory aside by itself and begins a new one, so nothing has to be done at once.

    \b
    Examples:
      maple admin check
      maple admin check --json --config /srv/maple/daemon.toml
    """
    settings = settings_of(path)
    with memory(settings) as store:
        wrong = store.check()
    aside = _laid_aside(settings.store)
    if as_json:
        output.echo(Checked(store=settings.store, wrong=wrong, laid_aside=aside))
    else:
        for line in wrong or ["sound"]:
            click.echo("%s: %s" % (settings.store, line))
        for file in aside:
            click.echo("%s: was set aside because it is corrupt; remove it when it is no longer needed" % file)
    if wrong:
        raise click.exceptions.Exit(1)


def report_of_memory(path: str, since: str, show: bool, after: bool = False) -> "Memory":
    """Return what the service's memory comes to since a time, and *show* it; *after*: below something else."""
    from maple_submit_filter.rules import rules

    from ..install.report.audit import begin
    from ..install.report.store import facts_of, table

    first = begin(since, datetime.datetime.now(datetime.timezone.utc))[:10]
    with memory(settings_of(path)) as store:
        facts = facts_of(store.counted(first), first)
    if show:
        click.echo("\n" * after, nl=False)
        table(facts, {rule.code: rule.title for rule in rules()})
    return facts


COMMANDS = (purge, backup, check)


def settings_of(path: str) -> Settings:
    """Return the settings in *path*, else those of the installation, else those in /etc/maple or the defaults."""
    settings = read_settings(path or daemon_toml(meant()))
    if not settings.store:
        raise Complaint(
            "the settings name no store, so nothing is kept when the service stops", "set `store` in daemon.toml"
        )
    return settings


def read_settings(path: str) -> Settings:
    """Return the settings in *path*, "": those in /etc/maple or the defaults; a mistake in them is a complaint."""
    from ..base.settings import Wrong, load

    try:
        return load(path)
    except Wrong as error:
        raise Complaint("; ".join(str(error).splitlines())) from None


@contextmanager
def memory(settings: Settings, bulk: bool = False) -> Iterator[Store]:
    """Give the store that the settings name; what goes wrong with it is a complaint. *bulk*: as `open_store` has it."""
    from ..store import open_store
    from ..store.protocol import StoreError

    try:
        store = open_store(settings.store, create=False, bulk=bulk)
        try:
            yield store
        finally:
            store.close()
    except StoreError as error:
        raise Complaint(str(error), "name the installation with --prefix, or the settings with --config") from None


def _uid(user: str) -> int:
    if user.isdecimal() and user.isascii():
        return int(user)
    try:
        return pwd.getpwnam(user).pw_uid
    except (KeyError, ValueError):
        raise Complaint("%s: there is no such user here" % user, "name the uid: --user 40123") from None


def _laid_aside(store: str) -> list[str]:
    from ..store.sqlite import laid_aside

    return [] if "://" in store else laid_aside(store)


@click.group(cls=Group)
def corrections() -> None:
    """See how jobs ended that Maple changed, over all users, and approve templates that did well.

    Each line is a rule, with the template or the key of the site file that spoke with it: how many jobs ran with its
    changes, how many failed at launch, and how many users had them. A line is shown once as many users have it in
    common as `corrections.users` in daemon.toml says, three at least; nobody's name, script or path is kept with it.

    \b
    Examples:
      maple admin corrections list
      maple admin corrections approve torchrun-over-srun \\
        --reason "replaces mpirun; ran everywhere since March"
    """


@corrections.command("list")
@config_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_(path: str, as_json: bool) -> None:
    """List how rules did, with the template or site key that spoke with them; what ran most often first.

    \b
    Examples:
      maple admin corrections list
      maple admin corrections list --json
    """
    from ..learn.corrections import concerns

    settings = settings_of(path)
    candidates = _candidates(settings)
    if as_json:
        rows = [
            Correction(
                code=row.code, fact=row.fact, users=row.users, ran=row.ran, failed=row.failed, concerns=concerns(row)
            )
            for row in candidates
        ]
        output.echo(Corrections(users=settings.corrections.users, candidates=rows))
        return
    if not candidates:
        click.echo("no correction yet that %d users agree on" % settings.corrections.users)
        return
    click.echo("%-8s %6s %6s %6s  %s" % ("rule", "ran", "failed", "users", "template or site key"))
    for row in candidates:
        click.echo("%-8s %6d %6d %6d  %s" % (row.code, row.ran, row.failed, row.users, row.fact or "-"))


@corrections.command()
@config_option
@click.argument("template")
@click.option("--reason", required=True, metavar="TEXT", help="Why, in a sentence; it stands in the file.")
@click.option("--dry-run", is_flag=True, help="Print the file, and write nothing.")
def approve(path: str, template: str, reason: str, dry_run: bool) -> None:
    """Make a TEMPLATE that jobs ran with trusted here: its next revision, written among the site's own templates.

    What it changes is then done without asking. A rule or a site key is no template: a key is corrected in the site
    file. The new revision is in force after `maple site apply`.

    \b
    Examples:
      maple admin corrections approve torchrun-over-srun \\
        --reason "ran everywhere since March"
      maple admin corrections approve torchrun-over-srun \\
        --reason "ran everywhere" --dry-run
    """
    from maple_agents.ask.sites import launch_templates as templates
    from maple_agents.base import tables

    from ..learn.corrections import Approval, Refused, chosen, revised, write

    if not reason.strip():
        raise Complaint("--reason says nothing", "explain in one sentence why this template can be trusted")
    settings = settings_of(path)
    try:
        candidate = chosen(_candidates(settings), template)
        approval = Approval(_site(settings), reason, datetime.date.today())
        if dry_run:
            with open(tables.paths(templates.KIND)[template], "rb") as file:
                click.echo(revised(file.read(), candidate, approval), nl=False)
            return
        written = write(template, candidate, approval)
    except Refused as refused:
        raise Complaint(str(refused), refused.remedy) from None
    except (OSError, ValueError) as error:
        raise Complaint("; ".join(str(error).splitlines())) from None
    click.echo("wrote %s; `maple site apply %s` brings it into force" % (written, approval.site.id))


def _candidates(settings: Settings) -> list[Candidate]:
    with memory(settings) as store:
        return store.candidates(settings.corrections.users)


def _site(settings: Settings) -> Site:
    from ..decide.rules_in_force import read

    if not settings.conf:
        raise Complaint("the settings name no front.conf, so no site", "set `conf` in daemon.toml")
    return read(settings.conf).site
