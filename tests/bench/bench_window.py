"""How long a page of `maple admin serve` takes over 100,000 jobs, and the figures behind it: `make bench-window`."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import uvicorn
from maple_daemon.base.settings import Settings
from maple_daemon.store import open_store
from maple_daemon.window import figures, pages, server
from maple_daemon.window.shapes import Window

from tests.daemon.test_window import NOW, OnSocket, filled

JOBS = 100_000
MOST = 300  # milliseconds that a page may take
ROUNDS = 20


@contextmanager
def listening(shown: server.Shown, path: Path) -> Iterator[None]:
    """The window as `maple admin serve --socket` has it."""
    place = server.Place(str(path))
    config = uvicorn.Config(server.application(shown, place), log_level="warning", access_log=False, lifespan="off")
    serving, bound = uvicorn.Server(config), server.listening(place)
    thread = threading.Thread(target=serving.run, kwargs={"sockets": [bound]})
    thread.start()
    try:
        yield
    finally:
        serving.should_exit = True
        thread.join(20)


def test_bench_window_pages(tmp_path: Path) -> None:
    """Pages are asked for by a client, in a quiet minute and while the figures of the next are being made."""
    settings = Settings(store=str(tmp_path / "memory.db"))
    with closing(open_store(settings.store)) as store:
        filled(store, JOBS)
    renewed: list[float] = []

    def made() -> Window:
        began = time.monotonic()
        window = figures.window(figures.Source(None, settings, "2010-01-01"), NOW)
        renewed.append(time.monotonic() - began)
        return window

    clock = [0.0]
    shown = server.Shown(made, lambda: clock[0])
    window = shown.window()
    print(f"\nfigures of {JOBS:,} failed jobs: {renewed[0]:.1f} s, once a minute, beside the answers")
    assert window["failures"] is not None and sum(window["failures"]["kinds"].values()) == JOBS
    print("page          p50 ms  most ms     while the next figures are made: p50 ms  most ms")
    socket = tmp_path / "window.sock"
    most = 0.0
    with listening(shown, socket):
        for path in [*pages.pages(), "figures.json"]:
            quiet = [_asked(socket, path) for _ in range(ROUNDS)]
            clock[0] += 2 * server.FRESH
            before, busy = len(renewed), [_asked(socket, path)]  # begins to make them
            while len(renewed) == before and len(busy) < ROUNDS:
                busy.append(_asked(socket, path))
            while len(renewed) == before:
                time.sleep(0.1)
            row = (statistics.median(quiet), max(quiet), statistics.median(busy), max(busy))
            print("/%-12s %6.1f   %6.1f %41.1f   %6.1f" % (path, *row))
            most = max(most, *row)
    assert most < MOST


def _asked(socket: Path, path: str) -> float:
    """Return how many milliseconds a whole answer takes."""
    began = time.monotonic()
    with closing(OnSocket(str(socket))) as client:
        client.request("GET", "/" + path)
        answer = client.getresponse()
        assert answer.read() and answer.status == 200
    return 1000 * (time.monotonic() - began)
