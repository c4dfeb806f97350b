"""A server on loopback that speaks as a test tells it to, and writes down every byte it was sent."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Asked(NamedTuple):
    """One question as it came: path, headers in small letters, the body's bytes."""

    path: str
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.raw)


Reply = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    """Writes the question down, and lets the test's function answer."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.asked.append(Asked(self.path, {k.lower(): v for k, v in self.headers.items()}, raw))
        with contextlib.suppress(OSError):
            self.server.reply(self)

    do_GET = do_POST

    def log_message(self, *words: object) -> None:
        pass

    def give(self, status: int, body: bytes, **headers: str) -> None:
        """Send a whole answer; `_` in a header's name stands for `-`."""
        self.send_response(status)
        told = {"Content_Type": "application/json", "Content_Length": str(len(body)), **headers}
        for name, value in told.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def until_gone(self) -> None:
        """Say nothing more until the other side has closed."""
        with contextlib.suppress(OSError):
            while self.connection.recv(1):
                pass
        self.close_connection = True


class Server(ThreadingHTTPServer):
    """Answers every question by *reply*."""

    daemon_threads = True

    def __init__(self, reply: Reply) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.reply = reply
        self.asked: list[Asked] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, *words: object) -> None:
        pass


def completion(text: str | None, finish: str = "stop", **more: object) -> bytes:
    """Return the body of a chat completion."""
    message = {"role": "assistant", "content": text, **more}
    return json.dumps(
        {"id": "1", "object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": finish}]}
    ).encode()


def saying(text: str | None, finish: str = "stop", **more: object) -> Reply:
    """Return a reply that is always this answer."""
    return lambda handler: handler.give(200, completion(text, finish, **more))


@contextlib.contextmanager
def served(reply: Reply, tls: ssl.SSLContext | None = None) -> Iterator[Server]:
    """Run a server while the block runs."""
    server = Server(reply)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


@contextlib.contextmanager
def raw(answer: Callable[[socket.socket, bytes], None]) -> Iterator[tuple[int, list[bytes]]]:
    """Run a server below HTTP: *answer* gets each connection and the first bytes on it. Yields port and those bytes."""
    seen: list[bytes] = []
    listening = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listening.accept()
                with connection, contextlib.suppress(OSError):
                    seen.append(connection.recv(65536))
                    answer(connection, seen[-1])

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield listening.getsockname()[1], seen
    finally:
        with contextlib.suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join(10)
