"""How long a page of `maple admin serve` takes over 100,000 jobs, and the figures behind it: `make bench-window`."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

from maple_daemon.base.settings import Settings
from maple_daemon.store import open_store
from maple_daemon.window import figures, pages

from tests.daemon.test_window import NOW, filled

JOBS = 100_000
MOST = 300  # milliseconds that a page may take


def test_bench_window_pages(tmp_path: Path) -> None:
    """Figures are made once a minute, beside the answers; a page is made of them for each request."""
    settings = Settings(store=str(tmp_path / "memory.db"))
    with closing(open_store(settings.store)) as store:
        filled(store, JOBS)
    began = time.monotonic()
    window = figures.window(figures.Source(None, settings, "2010-01-01"), NOW)
    print(f"\nfigures of {JOBS:,} failed jobs: {time.monotonic() - began:.1f} s, once a minute")
    assert window["failures"] is not None and sum(window["failures"]["kinds"].values()) == JOBS
    took: dict[str, float] = {}
    pages.read_titles()  # as the server does before it listens
    for path in pages.pages():
        began = time.monotonic()
        size = len(pages.page(path, window))
        took[path] = 1000 * (time.monotonic() - began)
        print("/%-12s %6.1f ms  %4d kB" % (path, took[path], size >> 10))
    assert max(took.values()) < MOST
