"""The tables, as migrations in their order; a migration that stands here is never changed, only followed by another.

Rows that belong to somebody carry the uid; what a row tells besides its keys is one JSON text, so that a value that a
later Maple adds needs no new column.

What goes: what is too old, what one user has too much of, the oldest when all is too much, or all of one user's.

Rows go a few thousand at a time, so that whoever writes beside it waits for no long transaction.
"""

from __future__ import annotations

from collections.abc import Iterable

from .protocol import Caps, Gone
from .rows import Change, Runner

SLICE = 2_000  # rows in one transaction
_DAY = 86400.0
NOTICE = Change(
    "INSERT INTO notices (name, number) VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET number = notices.number + 1",
    [("purged",)],
)
_OF_NO_SUBMISSION = " AND NOT EXISTS (SELECT 1 FROM records r WHERE r.uid = versions.uid AND r.version = versions.id)"

MIGRATIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "m001_first",
        (
            "CREATE TABLE decisions (key {blob} PRIMARY KEY, uid {int} NOT NULL, learnt {blob} NOT NULL,"
            " at {real} NOT NULL)",
            "CREATE INDEX decisions_at ON decisions (at)",
            "CREATE TABLE versions (id TEXT NOT NULL, uid {int} NOT NULL, lineage TEXT NOT NULL, at {real} NOT NULL,"
            " told TEXT NOT NULL, script {blob} NOT NULL, PRIMARY KEY (id, uid))",
            "CREATE INDEX versions_lineage ON versions (uid, lineage, at)",
            "CREATE INDEX versions_at ON versions (at)",
            "CREATE TABLE part_values (uid {int} NOT NULL, part TEXT NOT NULL, told TEXT NOT NULL,"
            " PRIMARY KEY (uid, part, told))",
            "CREATE TABLE records (id TEXT NOT NULL, uid {int} NOT NULL, version TEXT NOT NULL, at {real} NOT NULL,"
            " job TEXT NOT NULL, told TEXT NOT NULL, PRIMARY KEY (id, uid))",
            "CREATE INDEX records_user ON records (uid, at)",
            "CREATE INDEX records_job ON records (job, uid)",
            "CREATE INDEX records_version ON records (uid, version, at)",
            "CREATE TABLE outcomes (job TEXT NOT NULL, uid {int} NOT NULL, at {real} NOT NULL, told TEXT NOT NULL,"
            " PRIMARY KEY (job, uid))",
            "CREATE TABLE counts (day TEXT NOT NULL, code TEXT NOT NULL, place TEXT NOT NULL, verdict TEXT NOT NULL,"
            " state TEXT NOT NULL, jobs {int} NOT NULL, PRIMARY KEY (day, code, place, verdict, state))",
        ),
    ),
    (
        "m002_what_grew",
        (
            # A value may be longer than PostgreSQL takes in an index (2.7 kB), so its hash is the key.
            "DROP TABLE part_values",
            "CREATE TABLE part_values (uid {int} NOT NULL, part TEXT NOT NULL, id {blob} NOT NULL, at {real} NOT NULL,"
            " told TEXT NOT NULL, PRIMARY KEY (uid, part, id))",
            "CREATE INDEX part_values_at ON part_values (at)",
            "CREATE INDEX records_at ON records (at)",
            "CREATE INDEX outcomes_at ON outcomes (at)",
            # One job is one submission: two daemons at once cannot join it twice.
            "CREATE UNIQUE INDEX records_one_job ON records (job, uid) WHERE job <> ''",
            "ALTER TABLE outcomes ADD COLUMN state TEXT NOT NULL DEFAULT ''",
        ),
    ),
    (
        "m003_what_goes_on",
        (
            # Those that go on are few among all; they are asked for every few seconds.
            "ALTER TABLE records ADD COLUMN ended {int} NOT NULL DEFAULT 0",
            "UPDATE records SET ended = 1 WHERE EXISTS (SELECT 1 FROM outcomes o WHERE o.job = records.job"
            " AND o.uid = records.uid AND o.state NOT IN ('pending', 'running', 'requeued'))",
            "CREATE INDEX records_going_on ON records (at) WHERE job <> '' AND ended = 0",
            "CREATE INDEX records_unjoined ON records (at) WHERE job = ''",
        ),
    ),
    (
        "m004_what_is_learnt",
        (
            # How an end was counted, "" not yet; "-": of a submission from before, whose place is not known. Whoever
            # claims an end counts it.
            "ALTER TABLE records ADD COLUMN counted TEXT NOT NULL DEFAULT '-'",
            "ALTER TABLE records ADD COLUMN due {int} NOT NULL DEFAULT 0",
            "ALTER TABLE records ADD COLUMN claim TEXT NOT NULL DEFAULT ''",
            "CREATE INDEX records_due ON records (at) WHERE due = 1",
            "CREATE TABLE standings (uid {int} NOT NULL, lineage TEXT NOT NULL, change TEXT NOT NULL,"
            " at {real} NOT NULL, told TEXT NOT NULL, PRIMARY KEY (uid, lineage, change))",
            "CREATE INDEX standings_at ON standings (at)",
            "CREATE TABLE tried (uid {int} NOT NULL, code TEXT NOT NULL, fact TEXT NOT NULL, at {real} NOT NULL,"
            " ran {int} NOT NULL, failed {int} NOT NULL, PRIMARY KEY (uid, code, fact))",
            "CREATE INDEX tried_at ON tried (at)",
            "CREATE TABLE notices (name TEXT PRIMARY KEY NOT NULL, number {int} NOT NULL)",
        ),
    ),
    (
        "m005_what_nobody_read",
        # A version has the values of its parts; a part is looked for among versions, which tell what stood above it.
        ("DROP TABLE part_values",),
    ),
    (
        "m006_who_was_told",
        (
            "CREATE TABLE told_ends (job TEXT NOT NULL, uid {int} NOT NULL, at {real} NOT NULL,"
            " PRIMARY KEY (job, uid))",
            "CREATE INDEX told_ends_at ON told_ends (at)",
        ),
    ),
    ("m007_what_one_user_has", ("CREATE INDEX decisions_user ON decisions (uid, at)",)),
    (
        "m008_runs",
        (
            # What a job asked for and used, NULL where nobody told. Of a user whom this host does not know, uid is -1
            # and *owner* a hash of his name: he counts in sums, and nobody is ever told of him. *at*: its end.
            "CREATE TABLE runs (uid {int} NOT NULL, owner TEXT NOT NULL, job TEXT NOT NULL, name TEXT NOT NULL,"
            " folder TEXT NOT NULL, version TEXT NOT NULL, submitted {real} NOT NULL, at {real} NOT NULL,"
            " seconds {real} NOT NULL, state TEXT NOT NULL, asked_seconds {real}, asked_memory {int}, nodes {int},"
            " gpus {int}, memory {int}, gpu_memory {int}, gpu_use {real}, PRIMARY KEY (uid, owner, job))",
            "CREATE INDEX runs_name ON runs (uid, name, at)",
            "CREATE INDEX runs_at ON runs (at)",
        ),
    ),
    (
        "m009_how_far_it_came",
        (
            "CREATE TABLE reached (record TEXT NOT NULL, uid {int} NOT NULL, version TEXT NOT NULL,"
            " at {real} NOT NULL, told TEXT NOT NULL, PRIMARY KEY (record, uid))",
            "CREATE INDEX reached_at ON reached (at)",
        ),
    ),
    ("m010_newest_runs", ("CREATE INDEX runs_user ON runs (uid, at)",)),
    (
        "m011_why_it_failed",
        (
            # A class of failures by its stable name, one of few; nothing of a log.
            "CREATE TABLE causes (job TEXT NOT NULL, uid {int} NOT NULL, at {real} NOT NULL, cause TEXT NOT NULL,"
            " PRIMARY KEY (job, uid))",
            "CREATE INDEX causes_at ON causes (at)",
        ),
    ),
)
SQLITE = {"blob": "BLOB", "int": "INTEGER", "real": "REAL"}
POSTGRESQL = {"blob": "BYTEA", "int": "BIGINT", "real": "DOUBLE PRECISION"}
KEYS = {
    "versions": "id, uid",
    "records": "id, uid",
    "decisions": "key",
    "outcomes": "job, uid",
    "standings": "uid, lineage, change",
    "tried": "uid, code, fact",
    "told_ends": "job, uid",
    "runs": "uid, owner, job",
    "reached": "record, uid",
    "causes": "job, uid",
}
TABLES = (
    "decisions", "versions", "records", "outcomes", "counts", "standings", "tried", "notices", "told_ends", "runs",
    "reached", "causes",
)  # fmt: skip


