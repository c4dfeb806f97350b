"""Is the service there, who runs it, and does it decide by what is installed? Without it each helper answers alone.

After facts were changed: the service reads them anew, where we may tell it to; else the line that does is said.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from maple_submit_filter.host import configuration

from ...decide import rules_in_force
from ...serve import identity
from .. import settings
from ..refusals import Check, user_name
from ..release.layout import Layout, Placed, Receipt, Release
from . import hooks
from .service_files import UNITS, start_line

PATIENCE = 5.0  # seconds until the service has to have read them


def examined(where: Layout, receipt: Receipt, release: Release) -> list[Check]:
    """Return every check of the service, none where there is to be none."""
    values = settings.values(release)
    path = values.get("socket", "")
    checks = [*files(receipt), *hooks.examined(where, receipt)]
    return checks + (list(answers(where, receipt, release, path, values.get("service_uid", ""))) if path else [])


def files(receipt: Receipt) -> Iterator[Check]:
    """Are the units as they were written?"""
    for placed in receipt.written:
        if placed.kind == "unit" and not hooks.is_ours(placed):
            state = "was changed" if os.path.lexists(placed.path) else "is gone"
            yield Check("unit", "wrong", f"{placed.path} {state}", "put changes into a drop-in (systemctl edit); then "
                        "move it away and install again")  # fmt: skip
        elif not os.path.lexists(placed.path):
            yield Check("daemon.toml", "wrong", f"{placed.path} is gone", "install again")
        else:
            yield Check(_name(placed), "ok", placed.path)


def _name(placed: Placed) -> str:
    """Return what a file of the service's is called in a list of checks."""
    folder, name = os.path.split(placed.path)
    return "hook" if os.path.basename(folder) == "hooks" else "unit" if placed.kind == "unit" else name


def answers(where: Layout, receipt: Receipt, release: Release, path: str, trusted: str) -> Iterator[Check]:
    """Does it answer, will the front believe it, and does it decide as the helper of this release would?"""
    listener = identity.ask(path)
    if listener.owner >= 0 and str(listener.owner) not in ("0", trusted, str(os.geteuid())):
        says = f"{path} is of {user_name(listener.owner)} (uid {listener.owner}), whom no front believes"
        yield Check("service", "wrong", says, f"run it as uid {trusted or '0'}, or install again with --service-uid")
        return
    service = listener.about
    if service is None:
        todo = f"start it:\n    {start(receipt, trusted)}"
        yield Check("service", "note", f"{path}: {listener.why}; the helper answers alone", todo)
        return
    who = f"{user_name(service.uid)} (uid {service.uid})"
    yield Check("service", "ok", f"{path}, Maple {service.version} as {who}, process {service.pid}")
    yield revision(service, release)
    if service.lost > 0:
        todo = "is its disk slow or full? maple admin check, and the service's log; a restart begins to count anew"
        yield Check("memory", "note", f"{service.lost} changes were dropped: there was no room for them", todo)


def revision(service: identity.About, release: Release) -> Check:
    """Does the service decide by the same rules, facts and modes as the release in force?"""
    installed, modes = facts_in_force(release), modes_in_force(release)
    if service.facts == installed and service.modes not in ("", modes):
        todo = f"systemctl reload maple-daemon, or kill -HUP {service.pid}"
        return Check("revision", "wrong", "the service goes by other modes than maple admin mode shows", todo)
    if service.facts == installed:
        says = f"the service decides as the release does: rules and facts of {service.site}, {installed[:12]}"
        return Check("revision", "ok", says)
    says = f"the service decides by {service.site}, {service.facts[:12]}; installed is {installed[:12]}"
    todo = (
        f"systemctl reload maple-daemon, or kill -HUP {service.pid}; where that does not help, see that `conf` of its\n"
        "settings names this installation, and that its Maple is of this version"
    )
    return Check("revision", "wrong", says, todo)


def facts_in_force(release: Release) -> str:
    """Return the hash of the rules and facts that the front of a release goes by, in hexadecimal."""
    path, _ = configuration.in_force(settings.values(release))
    return rules_in_force.facts_of(path, str(release.package)).hex()


def modes_in_force(release: Release) -> str:
    """Return the hash of the modes that the front of a release goes by, "" where they cannot be read."""
    try:
        return rules_in_force.modes_of(configuration.policy(settings.values(release)))
    except (OSError, ValueError):
        return ""


def start(receipt: Receipt, uid: str) -> str:
    """Return the line that starts the service of an installation."""
    from pathlib import Path

    named = {os.path.basename(placed.path): Path(placed.path) for placed in receipt.written}
    if "daemon.toml" not in named:
        return "maple-daemon, or install with --daemon"
    folder = next((named[name].parent for name in UNITS if name in named), None)
    return start_line(folder, named["daemon.toml"], uid, _made_by(named["daemon.toml"]))


def _made_by(config: Path) -> tuple[str, ...]:
    """Return the files that a service with these settings makes, () where they cannot be read."""
    import tomllib

    try:
        settings = tomllib.loads(config.read_text("utf-8"))
    except (OSError, ValueError):
        return ()
    return tuple(str(settings[name]) for name in ("socket", "store") if name in settings)


def reload(current: Path, modes_only: bool = False) -> str:
    """Let the service of the release *current* read facts and modes anew, and return a line on it.

    "" where the front asks none. *modes_only*: it is the modes that changed; by which facts it decides is not asked.
    """
    release = Release(current)
    socket = settings.values(release).get("socket", "")
    if not socket:
        return ""
    goes, old = ("goes", "goes by the old modes") if modes_only else ("decides", "decides by the old ones")
    wanted = "" if modes_only else facts_in_force(release), modes_in_force(release)

    def holds(about: identity.About | None) -> bool:
        return about is not None and ("" if modes_only else about.facts, about.modes) == wanted

    service = identity.ask(socket).about
    if service is None:
        return f"no service answers at {socket}; the next one that starts reads them"
    if not holds(service):
        try:
            os.kill(service.pid, signal.SIGHUP)
        except OSError:
            return f"the service (process {service.pid}) {old} still: kill -HUP {service.pid}, as root"
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if holds(identity.ask(socket).about):
            return f"the service (process {service.pid}) {goes} by them"
        time.sleep(0.05)
    says = f"the service (process {service.pid}) was told, and {old} still"
    return says + ": restart it if it is of another version"
