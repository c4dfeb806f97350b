"""`maple-daemon`: the service that remembers, and the check of its settings."""

from __future__ import annotations

import asyncio
import gc
import importlib.util
import os
import pwd
import stat
import sys
from collections.abc import Iterator

import click
from maple_agents.cli import completion

from ..base.settings import Settings, Wrong, examined

LONGEST = 107  # bytes that the path of a socket may have (unix(7))


def mistakes(settings: Settings) -> Iterator[str]:
    """Yield a line for each thing with which the service would not start, or would answer wrongly."""
    from ..base import telemetry  # of the extra: where it is not installed, `main` has to live to say so
    from ..decide import rules_in_force

    if settings.conf:
        try:
            rules_in_force.read(settings.conf)
        except (OSError, ValueError) as error:
            yield "conf: %s: %s" % (getattr(error, "filename", "") or settings.conf, _why(error))
    for key in ("socket", "events_socket"):
        path = getattr(settings, key)
        if len(os.fsencode(path)) > LONGEST:
            yield "%s: %s: longer than a socket's path may be (%d bytes)" % (key, path, LONGEST)
        elif path and not path.startswith("/"):
            yield "%s: %s: not a path from the root" % (key, path)
        elif os.path.lexists(path) and not stat.S_ISSOCK(os.lstat(path).st_mode):
            yield "%s: %s: is there and no socket" % (key, path)
    try:
        telemetry.place_of(settings.metrics)
    except ValueError as error:
        yield str(error)


def doubts(settings: Settings) -> Iterator[str]:
    """Yield a line for each thing without which it serves, but not as somebody may have meant it."""
    if not settings.conf:
        yield "no `conf`, so nothing is known of the cluster; name the front.conf of the installation"
    if settings.socket.startswith("/") and not os.path.lexists(settings.socket) and not _can_write(settings.socket):
        yield "socket: %s: its folder is not ours to write; systemd has to hand the socket over" % settings.socket
    yield from _of_store(settings.store)
    if settings.spool and not os.path.isdir(settings.spool):
        yield "spool: %s: no such folder; the ends of jobs are not heard there" % settings.spool
    if "events" in settings.roles and not settings.spool and not settings.events_socket:
        yield "roles: `events` has neither a spool nor an events_socket to hear of"
    for name in settings.events_users:
        if not _is_known(name):
            yield "events_users: there is no user %s here" % name


def _of_store(store: str) -> Iterator[str]:
    _, postgresql, _ = store.partition("://")
    wants = "psycopg" if postgresql else "sqlite_utils"
    if store and importlib.util.find_spec(wants) is None:
        yield "store: %s is not installed, so nothing outlives the service" % wants
    elif store and not postgresql and os.path.lexists(store):
        if not os.path.isfile(store) or not os.access(store, os.R_OK | os.W_OK):
            yield "store: %s: not a file that we may write, so nothing outlives the service" % store
    elif store and not postgresql and not _can_write(store):
        yield "store: %s: its folder is not ours to write, so nothing outlives the service" % store


def _can_write(path: str) -> bool:
    """Return whether a file could be made there, with the folders above it that are missing."""
    folder = os.path.dirname(path)
    while folder not in ("", "/") and not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    return os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK)


def _is_known(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except (KeyError, ValueError):
        return False
    return True


def _why(error: Exception) -> str:
    return (error.strerror or str(error)).lower() if isinstance(error, OSError) else str(error)


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
@click.option("--role", "roles", multiple=True, type=click.Choice(["submissions", "events", "priority"]),
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
        read, wrong = examined(path)
        settings = _changed(read, foreground, roles, socket)
        if wrong and not check:
            raise Wrong("\n".join(wrong))
        if "priority" in roles and not check:
            sys.exit(_ordered(settings, roles, path))
        sys.exit(_checked(settings, wrong, path) if check else _served(settings))
    except Wrong as error:
        for line in str(error).splitlines():
            click.echo("maple-daemon: %s" % line, err=True)
        sys.exit(2)
    except ImportError as error:
        from maple_agents.base.complaint import remedy

        todo = remedy(error)
        if not todo:
            raise
        click.echo("maple-daemon: %s is not installed; %s" % (error.name, todo), err=True)
        sys.exit(2)


def _changed(settings: Settings, foreground: bool, roles: tuple[str, ...], socket: str | None) -> Settings:
    more: dict[str, object] = {"log": "text"} if foreground else {}
    more |= {"roles": list(roles)} if roles else {}
    more |= {"socket": socket} if socket else {}
    return settings.model_copy(update=more)


def _of_installation() -> str:
    """Return the settings that an installation on PATH wrote, "" where /etc has some or none is installed."""
    from maple_agents.ask.sites.this_site import prefix_of_front
    from maple_submit_filter.host.places import etc

    from .prefix import daemon_toml

    return "" if os.path.exists(os.path.join(etc(), "daemon.toml")) else daemon_toml(prefix_of_front())


def _checked(settings: Settings, wrong: list[str], path: str) -> int:
    from ..decide import rules_in_force

    wrong = [*wrong, *mistakes(settings)]
    for line in (*wrong, *doubts(settings)):
        click.echo("maple-daemon: %s" % line, err=True)
    if wrong:
        return 2
    in_force = rules_in_force.read(settings.conf) if settings.conf else rules_in_force.generic()
    facts = (in_force.site.id, in_force.policy.mode, settings.socket, path or "defaults, or /etc/maple/daemon.toml")
    click.echo("settings are right: %s, mode %s, socket %s (%s)" % facts)
    return 0


def _ordered(settings: Settings, roles: tuple[str, ...], path: str) -> int:
    """Order waiting jobs: a process of its own, because what answers submissions may ask no scheduler."""
    from maple_submit_filter.host.places import etc

    from ..base.telemetry import configure
    from ..priority.live import Live, place

    if set(roles) != {"priority"}:
        raise Wrong("--role priority: it goes with no other role; start it as a process of its own")
    if not settings.store:
        raise Wrong("--role priority: the settings name no store, so nothing is foretold; set `store` in daemon.toml")
    configure(settings.log)
    Live(settings, place(path or os.path.join(etc(), "daemon.toml"))).run()
    return 0


def _served(settings: Settings) -> int:
    sys.setswitchinterval(SWITCH)
    gc.freeze()
    gc.set_threshold(*COLLECT)
    from ..base.peers import NoSocket
    from ..base.telemetry import configure
    from ..serve.service import Service, listening

    configure(settings.log)
    try:
        service = Service(settings)
        asyncio.run(service.run(listening(settings)))
    except (NoSocket, OSError, ValueError) as error:
        raise Wrong(str(error)) from None
    return 0