def unknown(applied: Iterable[str]) -> list[str]:
    """Return those of the applied migrations that this Maple does not know: a newer one wrote the store."""
    return sorted(set(applied) - {name for name, _ in MIGRATIONS})


def purge_user(run: Runner, uid: int) -> Gone:
    """Remove all that belongs to a user, at once or not at all."""
    deleted = [Change("DELETE FROM %s WHERE uid = ?" % table, [(uid,)]) for table in KEYS]
    gone = run.change(*deleted, NOTICE)  # what services hold in memory goes too
    return Gone(*gone[:3])


def purge_old(run: Runner, now: float, caps: Caps) -> Gone:
    """Remove by age, then by user, then by size."""
    gone = dict.fromkeys(KEYS, 0)
    for steps in (_by_age(run, now - caps.days * _DAY), _by_user(run, caps), _by_size(run, caps.bytes)):
        for table, rows in steps.items():
            gone[table] += rows
    return Gone(gone["versions"], gone["records"], gone["decisions"])


def _by_age(run: Runner, before: float) -> dict[str, int]:
    """A version lives as long as one of its submissions does, so records go first."""
    gone = {}
    for table in (
        "records", "versions", "decisions", "outcomes", "standings", "tried", "told_ends", "runs", "reached", "causes",
    ):  # fmt: skip
        where = "at < ?" + (_OF_NO_SUBMISSION if table == "versions" else "")
        gone[table] = _removed(run, table, "WHERE %s LIMIT ?" % where, (before,))
    return gone


