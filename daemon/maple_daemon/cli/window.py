"""`maple admin serve`, and the page of `maple admin report --html`: what Maple did here, to look at in a browser."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import click
from maple_agents.base.complaint import Complaint
from maple_agents.cli import completion

from .memory_admin import read_settings
from .prefix import audited_prefix, daemon_toml, meant, plainly

if TYPE_CHECKING:
    from ..window.figures import Source
    from ..window.shapes import Window


@click.command()
@audited_prefix
@click.option("--config", metavar="FILE", shell_complete=completion.files,
              help="Settings of the service whose memory counts.")  # fmt: skip
@click.option("--since", default="13w", show_default=True, metavar="T", help="12h, 7d or 4w back; or a date.")
@click.option("--socket", "path", metavar="PATH", type=click.Path(), help="Listen here, behind the site's proxy.")
@click.option("--port", type=click.IntRange(1, 65535), default=8787, show_default=True,
              help="Of loopback, where no --socket is given.")  # fmt: skip
@plainly
def serve(prefix: str | None, config: str | None, since: str, path: str | None, port: int) -> None:
    """Show in a browser what Maple saw and did here, what fails, and whether all is well. Nothing is changed.

    Submissions by week, rule and partition, ends of jobs by kind, node and hour, answers that came too late, forecasts
    against outcomes, facts whose changes failed, the doctor's checks. No user is named. On loopback a key is needed,
    which is printed here; a Unix socket gets mode 0660, and the proxy in front of it says who may look.

    \b
    Examples:
      maple admin serve --prefix /opt/maple
      maple admin serve --prefix /opt/maple --socket /run/maple/window.sock
      ssh -L 8787:127.0.0.1:8787 login1    # then open the printed address
    """
    from ..window import server

    figures_shown = server.shown(source(prefix, config, since))
    place = server.Place(path) if path else server.Place(port=port, key=secrets.token_urlsafe(24))
    try:
        bound = server.listening(place)
    except OSError as error:
        where = path or f"port {port}"
        raise Complaint(f"{where}: {error.strerror}", "name another: --socket PATH or --port N") from None
    where = path or f"http://127.0.0.1:{port}/?key={place.key}"
    click.echo(f"{where}\nends with Ctrl-C")
    server.serve(server.application(figures_shown, place), bound)


def source(prefix: str | None, config: str | None, since: str) -> "Source":
    """Return what is looked at: the installation that is named, else that on PATH, and its service's memory."""
    from ..install.refusals import absolute
    from ..window.figures import Source

    named = prefix or ("" if config else meant())
    toml = config or daemon_toml(named)
    settings = read_settings(toml) if toml else None
    if not named and settings is None:
        raise Complaint("no installation is on PATH", "name it: --prefix, or the settings of the service: --config")
    return Source(absolute(named, "--prefix") if named else None, settings, since)


def write_page(file: str, looked_at: "Source") -> None:
    """Write all figures as one page that can be sent; a file that exists is not overwritten."""
    from maple_agents.base.new_file import put

    from ..window import pages

    put(pages.whole(looked(looked_at)).encode(), file)


def looked(at: "Source") -> "Window":
    """Return all figures as they are now."""
    import datetime

    from ..window import figures

    return figures.window(at, datetime.datetime.now(datetime.timezone.utc))
