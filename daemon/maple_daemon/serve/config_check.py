"""`maple-daemon --check`: all that is wrong, in one go. A mistake keeps the service from starting, a doubt does not."""

from __future__ import annotations

import importlib.util
import os
import pwd
import stat
from collections.abc import Iterator

from ..base import metrics
from ..base.settings import Settings
from ..decide import rules_in_force

LONGEST = 107  # bytes that the path of a socket may have (unix(7))


def mistakes(settings: Settings) -> Iterator[str]:
    """Yield a line for each thing with which the service would not start, or would answer wrongly."""
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
        metrics.place_of(settings.metrics)
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
