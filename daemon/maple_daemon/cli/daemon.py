"""`maple-daemon`: the service that remembers."""

from __future__ import annotations

import asyncio
import gc
import os
import sys

import click
from maple_agents.cli import completion

from ..base.settings import Settings, Wrong, examined

# Seconds that the store's threads may keep the interpreter from the loop, which answers: not the five milliseconds that
# Python gives them.
SWITCH = 0.0005
COLLECT = (10_000, 20, 50)  # what is remembered is gone through seldom: that holds up whoever asks just then


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--config",
    "path",
    metavar="FILE",
    shell_complete=completion.files,
    help="Settings in place of /etc/maple/daemon.toml; --check takes the installation's where that is not there.",
)
@click.option("--check", is_flag=True, help="Say all that is wrong with settings, site and policy, and end.")
@click.option("--foreground", is_flag=True, help="Log for people, not for the journal.")
@click.option("--role", "roles", multiple=True, type=click.Choice(["submissions", "events"]),
              help="What this daemon does; may be given again. Default: what the settings say.")  # fmt: skip
@click.option("--socket", metavar="PATH", shell_complete=completion.files, help="Listen here.")
def main(path: str | None, check: bool, foreground: bool, roles: tuple[str, ...], socket: str | None) -> None:
    """Answer sbatch and qsub from memory. Nothing depends on it: without it each submission asks its own helper.

    \b
    Examples:
      maple-daemon --check
      maple-daemon --foreground --socket "$XDG_RUNTIME_DIR/maple.sock"
      systemctl start maple-daemon.socket
    """
    try:
        path = path or (_of_installation() if check else "")
        told, wrong = examined(path)
        settings = _changed(told, foreground, roles, socket)
        if wrong and not check:
            raise Wrong("\n".join(wrong))
        sys.exit(_checked(settings, wrong, path) if check else _served(settings))
    except Wrong as error:
        for line in str(error).splitlines():
            click.echo("maple-daemon: %s" % line, err=True)
        sys.exit(2)
    except ImportError as error:
        from maple_agents.base.extras import remedy

        todo = remedy(error)
        if not todo:
            raise
        click.echo("maple-daemon: %s is not installed; %s" % (error.name, todo), err=True)
        sys.exit(2)


def _changed(told: Settings, foreground: bool, roles: tuple[str, ...], socket: str | None) -> Settings:
    more: dict[str, object] = {"log": "text"} if foreground else {}
    more |= {"roles": list(roles)} if roles else {}
    more |= {"socket": socket} if socket else {}
    return told.model_copy(update=more)


def _of_installation() -> str:
    """Return the settings that an installation on PATH wrote, "" where /etc has some or none is installed."""
    from maple_agents.ask.sites.this_site import prefix_of_front
    from maple_submit_filter.host.places import etc

    from .prefix import daemon_toml

    return "" if os.path.exists(os.path.join(etc(), "daemon.toml")) else daemon_toml(prefix_of_front())


def _checked(settings: Settings, wrong: list[str], path: str) -> int:
    from ..decide import rules_in_force
    from ..serve.config_check import doubts, mistakes

    wrong = [*wrong, *mistakes(settings)]
    for line in (*wrong, *doubts(settings)):
        click.echo("maple-daemon: %s" % line, err=True)
    if wrong:
        return 2
    found = rules_in_force.read(settings.conf) if settings.conf else rules_in_force.generic()
    said = (found.site.id, found.policy.mode, settings.socket, path or "defaults, or /etc/maple/daemon.toml")
    click.echo("settings are right: %s, mode %s, socket %s (%s)" % said)
    return 0


def _served(settings: Settings) -> int:
    sys.setswitchinterval(SWITCH)
    gc.freeze()
    gc.set_threshold(*COLLECT)
    from ..base.log import configure
    from ..base.sockets import NoSocket
    from ..serve.service import Service, listening

    configure(settings.log)
    try:
        service = Service(settings)
        asyncio.run(service.run(listening(settings)))
    except (NoSocket, OSError, ValueError) as error:
        raise Wrong(str(error)) from None
    return 0
