"""What jobs asked for and used, as rows: one for each job of a user, told anew by whoever knows more of it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from maple_agents.forecast.runs import RAN, Asked, Run, RunSum, Work

from .protocol import NOBODY, NotKept
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
