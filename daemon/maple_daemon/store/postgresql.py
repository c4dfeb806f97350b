"""The store that several login nodes share: PostgreSQL, by psycopg 3 (`pip install 'maple-hpc[postgresql]'`)."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from . import schema
from .protocol import NotKept, StoreError
from .rows import Change
from .sql import SqlStore

if TYPE_CHECKING:
    import psycopg

CONNECT = 5  # seconds
STATEMENT, LOCK = 5_000, 2_000  # milliseconds, for what answers and changes
LONG = 300_000  # milliseconds, for what only administrators and the purge ask
LOCK_OF_MIGRATIONS = 0x4D61706C65  # any number that all daemons use
# Error classes of SQLSTATE that a value is to blame for: its form, its range, a constraint, its length.
_AT_FAULT = ("22", "23", "54")
_BYTES = {
    "decisions": ("key", "learnt"),
    "versions": ("told", "script"),
    "records": ("told",),
    "outcomes": ("told",),
    "standings": ("told",),
    "tried": ("code", "fact"),
    "told_ends": ("job",),
    "causes": ("job", "cause"),
    "runs": ("job", "name", "folder", "version"),
}
_OF_A_ROW = 64  # bytes that a row takes besides, with its share of the indexes
_ALIVE = {"connect_timeout": CONNECT, "tcp_user_timeout": 10_000, "keepalives_idle": 30, "keepalives_interval": 10}


def open_postgresql(url: str, clock: Callable[[], float] = time.time, *, create: bool = True) -> SqlStore:
    """Return the store at *url*, migrated where needed. Raises `StoreError`, which tells no password.

    A password stands in a file (`?passfile=…`, PGPASSFILE) or in PGPASSWORD, never in the address.
    """
    return SqlStore(PostgresqlRunner(url, create), clock)


class PostgresqlRunner:
    """One connection, made again when it is lost; for one thread."""

    def __init__(self, url: str, create: bool = True) -> None:
        try:
            import psycopg
        except ImportError as error:
            raise StoreError("the store is a PostgreSQL server, but psycopg is missing: %s" % error) from None
        self._psycopg = psycopg
        self._url, self.name = url, _name(psycopg, url)
        self._connection = self._connected()
        with self._told():
            self._migrate(create)

    def rows(self, statement: str, values: Sequence[object] = ()) -> list[Sequence[Any]]:
        """Return what a question comes to; asked again once if the connection was lost."""
        with self._told():
            try:
                return self._rows(statement, values)
            except self._psycopg.OperationalError:
                if not self._connection.closed:
                    raise
                return self._rows(statement, values)

    def change(self, *changes: Change) -> list[int]:
        """Make all of the changes in one transaction; again once if the connection was lost before it was closed.

        Lost while it is closed, the changes are made or not: that is an error, and nothing is added twice.
        """
        with self._told():
            closing: list[bool] = []
            try:
                return self._changed(changes, closing)
            except self._psycopg.OperationalError:
                if closing or not self._connection.closed:
                    raise
                return self._changed(changes, closing)

    def size(self) -> int:
        """Return the bytes that rows take: the room of removed ones is used again, and counts for nothing."""
        return sum(self._bytes(table, columns) for table, columns in _BYTES.items())

    def shrink(self) -> None:
        """Let the room of removed rows be used again, and count anew."""
        with self._told(), self._patiently() as connection:
            for table in schema.TABLES:
                connection.execute(("VACUUM (ANALYZE, SKIP_LOCKED) " + table).encode())

    def check(self) -> list[str]:
        """Return which tables are missing or cannot be read through."""
        return [wrong for table in schema.TABLES if (wrong := self._wrong(table))]

    def backup(self, path: str) -> None:
        """Write a whole copy by pg_dump, in its own form: `pg_restore --clean --if-exists` puts it back."""
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        except OSError as error:
            raise StoreError("%s: %s" % (path, (error.strerror or str(error)).lower())) from None
        wrong = _dumped(self._url, path)
        if wrong:
            os.unlink(path)
            raise StoreError("%s: not copied to %s: %s" % (self.name, path, wrong))

    def close(self) -> None:
        """Close the connection."""
        with contextlib.suppress(self._psycopg.Error):
            self._connection.close()

    def _rows(self, statement: str, values: Sequence[object]) -> list[Sequence[Any]]:
        return list(self._open().execute(_marked(statement), tuple(values)).fetchall())

    def _changed(self, changes: Sequence[Change], closing: list[bool]) -> list[int]:
        connection = self._open()
        with connection.transaction(), connection.cursor() as cursor:
            made = []
            for change in changes:
                touched = 0
                if change.values:
                    cursor.executemany(_marked(change.statement), [tuple(values) for values in change.values])
                    touched = max(0, cursor.rowcount)
                made.append(touched)
            closing.append(True)
        return made

    def _open(self) -> psycopg.Connection[Any]:
        if self._connection.closed:
            self._connection = self._connected()
        return self._connection

    def _connected(self) -> psycopg.Connection[Any]:
        with self._told():
            options = {key: value for key, value in _ALIVE.items() if key not in self._url}
            made = self._psycopg.connect(self._url, autocommit=True, application_name="maple", **options)  # type: ignore[arg-type]
            _hurry(made, STATEMENT)
            return made

    @contextlib.contextmanager
    def _patiently(self) -> Iterator[psycopg.Connection[Any]]:
        """Give statements longer than a submission would wait for."""
        connection = self._open()
        _hurry(connection, LONG)
        try:
            yield connection
        finally:
            with contextlib.suppress(self._psycopg.Error):
                _hurry(connection, STATEMENT)

    def _bytes(self, table: str, columns: Sequence[str]) -> int:
        each = " + ".join("pg_column_size(%s)" % column for column in columns)
        asked = "SELECT COALESCE(SUM(%s), 0) + %d * COUNT(*) FROM %s" % (each, _OF_A_ROW, table)
        with self._told(), self._patiently() as connection:
            row = connection.execute(asked.encode()).fetchone()
        return int(row[0]) if row else 0

    def _wrong(self, table: str) -> str:
        try:
            with self._told(), self._patiently() as connection:
                connection.execute(("SELECT COUNT(t.*::text) FROM %s t" % table).encode())
        except StoreError as error:
            return str(error)
        return ""

    def _migrate(self, create: bool) -> None:
        """Bring the tables up to date; of several daemons that start at once, one does it and the others wait."""
        connection = self._connection
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK_OF_MIGRATIONS,))
            applied = self._applied()
            if not applied and not create:
                raise StoreError("%s: holds no memory of Maple's" % self.name)
            newer = schema.unknown(applied)
            if newer:
                raise StoreError(
                    "%s: a newer Maple wrote it (%s); install that one, or name another database"
                    % (self.name, newer[-1])
                )
            for name, statements in schema.MIGRATIONS:
                if name not in applied:
                    for statement in statements:
                        connection.execute(statement.format(**schema.POSTGRESQL).encode())
                    connection.execute("INSERT INTO maple_migrations (name) VALUES (%s)", (name,))

    def _applied(self) -> list[str]:
        there = self._connection.execute("SELECT to_regclass('maple_migrations')").fetchone()
        if not there or there[0] is None:
            self._connection.execute(
                "CREATE TABLE maple_migrations (name TEXT PRIMARY KEY, at TIMESTAMPTZ NOT NULL DEFAULT now())"
            )
        return [row[0] for row in self._connection.execute("SELECT name FROM maple_migrations")]

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """Raise what the server and the network complain of as `StoreError`, in one line."""
        try:
            yield
        except (ValueError, OverflowError) as error:
            raise NotKept("%s: not kept: %s" % (self.name, _line(error))) from error
        except self._psycopg.Error as error:
            at_fault = (error.sqlstate or "")[:2] in _AT_FAULT or isinstance(error, self._psycopg.DataError)
            text = "%s: %s%s" % (self.name, "not kept: " if at_fault else "", _line(error))
            raise (NotKept if at_fault else StoreError)(text) from None
        except OSError as error:
            raise StoreError("%s: %s" % (self.name, _line(error))) from error


def _name(module: Any, url: str) -> str:
    """Return the address as it may be shown: which server and database. Raises `StoreError`."""
    try:
        parts = module.conninfo.conninfo_to_dict(url)
    except module.Error:  # what it complains of may quote the address
        raise StoreError("the address of the store is no postgresql:// address that libpq reads") from None
    if parts.get("password") or parts.get("sslpassword"):
        raise StoreError(
            "the address of the store holds a password; put it in a file that only the service reads, "
            "and name that: postgresql://USER@HOST/DATABASE?passfile=/etc/maple/pgpass"
        )
    return "postgresql://%s/%s" % (parts.get("host", ""), parts.get("dbname", ""))


def _hurry(connection: Any, milliseconds: int) -> None:
    connection.execute("SET statement_timeout = %d" % milliseconds)
    connection.execute("SET lock_timeout = %d" % LOCK)
    connection.execute("SET idle_in_transaction_session_timeout = %d" % LONG)


def _marked(statement: str) -> bytes:
    """Values are marked `%s` here; our statements hold neither sign otherwise."""
    return statement.replace("?", "%s").encode()


def _dumped(url: str, path: str) -> str:
    """Run pg_dump, and return what is wrong, "" for nothing."""
    command = ["pg_dump", "--format=custom", "--no-owner", "--no-password", "--file=" + path, "--dbname=" + url]
    for table in (*schema.TABLES, "maple_migrations"):
        command.append("--table=" + table)
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except OSError:
        return "pg_dump is not installed here; install the client of PostgreSQL (Debian: postgresql-client)"
    return _line(done.stderr or "pg_dump ended with %d" % done.returncode) if done.returncode else ""


def _line(error: object) -> str:
    return " ".join(str(error).split())[:300]
