"""The Model Context Protocol over lines: one JSON-RPC message a line, in the order in which they come.

Written out and not taken from a library: for tools the server's half of it is four methods, and the library brings a
web server and thirty packages.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import IO, NamedTuple

Json = Mapping[str, object]
VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")  # of the protocol, the newest first
LONGEST = 8 << 20  # bytes of a message
UNREAD, INVALID, UNKNOWN, WRONG, BROKEN = -32700, -32600, -32601, -32602, -32603


class Server(NamedTuple):
    """What a server has to say: who it is, its tools, and what a call of one gives."""

    name: str
    version: str
    says: str
    tools: tuple[Json, ...]
    call: Callable[[str, Json], Json]


class Refused(Exception):
    """A request that cannot be answered; *code* is JSON-RPC's."""

    def __init__(self, code: int, says: str) -> None:
        super().__init__(says)
        self.code = code


def serve(server: Server, source: IO[bytes], target: IO[bytes]) -> None:
    """Answer every message of *source* on *target*, until it ends."""
    for line in _lines(source):
        replies = _replies(server, line)
        if replies is not None:
            target.write(json.dumps(replies).encode("ascii") + b"\n")
            target.flush()


def _lines(source: IO[bytes]) -> Iterator[bytes | None]:
    """Yield the messages; None in place of one that is too long."""
    while line := source.readline(LONGEST):
        whole = line.endswith(b"\n") or len(line) < LONGEST
        while not whole:
            more = source.readline(LONGEST)
            whole, line = more.endswith(b"\n") or not more, b""
        if not line or line.strip():
            yield line.strip() or None


def _replies(server: Server, line: bytes | None) -> Json | list[Json] | None:
    """Return the reply to a line, or those to a line of several; None where nobody waits for one."""
    try:
        message = json.loads(line) if line is not None else None
    except (ValueError, RecursionError):
        message = None
    if message is None:
        return _error(None, UNREAD, "this is no JSON of at most %d bytes" % LONGEST)
    if isinstance(message, list) and message:
        return [reply for each in message if (reply := _reply(server, each)) is not None] or None
    return _reply(server, message)


def _reply(server: Server, message: object) -> Json | None:
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return _error(None, INVALID, "this is no message of JSON-RPC 2.0")
    method, asked = message.get("method"), message.get("id")
    if asked is None or not isinstance(method, str):  # a notification, or the reply to what we never asked
        return None if isinstance(method, str) or "result" in message or "error" in message else _error(
            None, INVALID, "there is no method"
        )  # fmt: skip
    try:
        return {"jsonrpc": "2.0", "id": asked, "result": _result(server, method, message.get("params") or {})}
    except Refused as error:
        return _error(asked, error.code, str(error))
    except Exception as error:
        return _error(asked, BROKEN, "this is a bug in Maple (%s: %s)" % (type(error).__name__, error))


def _error(asked: object, code: int, says: str) -> Json:
    return {"jsonrpc": "2.0", "id": asked, "error": {"code": code, "message": says}}


def _result(server: Server, method: str, params: object) -> Json:
    if not isinstance(params, dict):
        raise Refused(WRONG, "params must be an object")
    if method == "initialize":
        return _greeting(server, params)
    if method == "ping":
        return {}
    if method == "tools/list":
        return {"tools": list(server.tools)}
    if method == "tools/call":
        return _called(server, params)
    raise Refused(UNKNOWN, "there is no method %s" % method)


def _greeting(server: Server, params: Json) -> Json:
    wanted = params.get("protocolVersion")
    return {
        "protocolVersion": wanted if wanted in VERSIONS else VERSIONS[0],
        "capabilities": {"tools": {}},
        "serverInfo": {"name": server.name, "version": server.version},
        "instructions": server.says,
    }


def _called(server: Server, params: Json) -> Json:
    name, given = params.get("name"), params.get("arguments") or {}
    if name not in [tool["name"] for tool in server.tools] or not isinstance(name, str):
        raise Refused(WRONG, "there is no tool %s" % name)
    if not isinstance(given, dict):
        raise Refused(WRONG, "arguments must be an object")
    return server.call(name, given)
