"""What the store does in a second, SQLite beside PostgreSQL, and with many jobs in it: `make bench-store`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator

import pytest
from maple_daemon.store import open_store
from maple_daemon.store.protocol import Store

from tests.daemon.store.jobs import outcome, record, version
from tests.daemon.store.server import NoServer, Server

FEW, MANY = 300, 20_000


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A PostgreSQL server; without fsync, as in the tests."""
    try:
        made = Server().start()
    except NoServer as error:
        pytest.skip(str(error))
    yield made
    made.remove()


def rate(work: Callable[[int], object], times: int = FEW) -> float:
    """How often a second."""
    start = time.perf_counter()
    for number in range(times):
        work(number)
    return times / (time.perf_counter() - start)


def measured(store: Store) -> dict[str, float]:
    """By name, how often a second."""
    found = {
        "a decision kept": rate(lambda n: store.keep_decision(b"%d" % n, n % 9, bytes(600), 1e9)),
        "a decision found": rate(lambda n: store.decision(b"%d" % n, n % 9)),
        "a version kept": rate(lambda n: store.keep_version(version("v%d" % n, at=1e9 + n, argv=("x" * 300,)))),
        "100 versions read": rate(lambda n: store.versions(1001), 20),
        "a record kept": rate(lambda n: store.keep_record(record("r%d" % n))),
        "a record joined": rate(lambda n: store.join("r%d" % n, 1001, "%d" % n, "filter")),
        "an outcome kept": rate(lambda n: store.keep_outcomes([outcome("%d" % n)])),
    }
    _fill(store)
    found["asked what has not ended, of %d jobs" % MANY] = rate(lambda n: store.unended(), 5)
    found["asked what is not joined, of %d jobs" % MANY] = rate(lambda n: store.unjoined(9e8), 5)
    return found


def _fill(store: Store) -> None:
    """Many jobs that have ended."""
    from maple_daemon.store import rows
    from maple_daemon.store.sql import _insert

    run = store._run  # type: ignore[attr-defined]
    jobs = [rows.of_record(record("m%d" % n, at=1e9 + n, job="m%d" % n)) for n in range(MANY)]
    run.change(_insert("records", "id, uid, version, at, job, told", jobs))
    store.keep_outcomes([outcome("m%d" % n) for n in range(MANY)])


@pytest.mark.timeout(600)
def test_what_the_store_does_in_a_second(server: Server, tmp_path_factory: pytest.TempPathFactory) -> None:
    """One process, one connection; the service has one that reads and one that writes."""
    found = {}
    for kind, named in (("SQLite", str(tmp_path_factory.mktemp("s") / "memory.db")), ("PostgreSQL", server.fresh())):
        store = open_store(named)
        found[kind] = measured(store)
        store.close()
    print("\n%-44s %12s %12s" % ("a second", *found), file=sys.stderr)
    for name in found["SQLite"]:
        print("%-44s %12.0f %12.0f" % (name, *(found[kind][name] for kind in found)), file=sys.stderr)
