"""The store on a local disk: SQLite with a write-ahead log; on a network file system without one, and one writer.

A store that is broken is laid aside, not thrown away: somebody may want to look, or to rescue rows from it.
"""

from __future__ import annotations

import contextlib
import glob
import os
import sqlite3
import stat
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sqlite_utils import Database, Migrations

from . import schema
from .mounts import on_network
from .protocol import NotKept, StoreError
from .rows import Change
from .sql import SqlStore

KEPT = 3
_MARK = ".broken-"

WAIT = 2.0  # seconds for another writer
_CORRUPT = frozenset((sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB))
_AT_FAULT = (sqlite3.IntegrityError, sqlite3.DataError, sqlite3.InterfaceError, OverflowError, ValueError)
Say = Callable[[str], None]


class Corrupt(StoreError):
    """The file is no database any more, or its pages contradict each other."""


def open_sqlite(
    path: str,
    clock: Callable[[], float] = time.time,
    *,
    say: Say | None = None,
    create: bool = True,
    mounts: str = "/proc/self/mounts",
    bulk: bool = False,
) -> SqlStore:
    """Return the store at *path*, made and migrated where needed. Raises `StoreError`.

    *say*: hears that a corrupt one was laid aside; None: it is left where it is. *create*: else it has to be there.
    """
    try:
        return SqlStore(SqliteRunner(path, create, say is not None, mounts, bulk), clock)
    except Corrupt as error:
        if say is None:
            raise
        say(str(error))
        return SqlStore(SqliteRunner(path, create, True, mounts, bulk), clock)


class SqliteRunner:
    """One connection, for one thread at a time. *mends*: lays a corrupt database aside."""

    def __init__(self, path: str, create: bool, mends: bool, mounts: str, bulk: bool = False) -> None:
        self.path, self._mends = path, mends
        self._lock = threading.Lock()
        with _OPENING:
            with _complaints(path):
                self.file = _private(path, create)
                _close_earlier(path, self.file)
                self._connection = sqlite3.connect(path, timeout=WAIT, check_same_thread=False)
            try:
                with self._working(first=True):
                    _set_up(self._connection, "DELETE" if on_network(path, mounts) else "WAL")
                    if bulk:
                        _let_wait(self._connection)
                    _migrate(self._connection, path)
            except StoreError:
                self._connection.close()
                raise
            _OPEN.add(self)

    def rows(self, statement: str, values: Sequence[object] = ()) -> list[Sequence[Any]]:
        """Return what a question comes to."""
        with self._working():
            return self._connection.execute(statement, tuple(values)).fetchall()

    def change(self, *changes: Change) -> list[int]:
        """Make all of the changes in one transaction."""
        with self._working(), self._connection:
            made = (self._connection.executemany(change.statement, change.values) for change in changes)
            return [max(0, cursor.rowcount) for cursor in made]

    def size(self) -> int:
        """Return the bytes that pages in use take."""
        pages, free, bytes_ = (
            self.rows("PRAGMA %s" % name)[0][0] for name in ("page_count", "freelist_count", "page_size")
        )
        return int((pages - free) * bytes_)

    def shrink(self) -> None:
        """Give free pages back to the disk, and empty the log, which may hold what was removed."""
        with self._working():
            self._connection.executescript("PRAGMA incremental_vacuum")  # `execute` takes one step, which is one page
        self.rows("PRAGMA wal_checkpoint(TRUNCATE)")

    def check(self) -> list[str]:
        """Return what SQLite itself finds wrong, and tables that are missing."""
        lines = [" ".join(row[0].split()) for row in self.rows("PRAGMA integrity_check(20)")]
        there = {row[0] for row in self.rows("SELECT name FROM sqlite_master WHERE type = 'table'")}
        missing = ["table %s is missing" % table for table in schema.TABLES if table not in there]
        return ([] if lines == ["ok"] else lines) + missing

    def backup(self, path: str) -> None:
        """Write a whole copy while others may write; a copy that is not whole is removed."""
        with _complaints(path):
            _made(path)
        try:
            with self._working(), _complaints(path), contextlib.closing(sqlite3.connect(path)) as to:
                self._connection.backup(to)
        except BaseException:
            os.unlink(path)
            raise

    def close(self) -> None:
        """Close the connection, once a statement that runs has ended."""
        with self._lock, contextlib.suppress(sqlite3.Error):
            self._connection.close()
        with _OPENING:
            _OPEN.discard(self)

    @contextlib.contextmanager
    def _working(self, first: bool = False) -> Iterator[None]:
        """Hold the connection; what goes wrong is a `StoreError`, and a file that has lost its name is not used."""
        try:
            with self._lock, _complaints(self.path):
                if not first and _identity(self.path) != self.file:
                    raise StoreError("%s: was removed or replaced while it was open" % self.path)
                yield
        except Corrupt as error:
            raise (self._laid_aside(error) if self._mends else error) from None

    def _laid_aside(self, error: Corrupt) -> StoreError:
        """Lay the database aside unless somebody did, and return what to say."""
        with _OPENING:
            if _identity(self.path) != self.file:
                return Corrupt("%s; it was laid aside" % error)
            try:
                return Corrupt("%s; it was laid aside as %s, a new one is made" % (error, lay_aside(self.path)))
            except OSError as failed:
                return StoreError("%s; it cannot be laid aside: %s" % (error, failed.strerror))


