"""One PostgreSQL for several login nodes: lost connections, passwords, locks, and two who want the same."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from maple_daemon.store import open_store, postgresql
from maple_daemon.store.protocol import Caps, Counted, NotKept, Store, StoreError

from tests.daemon.store.jobs import record, version
from tests.daemon.store.server import Server

OF_OURS = "SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'maple'"
COUNTED = Counted("2026-01-01", "MPL301", "gpu", "repaired", "", 1)


@pytest.fixture
def url(server: Server) -> str:
    """A schema where nothing is yet."""
    return server.fresh()


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    """An empty store."""
    made = open_store(url)
    yield made
    made.close()


def test_a_connection_that_is_lost_is_made_again(server: Server, store: Store) -> None:
    """Nobody notices, and nothing is added twice."""
    store.keep_record(record())
    for _ in range(3):
        assert int(server.sql(OF_OURS)) >= 1
        assert store.records(1001) == [record()]
        server.sql(OF_OURS)
        store.count([COUNTED])
    assert [one.jobs for one in store.counted()] == [1, 3]  # the record itself counts one


def test_while_the_server_is_away_there_is_an_error_and_then_all_is_as_it_was(server: Server, store: Store) -> None:
    """In one line, by everything."""
    store.keep_record(record())
    server.stop()
    for question in (lambda: store.records(1001), lambda: store.count([COUNTED]), lambda: store.purge(0, Caps())):
        with pytest.raises(StoreError) as failed:
            question()
        assert "\n" not in str(failed.value) and not isinstance(failed.value, NotKept)
    with pytest.raises(StoreError):
        open_store(server.url())
    server.start()
    assert store.records(1001) == [record()] and [one.jobs for one in store.counted()] == [1]


def test_a_lock_is_not_waited_for_longer_than_settled(
    server: Server, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither is a statement; the store is well afterwards, and long work is given longer."""
    monkeypatch.setattr(postgresql, "LOCK", 100)
    monkeypatch.setattr(postgresql, "STATEMENT", 300)
    store: Any = open_store(url)
    schema = url.rpartition("%3D")[2]
    holder: Any = open_store(url)
    with holder._run._connection.transaction():
        holder._run._connection.execute("LOCK TABLE records IN EXCLUSIVE MODE")
        with pytest.raises(StoreError, match="lock timeout"):
            store.keep_record(record())
        assert store.records(1001) == []
    with pytest.raises(StoreError, match="statement timeout"):
        store._run.rows("SELECT pg_sleep(60)")
    assert store.check() == []
    store.keep_record(record())
    assert server.sql("SELECT COUNT(*) FROM %s.records" % schema).strip() == "1"
    with store._run._patiently() as patient:
        assert patient.execute("SHOW statement_timeout").fetchone() == ("5min",)
    assert store._run.rows("SHOW statement_timeout") == [("300ms",)]
    for one in (store, holder):
        one.close()


def test_a_password_comes_from_a_file_and_stands_in_no_error(server: Server, tmp_path: Any) -> None:
    """A wrong one is refused by the server, one in the address by us."""
    server.sql("DROP ROLE IF EXISTS guarded")
    server.sql("CREATE ROLE guarded LOGIN PASSWORD 'hush-right'")
    server.sql("CREATE SCHEMA AUTHORIZATION guarded")
    for password in ("hush-right", "hush-wrong"):
        (tmp_path / password).write_text("*:*:*:guarded:%s\n" % password)
        os.chmod(tmp_path / password, 0o600)
    store = open_store(server.url("guarded", passfile=str(tmp_path / "hush-right")))
    store.keep_record(record())
    assert store.records(1001) == [record()]
    store.close()
    for address in (
        server.url("guarded", passfile=str(tmp_path / "hush-wrong")),
        server.url("guarded", passfile=str(tmp_path / "hush-right"), password="hush-two"),
        "postgresql://guarded:hush-three@db.site/maple",
        "postgresql://guarded:hush-four@db.site:port/maple?x=%zz",
    ):
        with pytest.raises(StoreError) as failed:
            open_store(address)
        assert "hush" not in str(failed.value).replace(str(tmp_path / "hush-"), "") and "\n" not in str(failed.value)


