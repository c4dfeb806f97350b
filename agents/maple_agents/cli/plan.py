"""`maple plan`: which processes would start where."""

from __future__ import annotations

import json
from typing import Optional, Tuple

import click

from ..ask.submission import answer
from ..base.complaint import Complaint
from . import completion
from .branches import branches


@click.command()
@click.argument("script", metavar="SCRIPT|-", shell_complete=completion.files)
@click.argument("words", nargs=-1, metavar="[-- WORDS... [-- ARGS...]]", type=click.UNPROCESSED)
@click.option(
    "--site",
    "site_id",
    metavar="ID",
    shell_complete=completion.sites,
    help="Plan for this site, not for the one we are on.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON, with every process.")
def plan(script: str, words: Tuple[str, ...], site_id: Optional[str], as_json: bool) -> int:
    """Draw which processes a batch script would start: nodes, ranks, worlds, masters and GPUs.

    SCRIPT is a file, or - for standard input. WORDS stand before the script on the command line, and ARGS behind it;
    without the second -- these are not known. What is not known is drawn as ?, and lines that could not be read are
    named.

    \b
    Examples:
      maple plan job.sh
      maple plan job.sh -- --nodes=16
      maple plan job.sh -- --nodes=16 -- train.py 8
      maple plan --json job.sh

    Exit code: 0 drawn, 2 usage, or the script cannot be read.
    """
    asked = answer(script, words, site_id)
    if as_json:
        from .answers import planned

        click.echo(json.dumps(planned(asked), indent=2))
        return 0
    if asked.decision.plan is None:
        raise Complaint(f"{asked.name}: there is no plan: the script could not be read", "see maple check")
    from ..base.drawing import draw

    draw(branches(asked.decision.plan, asked.name, asked.decision.findings))
    click.echo(asked.on_site)
    return 0
