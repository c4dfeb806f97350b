"""The store in SQL that SQLite and PostgreSQL both take; each brings its own way to run a statement."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from maple_agents.forecast.runs import Run, RunSum
from maple_submit_filter.types.job_records import Outcome, Reached, Record, Version

from . import job_rows, rows
from .job_rows import keep, last, newest, of_user, sums
from .protocol import LEAST_USERS, Candidate, Caps, Counted, Due, Gone, Known, NotKept
from .rows import Change, Runner
from .schema import purge_old, purge_user

_RECORD = (
    "SELECT r.told, r.job, o.told, h.told FROM records r"
    " LEFT JOIN outcomes o ON o.job = r.job AND o.uid = r.uid AND r.job <> ''"
    " LEFT JOIN reached h ON h.record = r.id AND h.uid = r.uid"
)
# A job that ended before its record was joined. One that ends at the same moment is not seen here: `unended` looks too.
_ENDED = (
    "UPDATE records SET ended = 1, due = 1 WHERE ended = 0 AND EXISTS (SELECT 1 FROM outcomes o"
    " WHERE o.job = records.job AND o.uid = records.uid AND o.state NOT IN (?, ?, ?)) AND id = ? AND uid = ?"
)
GOING_ON = ("pending", "running", "requeued")  # states of a job that may still end another way
TRIES = 5  # to change a record that somebody else changes at the same time
Made = TypeVar("Made")


class SqlStore:
    """A `Store` over a runner. *clock*: seconds since 1970."""

    def __init__(self, runner: Runner, clock: Callable[[], float] = time.time) -> None:
        self._run, self._clock = runner, clock

    def decision(self, key: bytes, uid: int) -> bytes | None:
        """Return what was decided of exactly this submission."""
        result = self._run.rows("SELECT learnt FROM decisions WHERE key = ? AND uid = ?", (key, uid))
        return bytes(result[0][0]) if result else None

    def keep_decision(self, key: bytes, uid: int, learnt: bytes, at: float) -> None:
        """Remember a decision."""
        again = "ON CONFLICT (key) DO UPDATE SET learnt = excluded.learnt, at = excluded.at"
        own = "WHERE decisions.uid = excluded.uid"
        self._run.change(_insert("decisions", "key, uid, learnt, at", [(key, uid, learnt, at)], again, own))

    def newest_decisions(self, limit: int) -> list[tuple[int, bytes]]:
        """Return uid and bytes of the decisions that were kept last."""
        result = self._run.rows("SELECT uid, learnt FROM decisions ORDER BY at DESC LIMIT ?", (limit,))
        return [(int(uid), bytes(learnt)) for uid, learnt in result]

    def keep_version(self, version: Version) -> None:
        """Remember a version and what was read of its parts."""
        self._run.change(_insert("versions", "id, uid, lineage, at, told, script", [rows.of_version(version)]))

    def renew_version(self, version: Version) -> bool:
        """Put what is known of a version now in place of what was."""
        row = rows.of_version(version)
        change = "UPDATE versions SET told = ? WHERE id = ? AND uid = ?"
        where = (version.id, version.uid)
        if not self._run.rows("SELECT 1 FROM versions WHERE id = ? AND uid = ?", where):
            return False
        return self._run.change(Change(change, [(row[4], *where)]))[0] == 1

    def version(self, uid: int, version: str) -> Version | None:
        """Return a user's version of that id."""
        result = self._run.rows("SELECT told, script FROM versions WHERE uid = ? AND id = ?", (uid, version))
        return rows.version(result[0]) if result else None

    def versions(self, uid: int, lineage: str = "", limit: int = 100) -> list[Version]:
        """Return a user's versions, the newest first."""
        where, values = ("AND lineage = ?", (uid, lineage, limit)) if lineage else ("", (uid, limit))
        result = self._run.rows(
            "SELECT told, script FROM versions WHERE uid = ? %s ORDER BY at DESC, id LIMIT ?" % where, values
        )
        return _read(rows.version, result)

    def keep_record(self, record: Record) -> None:
        """Remember a submission, and count it."""
        self._keep_records([record])

    def keep_records(self, records: Sequence[Record]) -> None:
        """Remember submissions, and count them, in one transaction where all have a form in the store."""
        made = list(
            {(record.id, record.uid): record for record in reversed(records)}.values()
        )  # of two the first counts
        try:
            self._keep_records(made)
        except NotKept:
            if len(made) == 1:
                raise
            self._keep_each(made)

    def move_record(self, record: str, uid: int, version: str) -> bool:
        """Say that a submission was of another version."""
        return self._rewrite(record, uid, lambda made: made._replace(version=version))

    def records(
        self, uid: int, version: str = "", job: str = "", limit: int = 100, server: bool = True
    ) -> list[Record]:
        """Return a user's submissions, the newest first."""
        where, values = "r.uid = ?", [uid]  # type: tuple[str, list[object]]
        of_job = "r.job = ?" if server else "r.job LIKE ? ESCAPE '!'"
        meant = job if server else re.sub("[!%_]", r"!\g<0>", job) + ".%"
        for condition, value, given in (("r.version = ?", version, version), (of_job, meant, job)):
            where += " AND " + condition if given else ""
            values += [value] if given else []
        return _read(
            rows.record,
            self._run.rows("%s WHERE %s ORDER BY r.at DESC, r.id LIMIT ?" % (_RECORD, where), (*values, limit)),
        )

    def unjoined(self, since: float, uid: int | None = None) -> list[Record]:
        """Return submissions whose job is not known, oldest first."""
        where, values = "r.job = '' AND r.at >= ?", [since]  # type: tuple[str, list[object]]
        where += " AND r.uid = ?" if uid is not None else ""
        values += [uid] if uid is not None else []
        return _read(rows.record, self._run.rows("%s WHERE %s ORDER BY r.at LIMIT 10000" % (_RECORD, where), values))

    def join(self, record: str, uid: int, job: str, how: str) -> bool:
        """Say which job a record became."""
        if not job:
            return False
        return self._rewrite(record, uid, lambda made: None if made.job else made._replace(job=job, joined=how))

    def keep_outcomes(self, outcomes: Iterable[Outcome]) -> int:
        """Remember how jobs ended; a later word about a job stands in place of an earlier one."""
        made = {(outcome.job, outcome.uid): rows.of_outcome(outcome, self._clock()) for outcome in outcomes}
        try:
            return self._keep_outcomes(made)
        except NotKept:  # one that has no form here does not cost the others theirs
            return sum(self._kept_alone(key, row) for key, row in made.items())

    def keep_reached(self, uid: int, reached: Reached) -> bool:
        """Remember how far a run came."""
        result = self._run.rows("SELECT version, job FROM records WHERE id = ? AND uid = ?", (reached.record, uid))
        if not result or not result[0][1]:
            return False
        made = rows.of_reached(reached._replace(version=str(result[0][0])), uid)
        again = "ON CONFLICT (record, uid) DO UPDATE SET version = excluded.version, at = excluded.at,"
        again += " told = excluded.told"
        self._run.change(_insert("reached", "record, uid, version, at, told", [made], again))
        return True

    def unended(self, limit: int = 1000) -> list[Record]:
        """Return joined submissions that are not known to have ended, oldest first."""
        goes_on = "(o.state IS NULL OR o.state IN (%s))" % ", ".join("?" for _ in GOING_ON)
        where = "r.job <> '' AND r.ended = 0 AND %s" % goes_on
        asked = "%s WHERE %s ORDER BY r.at LIMIT ?" % (_RECORD, where)
        return _read(rows.record, self._run.rows(asked, (*GOING_ON, limit)))

    def joined(self, limit: int = 200) -> list[Record]:
        """Return the newest submissions whose job is known."""
        asked = "%s WHERE r.job <> '' ORDER BY r.at DESC LIMIT ?" % _RECORD
        return _read(rows.record, self._run.rows(asked, (limit,)))

    def due(self, limit: int = 1000) -> list[Due]:
        """Return submissions whose job has ended since they were counted, oldest first."""
        return job_rows.due(self._run, limit)

    def settle(self, due: Due, ended: str, verdict: str = "") -> bool:
        """Count how a submission's job ended."""
        record = due.record._replace(verdict=verdict or due.record.verdict)
        return job_rows.settle(self._run, due, record, ended, self._clock())

    def standing(self, uid: int, lineage: str, change: str) -> str:
        """Return how a change of a user's lineage stands."""
        return job_rows.standing(self._run, (uid, lineage, change))

    def keep_standing(self, known: Known, before: str) -> bool:
        """Remember how a change stands now."""
        return job_rows.keep_standing(self._run, known, before)

    def standings(self, since: float = 0.0) -> list[Known]:
        """Return how changes of all users stand."""
        return job_rows.standings(self._run, since)

    def candidates(self, users: int) -> list[Candidate]:
        """Return how rules did over all users."""
        return job_rows.candidates(self._run, max(users, LEAST_USERS))

    def ended(self, states: Sequence[str], since: float, limit: int) -> list[Outcome]:
        """Return ends of all users in these states, those that were last first."""
        marks = ", ".join("?" for _ in states)
        asked = "SELECT told, at FROM outcomes WHERE at >= ? AND state IN (%s) ORDER BY at DESC LIMIT ?" % marks
        return _read(rows.ended, self._run.rows(asked, (since, *states, limit)))

    def unrecorded(self, uid: int, limit: int = 100) -> list[Outcome]:
        """Return ends of a user's jobs that no submission became, those that were last first."""
        known = "SELECT 1 FROM records r WHERE r.job = o.job AND r.uid = o.uid"
        asked = "SELECT o.told, o.at FROM outcomes o WHERE o.uid = ? AND NOT EXISTS (%s) ORDER BY o.at DESC LIMIT ?"
        return _read(rows.ended, self._run.rows(asked % known, (uid, limit)))

    def keep_cause(self, uid: int, job: str, cause: str, at: float) -> bool:
        """Remember which class of failure was read in a job's logs."""
        known = self._job(uid, job)
        if known is None:
            return False
        again = "ON CONFLICT (job, uid) DO UPDATE SET at = excluded.at, cause = excluded.cause"
        self._run.change(_insert("causes", "job, uid, at, cause", [(known, uid, at, cause)], again))
        return True

    def causes(self, since: float) -> dict[tuple[str, int], str]:
        """Return the classes that were told since, by job and uid."""
        result = self._run.rows("SELECT job, uid, cause FROM causes WHERE at >= ?", (since,))
        return {(str(job), int(uid)): str(cause) for job, uid, cause in result}

    def keep_told(self, job: str, uid: int, at: float) -> bool:
        """Remember that a user was told of the end of a job."""
        return self._run.change(_insert("told_ends", "job, uid, at", [(job, uid, at)]))[0] == 1

    def notices(self, since: float) -> list[tuple[str, int, float]]:
        """Return job, uid and time of ends that users were told of since."""
        result = self._run.rows("SELECT job, uid, at FROM told_ends WHERE at >= ?", (since,))
        return [(str(job), int(uid), float(at)) for job, uid, at in result]

    def keep_runs(self, runs_: Iterable[tuple[int, Run]]) -> int:
        """Remember what jobs asked for and used."""
        return keep(self._run, list(runs_))

    def runs(self, uid: int, name: str = "", limit: int = 200) -> list[Run]:
        """Return a user's ended runs, the newest end first."""
        return of_user(self._run, uid, name, limit)

    def last_runs(self, limit: int) -> list[tuple[int, Run]]:
        """Return the last whole run of each job name of each user."""
        return last(self._run, limit)

    def newest_runs(self, limit: int) -> list[tuple[int, Run]]:
        """Return the runs of all known users that ended last."""
        return newest(self._run, limit)

    def run_count(self) -> int:
        """Return how many runs are kept, of all users."""
        return int(self._run.rows("SELECT COUNT(*) FROM runs")[0][0])

    def run_sums(self) -> list[RunSum]:
        """Return what all runs came to."""
        return sums(self._run, LEAST_USERS)

    def purges(self) -> int:
        """Return how often a user was purged."""
        return job_rows.purges(self._run)

    def count(self, rows_: Iterable[Counted]) -> None:
        """Add to the site-wide numbers."""
        again = "ON CONFLICT (day, code, place, verdict, state) DO UPDATE SET jobs = counts.jobs + excluded.jobs"
        columns = "day, code, place, verdict, state, jobs"
        self._run.change(_insert("counts", columns, [tuple(counted) for counted in rows_], again))

    def counted(self, since: str = "") -> list[Counted]:
        """Return the site-wide numbers since a day."""
        result = self._run.rows(
            "SELECT day, code, place, verdict, state, jobs FROM counts WHERE day >= ? AND jobs > 0"
            " ORDER BY day, code, place, verdict, state",
            (since,),
        )
        return [Counted(*row) for row in result]

    def purge(self, now: float, caps: Caps, uid: int | None = None) -> Gone:
        """Remove what is too old or too much; *uid*: everything of that user instead."""
        gone = purge_user(self._run, uid) if uid is not None else purge_old(self._run, now, caps)
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

    def _keep_records(self, made: Sequence[Record]) -> None:
        columns = "id, uid, version, at, job, told, counted"
        values = [(*rows.of_record(record), "") for record in made]
        self._run.change(job_rows.counting(made), _insert("records", columns, values))

    def _keep_each(self, made: Sequence[Record]) -> None:
        wrong = None
        for record in made:
            try:
                self._keep_records([record])
            except NotKept as error:
                wrong = error
        if wrong is not None:
            raise wrong

    def _keep_outcomes(self, made: Mapping[tuple[str, int], tuple[object, ...]]) -> int:
        known = sum(len(self._run.rows("SELECT 1 FROM outcomes WHERE job = ? AND uid = ?", key)) for key in made)
        again = "ON CONFLICT (job, uid) DO UPDATE SET at = excluded.at, state = excluded.state, told = excluded.told"
        ended = "UPDATE records SET ended = ?, due = ? WHERE job = ? AND uid = ?"
        self._run.change(
            _insert("outcomes", "job, uid, at, state, told", list(made.values()), again),
            Change(ended, [(*2 * (int(row[3] not in GOING_ON),), *key) for key, row in made.items()]),
        )
        return len(made) - known

    def _job(self, uid: int, job: str) -> str | None:
        """Return the whole id of a user's job, None where nothing is kept of it."""
        asked = (
            "SELECT job FROM outcomes WHERE job = ? AND uid = ? UNION SELECT job FROM records WHERE job = ? AND uid = ?"
        )
        if job and self._run.rows(asked, (job, uid, job, uid)):
            return job
        jobs = {record.job for record in self.records(uid, job=job, server=False)} if job else set()
        return jobs.pop() if len(jobs) == 1 else None

    def _kept_alone(self, key: tuple[str, int], row: tuple[object, ...]) -> int:
        try:
            return self._keep_outcomes({key: row})
        except NotKept:
            return 0

    def _rewrite(self, record: str, uid: int, anew: Callable[[Record], Record | None]) -> bool:
        """Change a record unless *anew* says None; what somebody else changed meanwhile is read again, not lost."""
        for _ in range(TRIES):
            result = self._run.rows("SELECT told, job, NULL FROM records WHERE id = ? AND uid = ?", (record, uid))
            made = rows.record(result[0]) if result else None
            new = anew(made) if made is not None else None
            if new is None:
                return False
            change = "UPDATE records SET version = ?, job = ?, told = ? WHERE id = ? AND uid = ? AND told = ?"
            values = (new.version, new.job, rows.of_record(new)[-1], record, uid, result[0][0])
            try:
                if self._run.change(Change(change, [values]), Change(_ENDED, [(*GOING_ON, record, uid)]))[0] == 1:
                    return True
            except NotKept:  # the job has a record already, or is no text
                return False
        return False


def _insert(
    table: str, columns: str, values: Sequence[Sequence[object]], again: str = "ON CONFLICT DO NOTHING", own: str = ""
) -> Change:
    """Return the change that puts rows in; *again*: what happens to one that is there, *own*: only where this holds."""
    marks = ", ".join("?" for _ in columns.split(","))
    return Change("INSERT INTO %s (%s) VALUES (%s) %s %s" % (table, columns, marks, again, own), values)


def _read(made: Callable[[Sequence[Any]], Made | None], rows_read: Iterable[Sequence[Any]]) -> list[Made]:
    return [value for row in rows_read if (value := made(row)) is not None]
