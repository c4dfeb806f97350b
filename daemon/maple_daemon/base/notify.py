"""Tells systemd how the service is (sd_notify(3)); where nobody listens, nothing happens."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Mapping


def notify(state: str, environ: Mapping[str, str] = os.environ) -> None:
    """Send "READY=1", "RELOADING=1", "STOPPING=1", "WATCHDOG=1" or "STATUS=…"."""
    path = environ.get("NOTIFY_SOCKET", "")
    if not path or path[0] not in "/@":
        return
    address = "\0" + path[1:] if path[0] == "@" else path
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as to:
        to.connect(address)
        to.send(state.encode())
