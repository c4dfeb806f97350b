"""The window's server: reads and never writes, on a Unix socket or on loopback with a key, without a script.

On loopback every user of the host could look, so a key is asked for there, which the administrator's terminal shows
once; a Unix socket has an owner and a mode, and who stands in front of it (the site's proxy) says who may.
"""

from __future__ import annotations

import datetime
import hmac
import os
import socket
import threading
import time
from collections.abc import Callable
from http.cookies import SimpleCookie
from typing import NamedTuple

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from ..base.peers import on_loopback, put_away
from . import figures, pages
from .shapes import Window

FRESH = 60.0  # seconds that figures are shown before they are made again
COOKIE = "maple-window"
WAITING = 64  # connections that nobody has taken yet
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
}  # fmt: skip


class Place(NamedTuple):
    """Where it listens: on *path*, or on *port* of loopback, where *key* is asked for ("" on a path)."""

    path: str = ""
    port: int = 0
    key: str = ""


class Shown:
    """The figures, made at most once a minute; who asks meanwhile sees the last ones."""

    def __init__(self, made: Callable[[], Window], clock: Callable[[], float] = time.monotonic) -> None:
        self._made, self._clock = made, clock
        self._lock = threading.Lock()
        self._window, self._at = made(), clock()

    def window(self) -> Window:
        """Return the figures; where they are old, others are made behind this answer."""
        if self._clock() - self._at > FRESH and self._lock.acquire(blocking=False):
            threading.Thread(target=self._renew, daemon=True).start()
        return self._window

    def _renew(self) -> None:
        try:
            self._window = self._made()
        finally:
            self._at = self._clock()
            self._lock.release()


def shown(source: figures.Source) -> Shown:
    """Return the figures of an installation."""
    return Shown(lambda: figures.window(source, datetime.datetime.now(datetime.timezone.utc)))


def application(figures_shown: Shown, place: Place) -> Starlette:
    """Return what answers: a page for each path, and the figures as JSON."""
    pages.read_titles()

    def answered(request: Request, made: Callable[[], Response]) -> Response:
        if place.key and not _has_key(request, place.key):
            return _asks(request, place.key)
        response = made()
        response.headers.update(HEADERS)
        return response

    def of_page(path: str) -> Callable[[Request], Response]:
        return lambda request: answered(request, lambda: HTMLResponse(pages.page(path, figures_shown.window())))

    def as_json(request: Request) -> Response:
        return answered(request, lambda: JSONResponse(figures_shown.window()))

    routes = [Route("/%s" % path, of_page(path)) for path in pages.pages()] + [Route("/figures.json", as_json)]
    hosts = ["127.0.0.1", "localhost", "[::1]"] if place.port else ["*"]  # a foreign name that leads here is no guest
    return Starlette(routes=routes, middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=hosts)])


def _has_key(request: Request, key: str) -> bool:
    cookie = SimpleCookie(request.headers.get("cookie", "")).get(COOKIE)
    return cookie is not None and hmac.compare_digest(cookie.value.encode(), key.encode())


def _asks(request: Request, key: str) -> Response:
    """Return the page itself where the key stands in the address, which then has it no more; else a refusal."""
    given = request.query_params.get("key", "")
    if not hmac.compare_digest(given.encode(), key.encode()):
        return PlainTextResponse("the address that maple admin serve printed has a key in it\n", 403, HEADERS)
    response = RedirectResponse(request.url.path, 303, HEADERS)
    response.set_cookie(COOKIE, key, httponly=True, samesite="strict")
    return response


def listening(place: Place) -> socket.socket:
    """Return the socket, which takes calls from now on; a path has mode 0660, and one that nobody serves is put away.

    Raises `OSError`, also where something else lies there, or another listens.
    """
    if not place.path:
        return on_loopback("127.0.0.1", place.port)
    put_away(place.path)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o117)
    try:
        made.bind(place.path)
    finally:
        os.umask(before)
    made.listen(WAITING)
    return made


def serve(app: Starlette, bound: socket.socket) -> None:
    """Answer until SIGTERM or SIGINT."""
    config = uvicorn.Config(app, log_level="warning", access_log=False, lifespan="off", server_header=False)
    uvicorn.Server(config).run(sockets=[bound])