_OPEN: weakref.WeakSet[SqliteRunner] = weakref.WeakSet()
_OPENING = threading.RLock()  # while a database is opened or laid aside


def _close_earlier(path: str, file: tuple[int, int]) -> None:
    """Close what this process has open of databases that bore this name before.

    Both find the index of the log by its name, and the kernel's locks on it are the process's: a connection to the
    earlier one that closes later would drop ours.
    """
    for sqlite_runner in [runner for runner in _OPEN if runner.path == path and runner.file != file]:
        sqlite_runner.close()


def _set_up(connection: sqlite3.Connection, journal: str) -> None:
    """Make room given back (before the first table), removed rows overwritten, and writers wait for no reader."""
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute("PRAGMA journal_mode = %s" % journal).fetchall()
    connection.execute("PRAGMA synchronous = NORMAL")


def _let_wait(connection: sqlite3.Connection) -> None:
    """Keep more pages in memory, and in the log, before they go where they belong: 64 MiB each."""
    connection.execute("PRAGMA cache_size = -65536")
    connection.execute("PRAGMA wal_autocheckpoint = 16384").fetchall()


def _migrate(connection: sqlite3.Connection, path: str) -> None:
    """Bring the tables up to date; of two who open it at once, the second waits and finds nothing to do."""
    migrations, db = _migrations(), Database(connection, execute_plugins=False)
    newer = schema.unknown(migration.name for migration in migrations.applied(db))
    if newer:
        raise StoreError("%s: a newer Maple wrote it (%s); install that one, or name another file" % (path, newer[-1]))
    if migrations.pending(db):
        connection.execute("BEGIN IMMEDIATE")
        migrations.apply(db)
        connection.commit()


def _migrations() -> Migrations:
    """Return our migrations as sqlite-utils applies them: each once, each in a transaction."""
    applied = Migrations("maple")
    for name, statements in schema.MIGRATIONS:

        def apply(db: Database, statements: tuple[str, ...] = statements) -> None:
            for statement in statements:
                strict = " STRICT" if statement.startswith("CREATE TABLE") else ""
                db.execute(statement.format(**schema.SQLITE) + strict)

        applied(name=name)(apply)
    return applied


def _private(path: str, create: bool) -> tuple[int, int]:
    """Make the file if it is not there, let nobody else read it, and return which file it is.

    One that is there is not opened: closing it would drop the locks that this process holds on it.
    """
    if create:
        os.makedirs(os.path.dirname(path) or ".", 0o700, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            _made(path)
    facts = os.lstat(path)
    if not stat.S_ISREG(facts.st_mode):
        raise StoreError("%s: is not a plain file; name another one" % path)
    if facts.st_mode & 0o077:
        os.chmod(path, 0o600)
    return facts.st_dev, facts.st_ino


def _made(path: str) -> None:
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))


def _identity(path: str) -> tuple[int, int] | None:
    try:
        facts = os.lstat(path)
    except OSError:
        return None
    return facts.st_dev, facts.st_ino


@contextlib.contextmanager
def _complaints(path: str) -> Iterator[None]:
    """Raise what SQLite and the disk complain of as `StoreError`, in one line."""
    try:
        yield
    except _AT_FAULT as error:
        raise NotKept("%s: not kept: %s" % (path, _line(error))) from error
    except sqlite3.DatabaseError as error:
        corrupt = getattr(error, "sqlite_errorcode", 0) & 0xFF in _CORRUPT
        raise (Corrupt if corrupt else StoreError)("%s: %s" % (path, _line(error))) from error
    except sqlite3.Error as error:
        raise StoreError("%s: %s" % (path, _line(error))) from error
    except OSError as error:
        raise StoreError("%s: %s" % (path, (error.strerror or str(error)).lower())) from error


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


def lay_aside(path: str) -> str:
    """Rename the database and its log, keep the last three such, and return the new name. Raises OSError."""
    to = _free(path + _MARK + time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()))
    os.rename(path, to)
    for end in ("-wal", "-journal"):  # SQLite finds them beside the database by its name
        with contextlib.suppress(FileNotFoundError):
            os.rename(path + end, to + end)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path + "-shm")
    for old in laid_aside(path)[:-KEPT]:
        _remove(old)
    return to


def laid_aside(path: str) -> list[str]:
    """Return the databases that were laid aside, the oldest first."""
    ends = ("-wal", "-journal", "-shm")
    return sorted(name for name in glob.glob(glob.escape(path) + _MARK + "*") if not name.endswith(ends))


def _free(name: str) -> str:
    number, free = 1, name
    while os.path.lexists(free):
        number += 1
        free = "%s.%d" % (name, number)
    return free


def _remove(path: str) -> None:
    for end in ("", "-wal", "-journal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path + end)
