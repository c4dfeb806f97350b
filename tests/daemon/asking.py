"""Questions to a running daemon about one's own jobs, and waiting until it has written down what it heard."""

from __future__ import annotations

import json
import socket
import time
from typing import Any, Optional

from tests.daemon.serving import Daemon


def ask(daemon: Daemon, question: object, kind: bytes = b"MPH1") -> dict[str, Any]:
    """The answer to one question: {"found"} or {"wrong"}; {} where the daemon hangs up."""
    with daemon.connect() as one:
        return ask_over(one, question, kind)


def ask_over(one: socket.socket, question: object, kind: bytes = b"MPH1") -> dict[str, Any]:
    """The same over a connection."""
    body = question if isinstance(question, bytes) else json.dumps(question).encode()
    try:
        one.sendall(kind + len(body).to_bytes(4, "big") + body)
        one.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: one.recv(65536), b""))
    except OSError:
        return {}
    told: dict[str, Any] = json.loads(answer[8:]) if answer else {}
    return told


def found(daemon: Daemon, **question: object) -> Any:
    """What is found."""
    return ask(daemon, question)["found"]


def written(daemon: Daemon, number: int, seconds: float = 60) -> list[dict[str, Any]]:
    """The records, the oldest first, as soon as there are *number*."""
    end = time.monotonic() + seconds
    records: Optional[list[dict[str, Any]]] = None
    while records is None or len(records) < number:
        assert time.monotonic() < end, "only %r; %s" % (records, daemon.said)
        time.sleep(0.05)
        records = ask(daemon, {"ask": "records", "limit": 500}).get("found")
    assert len(records) == number
    return records[::-1]
