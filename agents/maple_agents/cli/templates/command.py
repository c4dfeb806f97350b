"""`maple templates`: the repository of templates, read, shown and checked."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Optional

import click
from maple_submit_filter.answer.report import printable

from ...base import output
from ...base.complaint import Complaint
from .. import completion
from ..groups import Group

_SITE = click.option(
    "--site", "site_id", metavar="ID|FILE", shell_complete=completion.site_or_file, help="What there is for this site."
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON; its shape is stable.")


@click.group("templates", cls=Group)
def templates() -> None:
    """See what batch scripts are made of: paradigms, launch templates, environments of sites, models.

    \b
    Examples:
      maple templates list --site tacc-vista
      maple templates show torchrun-over-srun
      maple templates show zero3 --site ncsa-deltaai
      maple templates lint
    """


def _clear(command: Callable[..., Any]) -> Callable[..., Any]:
    """Say what is wrong with a file in its own line, and what to do about it."""

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except (ValueError, OSError) as error:
            lines = str(error).splitlines() or [type(error).__name__]
            more = f" (and {len(lines) - 1} more: maple templates lint)" if len(lines) > 1 else ""
            raise Complaint(lines[0] + more) from error

    return run


@templates.command("list")
@_SITE
@_JSON
@_clear
def list_(site_id: Optional[str], as_json: bool) -> None:
    """List every part; with --site, what starts each paradigm there, the best first.

    \b
    Examples:
      maple templates list
      maple templates list --site alcf-aurora --json
    """
    from ...ask.sites import named
    from . import pages as template_lists

    made = template_lists.list_of_site(named(site_id)) if site_id else template_lists.list_of_all()
    if as_json:
        output.echo(made)
    else:
        template_lists.show_list(made)


@templates.command()
@click.argument("name", shell_complete=completion.parts)
@_SITE
@_JSON
@_clear
def show(name: str, site_id: Optional[str], as_json: bool) -> None:
    """Show a part: what it says, why, and where that is known from.

    NAME is a paradigm, a launch template, a site (its environment part), or a model or a family of models. With
    --site, a paradigm or a launch template is shown as that site would have it.

    \b
    Examples:
      maple templates show fsdp
      maple templates show accelerate-over-pals --site alcf-aurora
      maple templates show nersc-perlmutter
      maple templates show Llama-3.1-8B
    """
    from ...ask.sites import named
    from . import pages as template_pages

    made = template_pages.page(name, named(site_id) if site_id else None)
    if as_json:
        output.echo(made.data, ascii_only=False)
    else:
        template_pages.draw(made)


@templates.command()
@click.argument("site_id", metavar="SITE|FILE", shell_complete=completion.site_or_file)
@_clear
def draft(site_id: str) -> None:
    """Print a first environment part for a site, made from its site file: modules, variables, demands.

    Look at every line, then keep it in /etc/maple/templates/environment/SITE.toml.

    \b
    Example:
      maple templates draft ncsa-delta > \\
        /etc/maple/templates/environment/ncsa-delta.toml
    """
    from maple_agents.ask.sites import named
    from maple_agents.templates.environments import described
    from maple_agents.templates.environments import draft as drafted

    click.echo(drafted(described(named(site_id))), nl=False)


@templates.command()
@_clear
def lint() -> int:
    """Check every part, its references to site files, and that each site can start each paradigm. Exit 1 if not.

    \b
    Example:
      maple templates lint
    """
    from maple_agents.templates import lint as checks

    wrong = checks.mistakes()
    for line in wrong:
        click.echo(printable(line))
    if not wrong:
        click.echo(checks.counted())
    return 1 if wrong else 0


@templates.command()
@click.option("--json", "as_json", is_flag=True, help="JSON, which is the only form there is.")
@_clear
def export(as_json: bool) -> None:
    """Print the whole repository as JSON, and what starts each paradigm on each site with its revision.

    \b
    Example:
      maple templates export --json > templates.json
    """
    from maple_agents.templates.catalogue import exported

    output.echo(exported(), ascii_only=False)
