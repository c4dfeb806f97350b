"""The store on a local disk: SQLite with a write-ahead log; on a network file system without one, and one writer."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from sqlite_utils import Database, Migrations

from . import schema
from .protocol import StoreError
from .sql import SqlStore

# Names that statfs(2) has for file systems where a write-ahead log does not work: its memory is not shared there.
NETWORK = frozenset(
    ("nfs", "nfs4", "lustre", "gpfs", "beegfs", "ceph", "cifs", "smb3", "fuse.sshfs", "panfs", "9p", "afs")
)
WAIT = 2.0  # seconds for another writer


def open_sqlite(path: str, clock: Callable[[], float] = time.time) -> SqlStore:
    """Return the store at *path*, made and migrated where needed. Raises `StoreError`."""
    return SqlStore(SqliteRunner(path), clock)


class SqliteRunner:
    """One connection. Not for two threads at once."""

    def __init__(self, path: str) -> None:
        self._path = path
        with _told(path):
            _private(path)
            self._connection = sqlite3.connect(path, timeout=WAIT, check_same_thread=False)
            self._connection.execute("PRAGMA journal_mode = %s" % ("DELETE" if on_network(path) else "WAL"))
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            _migrations().apply(Database(self._connection, execute_plugins=False))
            self._connection.commit()

    def rows(self, statement: str, values: Sequence[object] = ()) -> list[Sequence[Any]]:
        """Return what a question comes to."""
        with _told(self._path):
            return self._connection.execute(statement, tuple(values)).fetchall()

    def change(self, statement: str, values: Iterable[Sequence[object]]) -> int:
        """Make a change for each of the values in one transaction."""
        with _told(self._path), self._connection:
            return max(0, self._connection.executemany(statement, [tuple(one) for one in values]).rowcount)

    def size(self) -> int:
        """Return the bytes that pages in use take."""
        pages, free, bytes_ = (
            self.rows("PRAGMA %s" % name)[0][0] for name in ("page_count", "freelist_count", "page_size")
        )
        return int((pages - free) * bytes_)

    def shrink(self) -> None:
        """Give free pages back to the disk."""
        with _told(self._path):
            self._connection.execute("PRAGMA incremental_vacuum").fetchall()
            self._connection.commit()

    def check(self) -> list[str]:
        """Return what SQLite itself finds wrong, and tables that are missing."""
        found = [row[0] for row in self.rows("PRAGMA integrity_check(20)")]
        there = {row[0] for row in self.rows("SELECT name FROM sqlite_master WHERE type = 'table'")}
        missing = ["table %s is missing" % table for table in schema.TABLES if table not in there]
        return ([] if found == ["ok"] else found) + missing

    def backup(self, path: str) -> None:
        """Write a whole copy while others may write."""
        if os.path.lexists(path):
            raise StoreError("%s: is there already; name another file" % path)
        with _told(path):
            _private(path)
            with contextlib.closing(sqlite3.connect(path)) as to:
                self._connection.backup(to)

    def close(self) -> None:
        """Close the connection."""
        with contextlib.suppress(sqlite3.Error):
            self._connection.close()


def _migrations() -> Migrations:
    """Return our migrations as sqlite-utils applies them: each once, each in a transaction."""
    found = Migrations("maple")
    for name, statements in schema.MIGRATIONS:

        def apply(db: Database, statements: tuple[str, ...] = statements) -> None:
            for statement in statements:
                strict = " STRICT" if statement.startswith("CREATE TABLE") else ""
                db.execute(statement.format(**schema.SQLITE) + strict)

        found(name=name)(apply)
    return found


def _private(path: str) -> None:
    """Make the file, and let nobody else read it."""
    os.makedirs(os.path.dirname(path) or ".", 0o700, exist_ok=True)
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    os.close(fd)


def on_network(path: str, mounts: str = "/proc/self/mounts") -> bool:
    """Return whether the folder of *path* lies on a network file system, as the longest mount point above it says."""
    folder = os.path.realpath(os.path.dirname(path) or ".")
    best, kind = "", ""
    with contextlib.suppress(OSError), open(mounts, encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            words = line.split()
            point = words[1].replace("\\040", " ") if len(words) > 2 else ""
            if (folder + "/").startswith(point.rstrip("/") + "/") and len(point) >= len(best):
                best, kind = point, words[2]
    return kind in NETWORK


@contextlib.contextmanager
def _told(path: str) -> Iterator[None]:
    """Raise what SQLite and the disk complain of as `StoreError`, in one line."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise StoreError("%s: %s" % (path, " ".join(str(error).split()))) from error
