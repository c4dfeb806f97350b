"""The store in both its forms: a file of SQLite's, and a schema of a real PostgreSQL server."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from maple_daemon.store import open_store
from maple_daemon.store.protocol import Store

from tests.daemon.store.server import NoServer, Server
from tests.wanted import missing


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A PostgreSQL server. Where there is none, tests are skipped on a person's machine and fail in CI."""
    try:
        if importlib.util.find_spec("psycopg") is None:
            raise NoServer("psycopg is not installed (pip install 'psycopg[binary]')")
        made = Server()
        made.start()
    except NoServer as error:
        missing(str(error))
    yield made
    made.remove()


@pytest.fixture(params=["sqlite", "postgresql"])
def named(request: pytest.FixtureRequest, tmp_path: Any) -> str:
    """What the settings name: an empty store of each kind."""
    if request.param == "sqlite":
        return str(tmp_path / "maple" / "memory.db")
    fresh = request.getfixturevalue("server").fresh()
    assert isinstance(fresh, str)
    return fresh


@pytest.fixture
def opened(named: str) -> Iterator[Callable[[], Store]]:
    """A function that opens the store once more."""
    made: list[Store] = []

    def open_one() -> Store:
        made.append(open_store(named, clock=lambda: 1e9))
        return made[-1]

    yield open_one
    for one in made:
        one.close()


@pytest.fixture
def store(opened: Callable[[], Store]) -> Store:
    """An empty store."""
    return opened()