@pytest.mark.parametrize("records", [["r1"], ["r1", "r2"]], ids=["one record", "two records"])
def test_of_two_login_nodes_that_join_at_once_one_does(url: str, records: list[str]) -> None:
    """The same record to two jobs, or two records to one job."""
    stores = [open_store(url) for _ in range(4)]
    for round_ in range(10):
        names = ["%s-%d" % (name, round_) for name in records]
        for name in names:
            stores[0].keep_record(record(name))
        gate, done = threading.Barrier(4), []

        def join(number: int, names: list[str], gate: threading.Barrier, done: list[bool], round_: int) -> None:
            job = "%d" % round_ if len(names) > 1 else "%d-%d" % (round_, number)
            gate.wait(60)
            done.append(stores[number].join(names[number % len(names)], 1001, job, "times"))

        threads = [threading.Thread(target=join, args=(number, names, gate, done, round_)) for number in range(4)]
        for one in threads:
            one.start()
        for one in threads:
            one.join(60)
        assert sorted(done) == [False, False, False, True]
    assert len(stores[0].unended()) == 10
    for one in stores:
        one.close()


def test_a_join_and_a_move_at_once_both_hold(url: str) -> None:
    """Neither writes over the other."""
    stores = [open_store(url), open_store(url)]
    for number in range(20):
        stores[0].keep_record(record("r%d" % number))
    moving = threading.Thread(target=lambda: [stores[0].move_record("r%d" % n, 1001, "v2") for n in range(20)])
    moving.start()
    joined = [stores[1].join("r%d" % number, 1001, str(number), "filter") for number in range(20)]
    moving.join(60)
    assert all(joined)
    assert {(one.version, one.joined) for one in stores[0].records(1001)} == {("v2", "filter")}
    for one in stores:
        one.close()


def test_a_backup_can_be_put_back(server: Server, url: str, store: Store, tmp_path: Any) -> None:
    """By pg_restore; nobody else may read it, and nothing is overwritten."""
    os.environ["PATH"] += os.pathsep + server.programs
    store.keep_version(version())
    copy = str(tmp_path / "memory.dump")
    store.backup(copy)
    assert os.stat(copy).st_mode & 0o777 == 0o600
    with pytest.raises(StoreError, match="exists"):
        store.backup(copy)
    schema = url.rpartition("%3D")[2]
    server.sql("DROP SCHEMA %s CASCADE; CREATE SCHEMA %s" % (schema, schema))
    with open(copy, "rb") as file:
        subprocess.run(
            [server.programs + "/pg_restore", "--dbname=" + server.url(), "--no-owner"], stdin=file, check=True
        )
    found = open_store(url)
    assert found.versions(1001) == [version()] and found.check() == []
    found.close()


def test_without_its_programs_and_libraries_one_line_says_what_is_missing(
    url: str, store: Store, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pg_dump for a backup, psycopg for anything; a copy that failed is not left behind."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StoreError, match="pg_dump is not installed"):
        store.backup(str(tmp_path / "copy"))
    assert os.listdir(tmp_path) == []
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreError, match="psycopg is missing"):
        open_store(url)


def test_the_room_of_removed_rows_counts_for_nothing(store: Store) -> None:
    """Else a purge by size would not end before all is gone."""
    for number in range(100):
        store.keep_decision(b"%d" % number, 1, os.urandom(5000), float(number))
    run: Any = store._run  # type: ignore[attr-defined]
    before = run.size()
    assert before > 500_000
    assert 45 <= store.purge(0, Caps(bytes=before // 2)).decisions <= 65
    assert run.size() <= before // 2
