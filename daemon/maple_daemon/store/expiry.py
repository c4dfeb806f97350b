"""What goes: what is too old, what one user has too much of, the oldest when all is too much, or all of one user's.

Rows go a few thousand at a time, so that whoever writes beside it waits for no long transaction.
"""

from __future__ import annotations

from .protocol import Caps, Gone
from .rows import Change, Runner
from .schema import KEYS

SLICE = 2_000  # rows in one transaction
_DAY = 86400.0
NOTICE = Change(
    "INSERT INTO notices (name, number) VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET number = notices.number + 1",
    [("purged",)],
)
_OF_NO_SUBMISSION = " AND NOT EXISTS (SELECT 1 FROM records r WHERE r.uid = versions.uid AND r.version = versions.id)"


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
    for table in ("records", "versions", "decisions", "outcomes", "standings", "tried", "told_ends"):
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
