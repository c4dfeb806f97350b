"""`maple site`: curating what is known of a cluster."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import click
from maple_agents import sites
from maple_agents.cli import completing
from maple_agents.cli.groups import Group
from maple_agents.sites.mistakes import Mistakes
from maple_agents.sites.model import SiteFile
from maple_submit_filter import places
from maple_submit_filter.site import Site
from maple_submit_filter.site_snapshot import write

from ..sites import snapshot
from ..sites.compare import differences
from ..sites.show import page

_SITE = click.argument("site", metavar="ID|FILE", shell_complete=completing.site_or_file)
_TARGET = (
    click.option("--to", type=click.Path(path_type=Path), help="The snapshot file, in place of the installed one."),
    click.option("--prefix", type=click.Path(path_type=Path), help="The prefix of an installation."),
)


@click.group("site", cls=Group, epilog="Example: maple site lint site_configs/ncsa-delta.toml")
def site() -> None:
    """Curate what is known of a cluster: site files, and the snapshot that submitting reads."""


@site.command(epilog="Example: maple site lint my-cluster.toml")
@click.argument("names", metavar="[ID|FILE]...", nargs=-1, shell_complete=completing.site_or_file)
def lint(names: Sequence[str]) -> None:
    """Check site files, all known ones if none is named, and tell every mistake in each. Exit 1 if there is one."""
    wrong = False
    for name in names or sites.ids():
        try:
            _load(name)
        except (OSError, ValueError) as error:
            wrong = True
            click.echo(_said(error))
        else:
            click.echo("%s: ok" % name)
    if wrong:
        raise SystemExit(1)


@site.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_(as_json: bool) -> None:
    """List the known sites. The one that we seem to be on is marked."""
    here = sites.detect(os.environ, os.uname().nodename)
    if as_json:
        click.echo(json.dumps({"here": here, "sites": sites.ids()}))
        return
    for one in sites.ids():
        click.echo("%s %s" % ("*" if one == here else " ", one))


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
    from ..sites.drafting_command import drafted, save

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
    """Show what a rule knows of a site. A question mark stands for what is not known."""
    found = _found(site)
    click.echo(json.dumps(write(found), indent=1) if as_json else page(found).rstrip("\n"))


@site.command(epilog="Example: maple site diff ncsa-delta.toml  (what `apply` would change)")
@_SITE
@click.argument("other", metavar="[ID|FILE]", required=False, shell_complete=completing.site_or_file)
@_TARGET[0]
@_TARGET[1]
def diff(site: str, other: str | None, to: Path | None, prefix: Path | None) -> None:
    """Show fact by fact how the snapshot in force differs from a site file, or one site from another. Exit 1 if so."""
    new = _found(site if other is None else other)
    old = _in_force(_target(to, prefix)) if other is None else _found(site)
    lines = differences(old, new)
    for line in lines:
        click.echo(line)
    if lines:
        raise SystemExit(1)


@site.command(epilog="Example: maple site apply ncsa-delta")
@_SITE
@_TARGET[0]
@_TARGET[1]
def apply(site: str, to: Path | None, prefix: Path | None) -> None:
    """Check a site file and make it the snapshot that submitting reads. The one before is kept beside it (.last)."""
    found, target = _found(site), _target(to, prefix)
    try:
        changed = snapshot.save(found, target)
    except OSError as error:
        raise click.ClickException("%s: %s" % (target, error.strerror)) from None
    what = "now %s, revision %s" if changed else "already %s, revision %s"
    click.echo("%s: %s" % (target, what % (found.id, found.revision[:12])))


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
    return prefix / "current" / "etc" / "site.json" if prefix else Path(places.etc()) / "site.json"


def _load(name: str) -> Site:
    """Return the site of a file, or of an id."""
    if not (name.endswith(".toml") or os.sep in name):
        return sites.read(Path(sites.path(name)).read_bytes(), sites.path(name))
    return sites.read(Path(name).read_bytes(), name)


def _found(name: str) -> Site:
    """Return the site, or end with every mistake of its file."""
    try:
        return _load(name)
    except Mistakes as error:
        click.echo(_said(error), err=True)
        raise SystemExit(1) from None
    except (OSError, ValueError) as error:
        raise click.ClickException(_said(error)) from None


def _in_force(target: Path) -> Site:
    try:
        return snapshot.load(target)
    except (OSError, ValueError) as error:
        raise click.ClickException(_said(error)) from None


def _said(error: OSError | ValueError) -> str:
    if isinstance(error, OSError) and error.filename:
        return "%s: %s" % (error.filename, error.strerror)
    return str(error)
