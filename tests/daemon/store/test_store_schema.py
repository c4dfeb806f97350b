"""Tables are brought up to date once, whoever comes first; and a write-ahead log only where it works."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
from typing import Any

import pytest
from maple_daemon.store import open_store, schema
from maple_daemon.store.mounts import on_network
from maple_daemon.store.protocol import StoreError
from maple_daemon.store.sqlite import open_sqlite

from tests.daemon.store.jobs import outcome, record, version

CASES = os.path.join(os.path.dirname(__file__), "..", "..", "cases", "store")
MOUNTS = r"""/dev/sda1 / ext4 rw 0 0
tmpfs /run tmpfs rw 0 0
server:/export /home nfs4 rw 0 0
/dev/sdb1 /home/local\040disk xfs rw 0 0
lustre@tcp:/work /work lustre rw 0 0
/dev/sdc1 /sw ext4 rw 0 0
server:/sw /sw nfs rw 0 0
new /odd fancyfs rw 0 0
none /homework overlay rw 0 0
"""


def test_a_store_of_the_first_schema_is_brought_up_to_date(tmp_path: Any) -> None:
    """What it held is there, and joins and outcomes are as they were."""
    path = str(tmp_path / "memory.db")
    with open(os.path.join(CASES, "m001.sql"), encoding="utf-8") as file, sqlite3.connect(path) as old:
        old.executescript(file.read())
    old.close()
    store = open_store(path)
    assert store.versions(1001) == [version()]
    assert store.records(1001) == [record(job="17", joined="times", outcome=outcome())]
    assert store.decision(b"key", 1001) == b"learnt"
    assert [one.jobs for one in store.counted()] == [3]
    assert store.unended() == [] and store.check() == []
    store.close()


def test_both_kinds_have_every_migration_and_all_tables(named: str) -> None:
    """And opening it again does nothing."""
    for _ in range(2):
        store = open_store(named)
        assert store.check() == []
        table = "maple_migrations" if named.startswith("postgresql") else "_sqlite_migrations"
        found = store._run.rows("SELECT name FROM %s ORDER BY name" % table)  # type: ignore[attr-defined]
        assert [row[0] for row in found] == [name for name, _ in schema.MIGRATIONS]
        store.close()


def test_a_store_that_a_newer_maple_wrote_is_refused_and_left_as_it_is(
    named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one line that says what to do."""
    with monkeypatch.context() as newer:
        newer.setattr(
            schema, "MIGRATIONS", (*schema.MIGRATIONS, ("m999_newer", ("CREATE TABLE newer (a TEXT NOT NULL)",)))
        )
        open_store(named).close()
    said: list[str] = []
    with pytest.raises(StoreError, match="a newer Maple wrote it .m999_newer.; install that one") as failed:
        open_store(named, said.append)
    assert "\n" not in str(failed.value) and said == []


def test_a_store_that_has_to_be_there_is_not_made(named: str) -> None:
    """As for an administrator's command."""
    with pytest.raises(StoreError):
        open_store(named, create=False)
    assert named.startswith("postgresql") or not os.path.exists(os.path.dirname(named))
    open_store(named).close()
    open_store(named, create=False).close()


def test_many_processes_that_open_it_at_once_all_can_use_it(named: str) -> None:
    """One makes the tables; each of the others waits, and all rows arrive."""
    context = multiprocessing.get_context("spawn")
    gate = context.Barrier(4)
    found = [context.Process(target=_keep_some, args=(named, number, gate)) for number in range(4)]
    for one in found:
        one.start()
    for one in found:
        one.join(120)
    assert [one.exitcode for one in found] == [0, 0, 0, 0]
    store = open_store(named)
    assert len(store.records(1001)) == 100 and [row.jobs for row in store.counted()] == [100, 100]
    store.close()


def _keep_some(named: str, number: int, gate: Any) -> None:
    from maple_daemon.store.protocol import Counted

    gate.wait(100)
    store = open_store(named)
    for index in range(25):
        store.keep_record(record("%d-%d" % (number, index)))
        store.count([Counted("2026-01-01", "MPL301", "gpu", "repaired", "", 1)])
    store.close()


@pytest.mark.parametrize(
    "path, network",
    [
        ("/var/lib/maple/memory.db", False),
        ("/run/user/7/memory.db", False),
        ("/home/ann/memory.db", True),
        ("/homework/ann/memory.db", False),
        ("/home/local disk/memory.db", False),
        ("/home/local diskette/memory.db", True),
        ("/work/ann/memory.db", True),
        ("/sw/memory.db", True),
        ("/odd/memory.db", True),
    ],
)
def test_where_a_file_lies(tmp_path: Any, path: str, network: bool) -> None:
    """The longest mount point above it says, the later of two on one; what is not known may be shared."""
    (tmp_path / "mounts").write_text(MOUNTS)
    assert on_network(path, str(tmp_path / "mounts")) is network


@pytest.mark.parametrize("kind, journal", [("ext4", "wal"), ("nfs4", "delete"), ("fancyfs", "delete")])
def test_the_log_is_written_ahead_only_on_a_local_disk(tmp_path: Any, kind: str, journal: str) -> None:
    """And a store that was moved to a network file system changes its way."""
    path, mounts = str(tmp_path / "memory.db"), tmp_path / "mounts"
    open_sqlite(path).close()
    mounts.write_text("a / %s rw 0 0\n" % kind)
    store = open_sqlite(path, mounts=str(mounts))
    assert store._run.rows("PRAGMA journal_mode") == [(journal,)]
    store.keep_record(record())
    assert store.records(1001) == [record()]
    store.close()


def test_nobody_else_can_read_it(tmp_path: Any) -> None:
    """Neither folder nor file, whatever the umask; one that others may read is closed to them."""
    before = os.umask(0)
    try:
        path = str(tmp_path / "maple" / "memory.db")
        open_store(path).close()
        os.chmod(path, 0o644)
        store = open_store(path)
        store.keep_record(record())
        names = ["", *("/" + name for name in os.listdir(tmp_path / "maple"))]
        assert {os.stat(str(tmp_path / "maple") + name).st_mode & 0o077 for name in names} == {0}
        assert len(names) > 2
        store.close()
    finally:
        os.umask(before)


def test_a_link_or_a_folder_in_its_place_is_refused(tmp_path: Any) -> None:
    """Nothing is written through a link."""
    os.symlink(tmp_path / "elsewhere", tmp_path / "memory.db")
    (tmp_path / "folder").mkdir()
    for name in ("memory.db", "folder"):
        with pytest.raises(StoreError, match="is not a plain file"):
            open_store(str(tmp_path / name))
    assert not (tmp_path / "elsewhere").exists()


def test_what_was_purged_stands_in_no_byte_of_the_files(tmp_path: Any) -> None:
    """Neither in free pages nor in the log; and the file has become smaller."""
    path = str(tmp_path / "memory.db")
    store = open_store(path)
    for number in range(200):
        store.keep_version(version("v%d" % number, name="canary-of-1001", argv=("x" * 2000,)))
    assert _holds(tmp_path, b"canary-of-1001")
    from maple_daemon.store.protocol import Caps

    full = os.path.getsize(path) + os.path.getsize(path + "-wal")
    store.purge(1e9, Caps(), uid=1001)
    assert not _holds(tmp_path, b"canary-of-1001")
    assert os.path.getsize(path + "-wal") == 0
    assert os.path.getsize(path) < min(full - 200 * 1000, 250 * 1000)
    store.close()


def _holds(folder: Any, what: bytes) -> bool:
    return any(what in (folder / name).read_bytes() for name in os.listdir(folder))
