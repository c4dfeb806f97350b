"""The service's log, one event a line on standard error, which is the journal; and its counters as OpenMetrics."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
import traceback
from typing import Any

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST, generate_latest

from .peers import bound, on_loopback


def configure(form: str) -> None:
    """Write JSON lines, or lines for people, with times in UTC."""
    last: Any = structlog.processors.JSONRenderer() if form == "json" else structlog.dev.ConsoleRenderer(colors=False)
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            last,
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    _configured[:] = [structlog.get_logger()]


_configured: list[Any] = []  # what is made anew for each line costs more than the line


def log() -> Any:
    """Return the log."""
    return _configured[0] if _configured else structlog.get_logger()


def cause(error: BaseException) -> str:
    """Return what was raised and where, without its words: they may be a user's."""
    places = traceback.extract_tb(error.__traceback__)
    where = " at %s:%d" % (os.path.basename(places[-1].filename), places[-1].lineno or 0) if places else ""
    return type(error).__name__ + where


_BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1.0)
_MOST = 8192  # bytes of a request for the page
_MOST_OPEN = 16  # callers at once: whoever keeps more open takes no descriptors from those who submit


class Metrics:
    """What is counted. *answers* by how they came about, *seconds* from a whole request to its reply."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.connections = Counter(
            "maple_connections", "Connections by what became of them", ["how"], registry=self.registry
        )
        self.seconds = Histogram(
            "maple_answer_seconds",
            "From a whole request to its reply",
            ["how"],
            registry=self.registry,
            buckets=_BUCKETS,
        )
        self.known = Gauge("maple_known_decisions", "Decisions in memory", registry=self.registry)
        self.held = Gauge("maple_known_bytes", "Bytes of decisions in memory", registry=self.registry)
        self.waiting = Gauge("maple_waiting_submissions", "Submissions that wait for a worker", registry=self.registry)
        self.open = Gauge("maple_open_connections", "Connections that are open", registry=self.registry)
        self.store_errors = Counter("maple_store_errors", "What the store could not do", registry=self.registry)
        self.dropped = Counter(
            "maple_dropped_changes", "Changes of the store for which there was no room", registry=self.registry
        )
        self.kept = Counter(
            "maple_remembered", "Submissions, versions and parts of jobs by what was done", ["what"],
            registry=self.registry,
        )  # fmt: skip
        self.not_started = Counter(
            "maple_failed_starts", "Tries to start a process that decides, without success", registry=self.registry
        )
        self.changed = Counter("maple_decisions", "Decisions by verdict", ["verdict"], registry=self.registry)
        self.rules = Counter("maple_findings", "Findings by rule", ["code"], registry=self.registry)

    def remembered(self, what: str, number: int) -> None:
        """Count: a "repeat", a new "version", one that is "unversioned", parts "reused" and "read".

        "not started": a try to start the process that reads them. Of files: how often a front was told a "wish", and
        how many a "reading" came of.
        """
        self.kept.labels(what).inc(number)

    def page(self) -> bytes:
        """Return the page as a scraper reads it."""
        return bytes(generate_latest(self.registry))  # type: ignore[no-untyped-call]


async def serve(metrics: Metrics, where: str) -> asyncio.Server:
    """Serve the page at *where*: a path for a unix socket, or "127.0.0.1:PORT" or "[::1]:PORT". Raises `ValueError`."""

    open_now: set[asyncio.StreamWriter] = set()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        open_now.add(writer)
        try:
            if len(open_now) <= _MOST_OPEN:
                await _answered(reader, writer, metrics)
        finally:
            open_now.discard(writer)
            writer.transport.abort()  # what was written is in the kernel's hands, or nobody reads it

    return await asyncio.start_server(answer, sock=_listening(where), limit=_MOST)


async def _answered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, metrics: Metrics) -> None:
    writer.transport.set_write_buffer_limits(0)  # `drain` waits until all is written
    with contextlib.suppress(OSError, asyncio.TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        async with asyncio.timeout(5):
            head = await reader.readuntil(b"\r\n\r\n")
            writer.write(_response(head, metrics))
            await writer.drain()


def _response(head: bytes, metrics: Metrics) -> bytes:
    words = head.split(b" ", 2)
    if len(words) < 3 or words[0] != b"GET":
        return b"HTTP/1.1 405 Method Not Allowed\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    if words[1].partition(b"?")[0] != b"/metrics":
        return b"HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    page = metrics.page()
    head_format = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n"
    return (head_format % (CONTENT_TYPE_LATEST, len(page))).encode() + page


def place_of(where: str) -> tuple[str, int]:
    """Return path and 0, or host and port, where the page is to be served; ("", 0): nowhere. Raises `ValueError`.

    A port alone is one of 127.0.0.1.
    """
    if not where or where.startswith("/"):
        return where, 0
    host, _, port = where.rpartition(":")
    if host not in ("", "127.0.0.1", "[::1]", "localhost") or not _is_port(port):
        raise ValueError("metrics: %s: name a socket's path, a port (1 to 65535), or 127.0.0.1:PORT" % where)
    return "::1" if host == "[::1]" else "127.0.0.1", int(port)


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdecimal() and 0 < int(text) <= 65535


def _listening(where: str) -> socket.socket:
    return bound(where, 0o660) if where.startswith("/") else on_loopback(*place_of(where))
