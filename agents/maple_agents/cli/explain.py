"""`maple explain`: a rule's page."""

from __future__ import annotations

from typing import Optional

import click

from ..base import output
from ..base.complaint import Complaint
from ..base.near_names import meant
from . import completion
from .rule_pages import Page, pages


@click.command()
@click.argument("code", required=False, metavar="[CODE]", shell_complete=completion.rules)
@click.option("--json", "as_json", is_flag=True, help="Print code, title and text as JSON.")
def explain(code: Optional[str], as_json: bool) -> None:
    """Show a rule's page: what is wrong, what is right, and why. Without CODE, list all rules.

    \b
    Examples:
      maple explain
      maple explain MPL301
    """
    known = pages()
    shown = known if code is None else (_page(code, known),)
    if as_json:
        output.echo(shown)
    elif code is None:
        click.echo("\n".join(f"{page.code}  {page.title}" for page in shown) or "no rules are installed")
    else:
        click.echo(f"{click.style(shown[0].code, bold=True)} {shown[0].title}\n")
        output.page(shown[0].text)


def _page(code: str, known: tuple[Page, ...]) -> Page:
    wanted = code.upper() if code.upper().startswith("MPL") else f"MPL{code}"
    page = next((page for page in known if page.code == wanted), None)
    if page is None:
        near = meant(wanted, [page.code for page in known])
        raise Complaint(f"{code}: there is no such rule", f"{near} maple explain lists them all".strip())
    return page