def _by_user(run: Runner, caps: Caps) -> dict[str, int]:
    gone = {}
    caps_of = {
        "versions": caps.versions_of_user, "records": caps.records_of_user, "decisions": caps.decisions_of_user,
    }  # fmt: skip
    for table, most in caps_of.items():
        users = run.rows("SELECT uid FROM %s GROUP BY uid HAVING COUNT(*) > ?" % table, (most,))
        which = "WHERE uid = ? ORDER BY at DESC, %s DESC LIMIT ? OFFSET %d" % (KEYS[table].partition(",")[0], most)
        gone[table] = sum(_removed(run, table, which, (row[0],)) for row in users)
    return gone


def _by_size(run: Runner, most: int) -> dict[str, int]:
    """Take the same share of each table, the oldest first, until all is small enough."""
    gone = dict.fromkeys(KEYS, 0)
    while (size := run.size()) > most:
        share = min(1.0, (size - most) / size + 0.05)
        freed = {table: _share_removed(run, table, share) for table in KEYS}
        if not any(freed.values()):
            break
        gone = {table: gone[table] + rows for table, rows in freed.items()}
    return gone


def _share_removed(run: Runner, table: str, share: float) -> int:
    rows = int(run.rows("SELECT COUNT(*) FROM %s" % table)[0][0])
    return _removed(run, table, "ORDER BY at LIMIT ?", (), -int(-rows * share // 1))


def _removed(run: Runner, table: str, which: str, values: tuple[object, ...], most: int = 1 << 62) -> int:
    """Remove the rows that *which* names, whose last value is their number, slice by slice, *most* in all."""
    keys, gone = KEYS[table], 0
    statement = "DELETE FROM %s WHERE (%s) IN (SELECT %s FROM %s %s)" % (table, keys, keys, table, which)
    while gone < most:
        limit = min(SLICE, most - gone)
        rows = run.change(Change(statement, [(*values, limit)]))[0]
        gone += rows
        if rows < limit:
            break
    return gone
