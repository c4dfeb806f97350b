"""`maple site`: curating what is known of a cluster."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Optional, TypedDict

import click
from maple_agents.ask import sites
from maple_agents.ask.sites.files import Mistakes, parse
from maple_agents.ask.sites.model import SiteFile
from maple_agents.base.complaint import Complaint
from maple_agents.base.output import echo, is_bounded, rows, width
from maple_agents.cli import completion
from maple_agents.cli.groups import Group
from maple_submit_filter.answer.report import columns, printable
from maple_submit_filter.host import configuration, places
from maple_submit_filter.site.facts import Site
from maple_submit_filter.site.snapshot import write

from ..install import settings
from ..install.refusals import Refused, absolute
from ..install.release import releases, revisions
from ..install.release.layout import Layout, Release, layout, read_receipt
from ..install.service import state
from ..sites import snapshot
from ..sites.show import differences, page
from .prefix import FOUND, HELP, meant, plainly


class Sites(TypedDict):
    """The known sites, the one that we seem to be on, and from where that is known."""

    here: Optional[str]
    known_by: str
    sites: list[str]


class Revisions(TypedDict):
    """What was applied to an installation, the newest last; *in_force*: its number, 0 as the release brought them."""

    in_force: int
    revisions: list[revisions.Revision]


_SITE = click.argument("site", metavar="ID|FILE", shell_complete=completion.site_or_file)
_TARGET = (
    click.option("--to", type=click.Path(path_type=Path), help="The snapshot file, in place of the installed one."),
    click.option(
        "--prefix",
        type=click.Path(path_type=Path),
        metavar="P",
        help=HELP + FOUND,
    ),  # fmt: skip
)


@click.group("site", cls=Group)
def site() -> None:
    """Curate what is known of a cluster: site files, and the snapshot that submitting reads.

    \b
    Examples:
      maple site list
      maple site show ncsa-delta
      maple site init -o my-cluster.toml
      maple site lint my-cluster.toml
      maple site apply my-cluster.toml --prefix /opt/maple
    """


@site.command(epilog="Example: maple site lint my-cluster.toml")
@click.argument("names", metavar="[ID|FILE]...", nargs=-1, shell_complete=completion.site_or_file)
@click.option("--use", is_flag=True, help="List every field of a site file with the rules, or else, that read it.")
def lint(names: Sequence[str], use: bool) -> None:
    """Check site files, all known ones if none is named, and tell every mistake in each. Exit 1 if there is one.

    Of one that is named also what it says of itself that it does not know: only a person can.
    """
    if use:
        from ..sites.use import lines

        click.echo("\n".join(lines()))
        return
    wrong = False
    for name in names or sites.ids():
        try:
            _load(name)
        except (OSError, ValueError) as error:
            wrong = True
            click.echo(_one_line(error))
        else:
            click.echo("%s: ok" % name)
            for line in _unknown(name) if names else ():
                rows("  not known: %s" % printable(line))
    if wrong:
        raise SystemExit(1)


@site.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_(as_json: bool) -> None:
    """List the known sites. The one that we seem to be on is marked."""
    from maple_agents.ask.sites.this_site import GENERIC, here

    now = here(None, "")
    known = None if now.how == GENERIC else now.id
    if as_json:
        echo(Sites(here=known, known_by=now.why, sites=sites.ids()))
        return
    for site_id in sites.ids():
        click.echo("%s %s%s" % (("*", site_id, "  (%s)" % now.why) if site_id == known else (" ", site_id, "")))


@site.command(epilog="Example: maple site init --id my-cluster -o my-cluster.toml")
@click.option("--id", "site_id", default="", metavar="ID", help="Id of the site.  [default: of FILE, else ClusterName]")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write there, to no file that exists."
)
def init(site_id: str, output: Path | None) -> None:
    """Draft a site file from the running system: nodes, partitions or queues, limits, launchers.

    Only asks, and changes nothing. Each value says where it was read; what nobody said is left out and listed at the
    end. The draft is in mode observe until somebody has read it.
    """
    from ..sites.draft_command import drafted, save

    text = drafted(site_id, output)
    if output is None:
        click.echo(text, nl=False)
        return
    save(text, output)
    click.echo("%s: drafted; read it, then: maple site lint %s" % (output, output), err=True)


@site.command(epilog="Example: maple site show nersc-perlmutter")
@_SITE
@click.option("--json", "as_json", is_flag=True, help="Print what the snapshot holds.")
def show(site: str, as_json: bool) -> None:
    """Show what a rule knows of a site, and from which sources. A question mark stands for what is not known."""
    described = _site(site)
    if as_json:
        echo(write(described))
    else:
        path = _path(site)
        click.echo(page(described, parse(Path(path).read_bytes(), path)).rstrip("\n"))


@site.command(epilog="Example: maple site diff ncsa-delta.toml  (what `apply` would change)")
@_SITE
@click.argument("other", metavar="[ID|FILE]", required=False, shell_complete=completion.site_or_file)
@_TARGET[0]
@_TARGET[1]
def diff(site: str, other: str | None, to: Path | None, prefix: Path | None) -> None:
    """Show fact by fact how the snapshot in force differs from a site file, or one site from another. Exit 1 if so."""
    new = _site(site if other is None else other)
    old = _in_force(_target(to, prefix)) if other is None else _site(site)
    lines = differences(old, new)
    for line in lines:
        rows(line)
    if lines:
        raise SystemExit(1)


@site.command(epilog="Example: maple site apply ncsa-delta.toml --prefix /opt/maple")
@_SITE
@_TARGET[0]
@_TARGET[1]
@plainly
def apply(site: str, to: Path | None, prefix: Path | None) -> None:
    """Check a site file, and have submitting go by it from now on.

    In an installation (--prefix, or the one whose front is on PATH) each apply is a revision beside the releases: an
    update of Maple keeps it, and `maple site rollback` goes back. A service that runs there reads it at once, and who
    names the site by its id reads the file, which is kept.

    With --to FILE it becomes that snapshot, and the one before is kept beside it (.last).
    """
    described, where = _site(site), None if to else _installation(prefix)
    if where is None:
        target = _target(to, prefix)
        changed = snapshot.save(described, target)
        what = "now %s, revision %s" if changed else "already %s, revision %s"
        click.echo("%s: %s" % (target, what % (described.id, described.revision[:12])))
        return
    made = revisions.apply(_revisions(where, described.id), described, _named(site), Path(_path(site)).read_bytes())
    click.echo("%s: revision %d of %s is in force, %s" % (where.prefix, made.number, described.id, made.revision[:12]))
    _reloaded(where)


@site.command("revisions", epilog="Example: maple site revisions --prefix /opt/maple")
@_TARGET[1]
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@plainly
def revisions_(prefix: Path | None, as_json: bool) -> None:
    """List what was applied to an installation, the newest last; the one in force is marked."""
    where = _must(prefix)
    revisions_made, now = revisions.known(_revisions(where))
    if as_json:
        echo(Revisions(in_force=now, revisions=revisions_made))
        return
    click.echo("%s %4d  as the release brought them" % ("*" if not now else " ", 0))
    for revision in revisions_made:
        at = time.strftime("%Y-%m-%d %H:%M", time.localtime(revision.at))
        mark = "*" if revision.number == now else " "
        row = "%s %4d  %s  %s" % (mark, revision.number, at, revision.revision[:12])
        fits = not is_bounded() or columns(row + "  " + revision.source) <= width()
        click.echo(row + ("  " if fits else "\n        ") + revision.source)


@site.command(epilog="Example: maple site rollback --prefix /opt/maple")
@_TARGET[1]
@click.option("--to", type=click.IntRange(min=0), metavar="N", help="Revision; 0: as the release brought them.")
@plainly
def rollback(prefix: Path | None, to: int | None) -> None:
    """Go back to the facts that were applied before, or to those that the release brought."""
    where = _must(prefix)
    made = revisions.rollback(_revisions(where), to)
    what = "the facts of the release are" if made is None else "revision %d, %s, is" % (made.number, made.revision[:12])
    click.echo("%s: %s in force" % (where.prefix, what))
    _reloaded(where)


def _installation(prefix: Path | None) -> Layout | None:
    """Return the installation at a prefix, or the one whose front is on PATH; None where there is none."""
    folder = prefix or meant()
    where = layout(absolute(str(folder), "--prefix")) if folder else None
    if where is not None and read_receipt(where) is None:
        raise Refused(f"no Maple is installed below {where.prefix}", "name the prefix that install was given, or --to")
    return where


def _must(prefix: Path | None) -> Layout:
    where = _installation(prefix)
    if where is None:
        raise Refused("no installation is named, and none is on PATH", "name its folder with --prefix")
    return where


def _revisions(where: Layout, site_id: str = "") -> revisions.Revisions:
    """Return those of the installed site; refuse where *site_id* is another."""
    here = str(releases.manifest(Release(where.releases / releases.in_force(where))).get("site", ""))
    if site_id and site_id != here:
        raise Refused(
            f"{where.prefix} is installed for {here}, and this file is {site_id}'s",
            f"maple admin install --site {site_id} makes it that cluster's",
        )
    return revisions.of(where.facts, here)


def _reloaded(where: Layout) -> None:
    says = state.reload(where.current)
    if says:
        click.echo(says)


def _named(site: str) -> str:
    """Return the path of the file that was meant."""
    return os.path.abspath(site) if site.endswith(".toml") or os.sep in site else sites.path(site)


@site.command()
def schema() -> None:
    """Print the JSON schema of site files."""
    click.echo(schema_text(), nl=False)


def schema_text() -> str:
    """Return the JSON schema of a site file as text; `site_configs/schema.json` is this."""
    model = SiteFile.model_json_schema()
    return json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema", **model}, indent=2) + "\n"


def _target(to: Path | None, prefix: Path | None) -> Path:
    """Return where the snapshot lies: as told, in an installation, or in the folder of the site's own files."""
    if to is not None:
        return to
    where = _installation(prefix)
    if where is None:
        return Path(places.etc()) / "site.json"
    return Path(configuration.in_force(settings.values(Release(where.current)))[0])


def _load(name: str) -> Site:
    """Return the site of a file, or of an id."""
    path = _path(name)
    return sites.read(Path(path).read_bytes(), path)


def _path(name: str) -> str:
    return name if name.endswith(".toml") or os.sep in name else sites.path(name)


def _unknown(name: str) -> list[str]:
    path = _path(name)
    return parse(Path(path).read_bytes(), path).unknown


def _site(name: str) -> Site:
    """Return the site, or end with every mistake of its file."""
    try:
        return _load(name)
    except Mistakes as error:
        click.echo(_one_line(error), err=True)
        raise SystemExit(1) from None
    except OSError as error:
        raise Complaint(_one_line(error), "name a site file that you can read, or an id of maple site list") from None
    except ValueError as error:
        raise Complaint(_one_line(error), "") from None


def _in_force(target: Path) -> Site:
    try:
        return snapshot.load(target)
    except (OSError, ValueError) as error:
        raise click.ClickException(_one_line(error)) from None


def _one_line(error: OSError | ValueError) -> str:
    if isinstance(error, OSError) and error.filename:
        return "%s: %s" % (error.filename, error.strerror)
    return str(error)
