"""The store in SQL that SQLite and PostgreSQL both take; each brings its own way to run a statement."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

from maple_submit_filter.job_records import Outcome, Record, Value, Version

from . import rows
from .protocol import Caps, Counted, Gone

_RECORD = (
    "SELECT r.told, r.job, o.told FROM records r"
    " LEFT JOIN outcomes o ON o.job = r.job AND o.uid = r.uid AND r.job <> ''"
)
_DAY = 86400.0
Made = TypeVar("Made")


class Runner(Protocol):
    """Runs statements with `?` for values. Everything raises `StoreError`."""

    def rows(self, statement: str, values: Sequence[object] = ()) -> list[Sequence[Any]]:
        """Return what a question comes to."""

    def change(self, statement: str, values: Iterable[Sequence[object]]) -> int:
        """Make a change for each of the values, all in one transaction, and return how many rows it touched."""

    def size(self) -> int:
        """Return the bytes of the whole store."""

    def shrink(self) -> None:
        """Give back the room of what was removed."""

    def check(self) -> list[str]:
        """Return what is wrong, [] for nothing."""

    def backup(self, path: str) -> None:
        """Write a whole copy."""

    def close(self) -> None:
        """Let go."""


class SqlStore:
    """A `Store` over a runner. *clock*: seconds since 1970."""

    def __init__(self, runner: Runner, clock: Callable[[], float] = time.time) -> None:
        self._run, self._clock = runner, clock

    def decision(self, key: bytes, uid: int) -> bytes | None:
        """Return what was decided of exactly this submission."""
        found = self._run.rows("SELECT learnt FROM decisions WHERE key = ? AND uid = ?", (key, uid))
        return bytes(found[0][0]) if found else None

    def keep_decision(self, key: bytes, uid: int, learnt: bytes, at: float) -> None:
        """Remember a decision."""
        again = "ON CONFLICT (key) DO UPDATE SET learnt = excluded.learnt, at = excluded.at"
        self._run.change(
            "INSERT INTO decisions (key, uid, learnt, at) VALUES (?, ?, ?, ?) %s" % again, [(key, uid, learnt, at)]
        )

    def keep_version(self, version: Version) -> None:
        """Remember a version and what was read of its parts."""
        self._insert("versions", "id, uid, lineage, at, told, script", [rows.of_version(version)])
        self._insert("part_values", "uid, part, told", [rows.of_value(one, version.uid) for one in version.values])

    def renew_version(self, version: Version) -> bool:
        """Put what is known of a version now in place of what was."""
        told = rows.of_version(version)
        change = "UPDATE versions SET told = ? WHERE id = ? AND uid = ?"
        if self._run.change(change, [(told[4], version.id, version.uid)]) != 1:
            return False
        self._insert("part_values", "uid, part, told", [rows.of_value(one, version.uid) for one in version.values])
        return True

    def versions(self, uid: int, lineage: str = "", limit: int = 100) -> list[Version]:
        """Return a user's versions, the newest first."""
        where, values = ("AND lineage = ?", (uid, lineage, limit)) if lineage else ("", (uid, limit))
        found = self._run.rows(
            "SELECT told, script FROM versions WHERE uid = ? %s ORDER BY at DESC LIMIT ?" % where, values
        )
        return _read(rows.version, found)

    def values(self, uid: int, parts: Sequence[str]) -> list[Value]:
        """Return what was read of these parts before."""
        found = []
        for part in dict.fromkeys(parts):
            found += self._run.rows("SELECT told FROM part_values WHERE uid = ? AND part = ?", (uid, part))
        return _read(rows.value, found)

    def keep_record(self, record: Record) -> None:
        """Remember a submission."""
        self._insert("records", "id, uid, version, at, job, told", [rows.of_record(record)])

    def move_record(self, record: str, uid: int, version: str) -> bool:
        """Say that a submission was of another version."""
        found = self._run.rows("SELECT told, job, NULL FROM records WHERE id = ? AND uid = ?", (record, uid))
        made = rows.record(found[0]) if found else None
        if made is None:
            return False
        told = rows.of_record(made._replace(version=version))[-1]
        change = "UPDATE records SET version = ?, told = ? WHERE id = ? AND uid = ?"
        return self._run.change(change, [(version, told, record, uid)]) == 1

    def records(self, uid: int, version: str = "", job: str = "", limit: int = 100) -> list[Record]:
        """Return a user's submissions, the newest first."""
        where, values = "r.uid = ?", [uid]  # type: tuple[str, list[object]]
        for column, value in (("version", version), ("job", job)):
            where += " AND r.%s = ?" % column if value else ""
            values += [value] if value else []
        return _read(
            rows.record, self._run.rows("%s WHERE %s ORDER BY r.at DESC LIMIT ?" % (_RECORD, where), (*values, limit))
        )

    def unjoined(self, since: float, uid: int | None = None) -> list[Record]:
        """Return submissions whose job is not known, oldest first."""
        where, values = "r.job = '' AND r.at >= ?", [since]  # type: tuple[str, list[object]]
        where += " AND r.uid = ?" if uid is not None else ""
        values += [uid] if uid is not None else []
        return _read(rows.record, self._run.rows("%s WHERE %s ORDER BY r.at LIMIT 10000" % (_RECORD, where), values))

    def join(self, record: str, uid: int, job: str, how: str) -> bool:
        """Say which job a record became."""
        found = self._run.rows(
            "SELECT told, job, NULL FROM records WHERE id = ? AND uid = ? AND job = ''", (record, uid)
        )
        made = rows.record(found[0]) if found else None
        if made is None or not job:
            return False
        told = rows.of_record(made._replace(job=job, joined=how))[-1]
        change = "UPDATE records SET job = ?, told = ? WHERE id = ? AND uid = ? AND job = ''"
        return self._run.change(change, [(job, told, record, uid)]) == 1

    def keep_outcomes(self, outcomes: Iterable[Outcome]) -> int:
        """Remember how jobs ended; a later word about a job stands in place of an earlier one."""
        made = [rows.of_outcome(one, self._clock()) for one in outcomes]
        known = sum(len(self._run.rows("SELECT 1 FROM outcomes WHERE job = ? AND uid = ?", one[:2])) for one in made)
        again = "ON CONFLICT (job, uid) DO UPDATE SET at = excluded.at, told = excluded.told"
        self._run.change("INSERT INTO outcomes (job, uid, at, told) VALUES (?, ?, ?, ?) %s" % again, made)
        return len(made) - known

    def unended(self, limit: int = 1000) -> list[Record]:
        """Return joined submissions whose outcome is not known, oldest first."""
        return _read(
            rows.record,
            self._run.rows("%s WHERE r.job <> '' AND o.job IS NULL ORDER BY r.at LIMIT ?" % _RECORD, (limit,)),
        )

    def count(self, rows_: Iterable[Counted]) -> None:
        """Add to the site-wide numbers."""
        again = "ON CONFLICT (day, code, place, verdict, state) DO UPDATE SET jobs = counts.jobs + excluded.jobs"
        insert = "INSERT INTO counts (day, code, place, verdict, state, jobs) VALUES (?, ?, ?, ?, ?, ?) %s" % again
        self._run.change(insert, [tuple(one) for one in rows_])

    def counted(self, since: str = "") -> list[Counted]:
        """Return the site-wide numbers since a day."""
        found = self._run.rows(
            "SELECT day, code, place, verdict, state, jobs FROM counts WHERE day >= ? ORDER BY day, code, place",
            (since,),
        )
        return [Counted(*one) for one in found]

    def purge(self, now: float, caps: Caps, uid: int | None = None) -> Gone:
        """Remove what is too old or too much; *uid*: everything of that user instead."""
        gone = self._purge_user(uid) if uid is not None else self._purge_old(now - caps.days * _DAY, caps)
        self._run.shrink()
        return gone

    def check(self) -> list[str]:
        """Return what is wrong with the store."""
        return self._run.check()

    def backup(self, path: str) -> None:
        """Write a whole copy."""
        self._run.backup(path)

    def close(self) -> None:
        """Let go."""
        self._run.close()

    def _insert(self, table: str, columns: str, values: Sequence[Sequence[object]]) -> None:
        marks = ", ".join("?" for _ in columns.split(","))
        self._run.change("INSERT INTO %s (%s) VALUES (%s) ON CONFLICT DO NOTHING" % (table, columns, marks), values)

    def _purge_user(self, uid: int) -> Gone:
        self._run.change("DELETE FROM part_values WHERE uid = ?", [(uid,)])
        self._run.change("DELETE FROM outcomes WHERE uid = ?", [(uid,)])
        tables = ("versions", "records", "decisions")
        return Gone(*(self._run.change("DELETE FROM %s WHERE uid = ?" % table, [(uid,)]) for table in tables))

    def _purge_old(self, before: float, caps: Caps) -> Gone:
        """First what is too old, then what one user has too much of, then the oldest until all is small enough."""
        self._run.change("DELETE FROM outcomes WHERE at < ?", [(before,)])
        tables = ("versions", "records", "decisions")
        gone = [self._run.change("DELETE FROM %s WHERE at < ?" % table, [(before,)]) for table in tables]
        for at, most in ((0, caps.versions_of_user), (1, caps.records_of_user)):
            gone[at] += self._purge_beyond(tables[at], most)
        while self._run.size() > caps.bytes:
            freed = sum(self._purge_tenth(table) for table in tables)
            if not freed:
                break
            self._run.shrink()
        alive = "SELECT 1 FROM versions v WHERE v.uid = part_values.uid"
        self._run.change("DELETE FROM part_values WHERE NOT EXISTS (%s)" % alive, [()])
        return Gone(*gone)

    def _purge_beyond(self, table: str, most: int) -> int:
        counted = "SELECT uid FROM %s GROUP BY uid HAVING COUNT(*) > ?" % table
        users = [row[0] for row in self._run.rows(counted, (most,))]
        kept = "SELECT id FROM %s WHERE uid = ? ORDER BY at DESC LIMIT ?" % table
        change = "DELETE FROM %s WHERE uid = ? AND id NOT IN (%s)" % (table, kept)
        return self._run.change(change, [(uid, uid, most) for uid in users])

    def _purge_tenth(self, table: str) -> int:
        found = self._run.rows("SELECT COUNT(*) FROM %s" % table)
        tenth = (found[0][0] + 9) // 10
        edge = self._run.rows("SELECT at FROM %s ORDER BY at LIMIT 1 OFFSET ?" % table, (max(0, tenth - 1),))
        return self._run.change("DELETE FROM %s WHERE at <= ?" % table, [(edge[0][0],)]) if edge else 0


def _read(made: Callable[[Sequence[Any]], Made | None], found: Iterable[Sequence[Any]]) -> list[Made]:
    return [one for row in found if (one := made(row)) is not None]
