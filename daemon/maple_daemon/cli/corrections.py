"""`maple admin corrections`: what changed jobs came to over all users, and approving what did well."""

from __future__ import annotations

import datetime
import json
from typing import TYPE_CHECKING

import click
from maple_agents.base.complaint import Complaint
from maple_agents.cli.groups import Group

from .memory_admin import config_option, memory, settings_of

if TYPE_CHECKING:
    from maple_submit_filter.site.facts import Site

    from ..base.settings import Settings
    from ..store.protocol import Candidate


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
    found = _candidates(settings)
    if as_json:
        told = [{**one._asdict(), "concerns": concerns(one)} for one in found]
        click.echo(json.dumps({"users": settings.corrections.users, "candidates": told}, indent=1))
        return
    if not found:
        click.echo("no correction yet that %d users agree on" % settings.corrections.users)
        return
    click.echo("%-8s %6s %6s %6s  %s" % ("rule", "ran", "failed", "users", "template or site key"))
    for one in found:
        click.echo("%-8s %6d %6d %6d  %s" % (one.code, one.ran, one.failed, one.users, one.fact or "-"))


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
        one = chosen(_candidates(settings), template)
        approval = Approval(_site(settings), reason, datetime.date.today())
        if dry_run:
            with open(tables.paths(templates.KIND)[template], "rb") as file:
                click.echo(revised(file.read(), one, approval), nl=False)
            return
        written = write(template, one, approval)
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
