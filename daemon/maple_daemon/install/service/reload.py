"""After facts were changed: the service reads them anew, where we may tell it to; else the line that does is said."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from ...serve import identity
from .. import settings
from ..release.layout import Release
from .state import facts_in_force

PATIENCE = 5.0  # seconds until the service has to have read them


def reload(current: Path) -> str:
    """Return what became of the service of the release *current*, "" where the front asks none."""
    release = Release(current)
    socket = settings.values(release).get("socket", "")
    if not socket:
        return ""
    wanted, found = facts_in_force(release), identity.ask(socket).about
    if found is None:
        return f"no service answers at {socket}; the next one that starts reads them"
    if found.facts == wanted:
        return f"the service (process {found.pid}) decides by them"
    try:
        os.kill(found.pid, signal.SIGHUP)
    except OSError:
        return f"the service (process {found.pid}) decides by the old ones still: kill -HUP {found.pid}, as root"
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        told = identity.ask(socket).about
        if told is not None and told.facts == wanted:
            return f"the service (process {told.pid}) decides by them"
        time.sleep(0.05)
    return f"the service (process {found.pid}) was told, and does not decide by them yet: maple admin doctor"
