"""`maple admin docs`: the site's own documents, searched when a job failed."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Tuple, TypedDict, Union

import click
from maple_agents.base import output
from maple_agents.base.complaint import Complaint
from maple_agents.cli import completion
from maple_agents.cli.groups import Group
from maple_agents.diagnose.read.clean_lines import safe

if TYPE_CHECKING:
    from maple_agents.diagnose.documents.folders import Document
    from maple_agents.diagnose.documents.passages import Piece

SHOWN = 200  # characters of a passage that was found
everybody_option = click.option(
    "--everybody/--own", "everybody", default=None,
    help="The site's documents, or one's own.  [default: the site's for root, else one's own]",
)  # fmt: skip


class Kept(TypedDict):
    """A document that failures are searched with. *added*: since 1970; *own*: not the site's."""

    source: str
    passages: int
    added: float
    sha256: str
    own: bool


class Passage(TypedDict):
    """A passage that shares words with what was asked. *line*: 0 is not known; *fit*: from 1 on it is shown."""

    file: str
    line: int
    heading: str
    text: str
    fit: float


Answers = Union[list[Kept], list[Passage]]


@click.group(cls=Group)
def docs() -> None:
    """Keep documents that `maple-fix` searches: it shows the passage that speaks of a failure, with its place.

    Text, Markdown, reST and HTML; PDF where pypdf is installed. Secrets in them are masked. Links are not followed, and
    nothing is fetched from anywhere.

    \b
    Examples:
      maple admin docs add /project/handbook
      maple admin docs search "quota exceeded"
      maple admin docs remove /project/handbook/old.md
    """


@docs.command()
@everybody_option
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", shell_complete=completion.files)
def add(everybody: bool | None, paths: Tuple[str, ...]) -> None:
    """Keep the documents at PATH, or below it where it is a folder; one that was there before is read anew.

    \b
    Examples:
      maple admin docs add handbook.md faq.html
      maple admin docs add --everybody /project/handbook

    Exit code: 0 all were kept, 2 one was not.
    """
    from maple_agents.diagnose.documents import folders as documents

    folder = _folder(everybody)
    try:
        made, wrong = documents.add(paths, folder)
    except OSError as error:
        raise Complaint("%s: %s" % (folder, (error.strerror or str(error)).lower()), "nothing was kept") from None
    for document in made:
        click.echo("%s: %d passages" % (safe(document.source), len(document.pieces)))
    for line in wrong:
        click.echo("maple: " + safe(line), err=True)
    if wrong or not made:
        raise Complaint("%d kept, %d not" % (len(made), len(wrong)), "see maple admin docs list")


@docs.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_(as_json: bool) -> None:
    """List the documents that one's failures are searched with.

    \b
    Examples:
      maple admin docs list
      maple admin docs list --json
    """
    from maple_agents.diagnose.documents import folders as documents

    added = sorted(documents.every(), key=lambda document: document.source)
    if as_json:
        output.echo([_kept(document) for document in added])
        return
    if not added:
        click.echo("no documents; maple admin docs add PATH keeps some")
    for document in added:
        day = time.strftime("%Y-%m-%d", time.localtime(document.added))
        click.echo(
            "%s  %5d passages  %-5s %s"
            % (day, len(document.pieces), "own" if document.own else "site", safe(document.source))
        )


@docs.command()
@everybody_option
@click.argument("path", shell_complete=completion.files)
def remove(everybody: bool | None, path: str) -> None:
    """Forget the document that was added from PATH, or all from below it.

    \b
    Examples:
      maple admin docs remove /project/handbook
      maple admin docs remove --everybody /project/handbook/old.md
    """
    from maple_agents.diagnose.documents import folders as documents

    folder = _folder(everybody)
    try:
        gone = documents.remove(path, folder)
    except OSError as error:
        raise Complaint("%s: %s" % (folder, (error.strerror or str(error)).lower())) from None
    if not gone:
        raise Complaint("%s: no document was added from there" % path, "see maple admin docs list")
    for document in gone:
        click.echo("forgotten: " + safe(document))


@docs.command()
@click.argument("words", nargs=-1, required=True, metavar="WORDS...")
@click.option("--most", type=click.IntRange(1, 50), default=5, show_default=True, help="How many passages.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def search(words: Tuple[str, ...], most: int, as_json: bool) -> None:
    """Show the passages that share most with WORDS; from 1.00 on `maple-fix` would show one.

    \b
    Examples:
      maple admin docs search quota exceeded
      maple admin docs search \\
        "NCCL WARN Bootstrap : no socket interface found" --json
    """
    from maple_agents.diagnose.documents.search import installed

    match = installed().search(" ".join(words), most)
    if as_json:
        output.echo([_passage(document, piece, fit) for document, piece, fit in match])
        return
    if not match:
        click.echo("nothing")
    for document, piece, fit in match:
        where = "%s:%d" % (document.source, piece.line) if piece.line else document.source
        click.echo("%.2f  %s  %s" % (fit, safe(where), safe(piece.heading)))
        click.echo("      " + safe(piece.text[:SHOWN]))


def _folder(everybody: bool | None) -> str:
    """Return where documents are kept. Raises `Complaint` where there is no home."""
    from maple_agents.diagnose.documents import folders as documents

    if everybody if everybody is not None else os.geteuid() == 0:
        return documents.of_site()
    mine = documents.own()
    if mine is None:
        raise Complaint("there is no home folder", "set HOME, or say --everybody")
    return mine


def _kept(document: "Document") -> Kept:
    return {
        "source": safe(document.source), "passages": len(document.pieces), "added": document.added,
        "sha256": document.sha256, "own": document.own,
    }  # fmt: skip


def _passage(document: "Document", piece: "Piece", fit: float) -> Passage:
    return {
        "file": safe(document.source), "line": piece.line, "heading": safe(piece.heading), "text": safe(piece.text),
        "fit": round(fit, 2),
    }  # fmt: skip
