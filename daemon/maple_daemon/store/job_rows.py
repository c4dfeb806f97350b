"""What jobs asked for and used, and how they ended: statements for `SqlStore`.

A submission is counted in the transaction that writes it, and moved in the one that marks it as moved, so that the sums
of a day are right whoever is killed when.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Iterable, Sequence
from typing import Any

from maple_agents.forecast.runs import RAN, Asked, Run, RunSum, Work
from maple_submit_filter.types.job_records import Record

from . import rows
from .protocol import BETWEEN, NOBODY, Candidate, Counted, Due, Known, NotKept
from .rows import Change, Runner

_KEY = ("uid", "owner", "job")
_TEXTS = ("name", "folder", "version")  # "" where nobody told
_FACTS = ("submitted", "at", "seconds", "state")
_NUMBERS = ("asked_seconds", "asked_memory", "nodes", "gpus", "memory", "gpu_memory", "gpu_use")
_COLUMNS = (*_KEY, *_TEXTS, *_FACTS, *_NUMBERS)
_AGAIN = ", ".join(
    [*("%s = COALESCE(NULLIF(excluded.%s, ''), runs.%s)" % (name, name, name) for name in _TEXTS)]
    + ["%s = excluded.%s" % (name, name) for name in _FACTS]
    + ["%s = COALESCE(excluded.%s, runs.%s)" % (name, name, name) for name in _NUMBERS]
)
_INSERT = "INSERT INTO runs (%s) VALUES (%s) ON CONFLICT (%s) DO UPDATE SET %s" % (
    ", ".join(_COLUMNS), ", ".join("?" for _ in _COLUMNS), ", ".join(_KEY), _AGAIN,
)  # fmt: skip
_SUMS = (
    "SELECT state, COUNT(*), SUM(jobs), SUM(asked), SUM(ran) FROM (SELECT state, uid, owner, COUNT(*) AS jobs,"
    " SUM(COALESCE(asked_seconds, 0) * COALESCE(nodes, 1)) AS asked, SUM(seconds * COALESCE(nodes, 1)) AS ran"
    " FROM runs GROUP BY state, uid, owner) each_user GROUP BY state HAVING COUNT(*) >= ? ORDER BY state"
)


def keep(run: Runner, runs: Sequence[tuple[int, Run]]) -> int:
    """Keep runs at once; where one has no form in the store, each by itself, and return how many were kept."""
    try:
        run.change(Change(_INSERT, [_row(uid, ended) for uid, ended in runs]))
    except NotKept:
        return 0 if len(runs) == 1 else sum(keep(run, [ended]) for ended in runs)
    return len(runs)


def of_user(run: Runner, uid: int, name: str, limit: int) -> list[Run]:
    """Return the runs of a user, the newest end first."""
    if uid == NOBODY:
        return []
    where, values = ("AND name = ?", (uid, name, limit)) if name else ("", (uid, limit))
    asked = "SELECT %s FROM runs WHERE uid = ? %s ORDER BY at DESC, job LIMIT ?" % (", ".join(_COLUMNS), where)
    return [_run(row) for row in run.rows(asked, values)]


def last(run: Runner, limit: int) -> list[tuple[int, Run]]:
    """Return the last whole run of each job name of each known user, the newest first."""
    whole = "uid <> ? AND name <> '' AND state IN (%s)" % ", ".join("?" for _ in RAN)
    newest = "SELECT uid, name, MAX(at) AS at FROM runs WHERE %s GROUP BY uid, name ORDER BY at DESC LIMIT ?" % whole
    columns = ", ".join("r.%s" % column for column in _COLUMNS)
    asked = "SELECT %s FROM (%s) n JOIN runs r ON r.uid = n.uid AND r.name = n.name AND r.at = n.at" % (columns, newest)
    rows = run.rows(asked + " ORDER BY r.at DESC, r.job", (NOBODY, *RAN, limit))
    return [(int(row[0]), _run(row)) for row in rows]


def newest(run: Runner, limit: int) -> list[tuple[int, Run]]:
    """Return the runs of known users that ended last, each with its uid."""
    asked = "SELECT %s FROM runs WHERE uid <> ? ORDER BY at DESC, job LIMIT ?" % ", ".join(_COLUMNS)
    return [(int(row[0]), _run(row)) for row in run.rows(asked, (NOBODY, limit))]


def sums(run: Runner, users: int) -> list[RunSum]:
    """Return what jobs came to by how they ended, where so many *users* have that in common."""
    return [
        RunSum(state, int(of), int(jobs), asked / 3600, ran / 3600)
        for state, of, jobs, asked, ran in run.rows(_SUMS, (users,))
    ]


def _row(uid: int, run: Run) -> tuple[object, ...]:
    asked, work = run.asked, run.asked.work
    owner = hashlib.sha256(asked.user.encode("utf-8", "replace")).hexdigest()[:16] if uid == NOBODY else ""
    return (
        uid, owner, run.job, asked.name, asked.folder, asked.version, asked.submitted, run.ended, run.seconds,
        run.state, asked.limit, asked.memory, work.nodes, work.gpus, run.memory, run.gpu_memory, run.gpu_use,
    )  # fmt: skip


def _run(row: Sequence[Any]) -> Run:
    """Return the run of a row; whose it is, whoever asks knows."""
    job, name, folder, version, submitted, ended, seconds, state, limit, asked_memory, nodes, gpus = row[2:14]
    asked = Asked("", name, folder, submitted, limit, asked_memory, version, Work((), nodes, gpus))
    return Run(job, asked, ended, seconds, state, *row[14:])


BEFORE_US = "-"  # how a submission stands that was counted before ends were
_COUNT = (
    "INSERT INTO counts (day, code, place, verdict, state, jobs)"
    " SELECT CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS {int})"
    " WHERE %s ON CONFLICT (day, code, place, verdict, state) DO UPDATE SET jobs = counts.jobs + excluded.jobs"
).format(int="BIGINT")
_MINE = "EXISTS (SELECT 1 FROM records WHERE id = ? AND uid = ? AND claim = ?)"
_NEW = "NOT EXISTS (SELECT 1 FROM records WHERE id = ? AND uid = ?)"
_TRIED = (
    "INSERT INTO tried (uid, code, fact, at, ran, failed) SELECT CAST(? AS BIGINT), CAST(? AS TEXT), CAST(? AS TEXT),"
    " CAST(? AS DOUBLE PRECISION), CAST(? AS BIGINT), CAST(? AS BIGINT) WHERE %s ON CONFLICT (uid, code, fact)"
    " DO UPDATE SET at = excluded.at, ran = tried.ran + excluded.ran, failed = tried.failed + excluded.failed"
) % _MINE
_CLAIM = (
    "UPDATE records SET due = 0, counted = ?, claim = ?, told = ? WHERE id = ? AND uid = ? AND due = 1 AND counted = ?"
    " AND told = ? AND EXISTS (SELECT 1 FROM outcomes o"
    " WHERE o.job = records.job AND o.uid = records.uid AND o.state = ?)"
)
_DUE = (
    "SELECT r.told, r.job, o.told, r.counted FROM records r JOIN outcomes o ON o.job = r.job AND o.uid = r.uid"
    " WHERE r.due = 1 AND r.job <> '' ORDER BY r.at LIMIT ?"
)


def counting(records: Iterable[Record]) -> Change:
    """Return what counts submissions that are not written yet; how their jobs end is not known.

    Sums are added to in one order by everybody, so that no two who do it at once wait for each other.
    """
    counted = ((*count, record.id, record.uid) for record in records for count in _counts(record, "", 1))
    return Change(_COUNT % _NEW, sorted(counted))


def due(run: Runner, limit: int) -> list[Due]:
    """Return submissions whose job has ended since they were counted."""
    ended = [(rows.record(row[:3]), row[3], row[0]) for row in run.rows(_DUE, (limit,))]
    return [Due(record, counted, text) for record, counted, text in ended if record is not None]


def settle(run: Runner, due: Due, record: Record, ended: str, at: float) -> bool:
    """Count how a job ended; all of it or nothing, and by one of those who want to. *record*: as it is from now on."""
    state = record.outcome.state if record.outcome else ""
    claim = secrets.token_hex(8)
    mine = (record.id, record.uid, claim)
    counted = state if due.counted != BEFORE_US else BEFORE_US
    moved: list[Counted] = []
    if counted != BEFORE_US and (counted, record.verdict) != (due.counted, due.record.verdict):
        moved = sorted((*_counts(due.record, due.counted, -1), *_counts(record, state, 1)))
    first = due.counted == "" and ended
    tried = [
        (record.uid, code, fact, at, int(ended == "ran"), int(ended == "failed"), *mine)
        for code, fact in record.keys
        if first
    ]
    text = rows.of_record(record)[-1]
    touched = run.change(
        Change(_CLAIM, [(counted, claim, text, record.id, record.uid, due.counted, due.text, state)]),
        Change(_COUNT % _MINE, [(*count, *mine) for count in moved]),
        Change(_TRIED, tried),
    )
    return touched[0] == 1


def standing(run: Runner, key: Sequence[object]) -> str:
    """Return how a change stands. *key*: uid, lineage, change."""
    result = run.rows("SELECT told FROM standings WHERE uid = ? AND lineage = ? AND change = ?", key)
    return str(result[0][0]) if result else ""


def keep_standing(run: Runner, known: Known, before: str) -> bool:
    """Put it in place of what was before, of which somebody else may have made something meanwhile."""
    if not before:
        statement = (
            "INSERT INTO standings (uid, lineage, change, at, told) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
        )
        return run.change(Change(statement, [tuple(known)]))[0] == 1
    statement = "UPDATE standings SET at = ?, told = ? WHERE uid = ? AND lineage = ? AND change = ? AND told = ?"
    values = (known.at, known.standing, known.uid, known.lineage, known.change, before)
    return run.change(Change(statement, [values]))[0] == 1


def standings(run: Runner, since: float) -> list[Known]:
    """Return how changes stand."""
    result = run.rows("SELECT uid, lineage, change, at, told FROM standings WHERE at >= ? ORDER BY at", (since,))
    return [Known(*row) for row in result]


def candidates(run: Runner, users: int) -> list[Candidate]:
    """Return sums over users, where there are enough of them."""
    asked = (
        "SELECT code, fact, COUNT(*), SUM(ran), SUM(failed) FROM tried GROUP BY code, fact HAVING COUNT(*) >= ?"
        " ORDER BY SUM(ran) DESC, code, fact"
    )
    return [Candidate(code, fact, *map(int, numbers)) for code, fact, *numbers in run.rows(asked, (users,))]


def purges(run: Runner) -> int:
    """Return how often a user was purged."""
    result = run.rows("SELECT number FROM notices WHERE name = ?", ("purged",))
    return int(result[0][0]) if result else 0


def _counts(record: Record, state: str, jobs: int) -> Iterable[Counted]:
    day = time.strftime("%Y-%m-%d", time.gmtime(record.at))
    codes = BETWEEN.join(_plain(code) for code in record.codes)
    yield Counted(day, codes, _plain(record.place), _plain(record.verdict), _plain(state), jobs)


def _plain(word: str) -> str:
    """Return a word that any database takes; ours all are such, but a user's own process had a hand in some."""
    return word if word.isascii() and (word.isprintable() or not word) else "other"
