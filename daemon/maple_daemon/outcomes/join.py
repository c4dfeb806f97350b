"""Which job a submission became: exactly, or not at all. Values in, values out.

Three ways, the first that knows: the scheduler's filter named the process that submitted; the script that the
scheduler has ends with the record's id; user, time, name, work dir and the hash of that script are the same. Where two
submissions could be meant, none is.

Joining what was told to what the store has of the same user, in one change of the store.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from maple_submit_filter.types.job_records import Outcome, Record, Version

from ..store.protocol import Store
from .events import Submitted

BEFORE, AFTER = 1.0, 2.0  # seconds: schedulers tell the time of submission in whole ones
SAME_RECORD = 60.0  # seconds: later it is a copy of a repaired script, submitted again, that has its last line still
HALF = 32  # digits of a script's hash in the path of its private copy
TOLD_WITHIN = 120.0  # seconds in which the filter tells an id, where the controller is not away
DAY = 86400.0  # sbatch may wait that long for its controller at most

WAITED = 3600.0  # seconds that sbatch may have waited for its controller
MONTH = 30 * DAY  # that a job may have waited in its queue, where its submission is not told
MOST_VERSIONS = 1000
SETTLED = 10.0  # seconds after a submission until each one of that moment has its record


class Joined(NamedTuple):
    """Record *record* of *uid* became *job*. *how*: as in `Record.joined`."""

    record: str
    uid: int
    job: str
    how: str


def by_process(submissions: Sequence[Submitted], records: Iterable[Record]) -> list[Joined]:
    """Return what the filter knows: the process has its id and start from the front on, through every exec.

    A process that submitted more than one job, or a job that two say they submitted, is not joined.
    """
    begun: dict[tuple[int, str, int, int], list[Record]] = {}
    for record in records:
        if record.pid_started and not record.job:
            begun.setdefault((record.uid, record.host, record.pid, record.pid_started), []).append(record)
    wanted: dict[tuple[int, str, int, int], set[str]] = {}
    claims: dict[tuple[int, str], set[tuple[int, str, int, int]]] = {}
    for submitted in submissions:
        key = (submitted.uid, submitted.host, submitted.pid, submitted.started)
        wanted.setdefault(key, set()).add(submitted.job)
        claims.setdefault((submitted.uid, submitted.job), set()).add(key)
    times = {
        (submission.uid, submission.host, submission.pid, submission.started): submission.at
        for submission in submissions
    }
    joins = []
    for key, jobs in wanted.items():
        mine = [submission for submission in begun.get(key, []) if abs(submission.at - times[key]) <= DAY]
        (job,) = jobs if len(jobs) == 1 else ("",)
        if len(mine) == 1 and job and len(claims[key[0], job]) == 1:
            joins.append(Joined(mine[0].id, key[0], job, "filter"))
    return joins


def without_jobs(records: Sequence[Record], joined: Sequence[Record], now: float) -> list[Record]:
    """Return *records*, those of which the filter ought to have told a job, and told none, as joined to "none".

    It tells an id as soon as sbatch has one. *joined*: submissions of anybody, the newest; where the filter told of one
    of that host within a day, it is loaded there.
    """
    heard = [(record.host, record.at) for record in joined if record.joined == "filter"]
    return [
        record._replace(joined="none")
        if not record.job
        and record.pid_started
        and now - record.at > TOLD_WITHIN
        and any(host == record.host and abs(at - record.at) <= DAY for host, at in heard)
        else record
        for record in records
    ]


def is_hash_of(hashed: str, *known: str) -> bool:
    """Return whether a script's hash is one of *known*; of a private copy's only the first half is told."""
    return any(bool(hashed) and other.startswith(hashed) for other in known)


def by_record(outcome: Outcome, records: Iterable[Record]) -> Joined | None:
    """Return what the last line of the job's script says, confirmed by the script's hash and the time.

    That line makes the hash of a changed script one of its own, so where a hook cannot read the script its hash tells.
    """
    if not outcome.record and not outcome.script_hash:
        return None
    mine = [record for record in records if record.uid == outcome.uid and not record.job and _is_named(outcome, record)]
    near = [
        record
        for record in mine
        if outcome.submitted is None or -BEFORE <= outcome.submitted - record.at <= SAME_RECORD
    ]
    return Joined(near[0].id, near[0].uid, outcome.job, "record") if len(near) == 1 else None


def _is_named(outcome: Outcome, record: Record) -> bool:
    same = is_hash_of(outcome.script_hash, record.submitted_hash, record.offered_hash)
    if outcome.record:
        return outcome.record == record.id and (same or not outcome.script_hash)
    return same and len(outcome.script_hash) == HALF  # whoever has the whole one has read the script, and no such line


def by_times(
    outcomes: Sequence[Outcome], records: Sequence[Record], versions: Mapping[str, Version]
) -> tuple[list[Joined], list[Outcome]]:
    """Return what time, name, work dir and the script's hash tell, and the jobs that two or more records may be.

    A record that two of these jobs may be belongs to neither. *versions*: those of the records, by their ids.
    """
    meant = {end: _candidates(end, records, versions) for end in outcomes}
    wanted: dict[tuple[str, int], int] = {}
    for mine in meant.values():
        for record in mine:
            wanted[record.id, record.uid] = wanted.get((record.id, record.uid), 0) + 1
    joined, ambiguous = [], []
    for outcome, mine in meant.items():
        if len(mine) == 1 and wanted[mine[0].id, mine[0].uid] == 1:
            joined.append(Joined(mine[0].id, mine[0].uid, outcome.job, "times"))
        elif mine:
            ambiguous.append(outcome)
    return joined, ambiguous


def _candidates(outcome: Outcome, records: Sequence[Record], versions: Mapping[str, Version]) -> list[Record]:
    if not outcome.script_hash or outcome.submitted is None:
        return []
    return [
        record
        for record in records
        if record.uid == outcome.uid and not record.job and _may_be(outcome, record, versions)
    ]


def _may_be(outcome: Outcome, record: Record, versions: Mapping[str, Version]) -> bool:
    version = versions.get(record.version)
    if version is None or outcome.submitted is None or not -BEFORE <= outcome.submitted - record.at <= AFTER:
        return False
    scripts = {record.offered_hash, record.submitted_hash or version.script_hash} - {""}
    same = (outcome.name, outcome.workdir) == (version.name, version.cwd)
    return same and is_hash_of(outcome.script_hash, *scripts)


class Kept(NamedTuple):
    """What one change of the store came to. *joined*: by how; *ambiguous*: jobs that two records may be."""

    new: int
    joined: list[Joined]
    ambiguous: list[Outcome]


def keep(
    store: Store, submissions: Sequence[Submitted], ends: Sequence[Outcome], waiting: Sequence[Outcome], now: float
) -> Kept:
    """Put into the store what was told, and join what can be joined exactly. *waiting*: ends without a record yet."""
    new = store.keep_outcomes(ends) if ends else 0
    joined: list[Joined] = []
    ambiguous: list[Outcome] = []
    for uid in sorted({submitted.uid for submitted in submissions} | {outcome.uid for outcome in waiting}):
        mine = [
            outcome for outcome in waiting if outcome.uid == uid and not store.records(uid, job=outcome.job, limit=1)
        ]
        named = [submitted for submitted in submissions if submitted.uid == uid]
        if not mine and not named:
            continue
        sure, unsure = _joined(named, mine, store.unjoined(_since(named, mine, now), uid), store, now)
        joined += [joint for joint in sure if store.join(joint.record, joint.uid, joint.job, joint.how)]
        ambiguous += unsure
    return Kept(new, joined, ambiguous)


def _since(submissions: Sequence[Submitted], ends: Sequence[Outcome], now: float) -> float:
    """Return from when on records are looked at: a job may have waited for days."""
    submitted = [(now - MONTH if outcome.submitted is None else outcome.submitted) - SAME_RECORD for outcome in ends]
    return min([submission.at - WAITED for submission in submissions] + submitted)


def _joined(
    submissions: Sequence[Submitted], ends: Sequence[Outcome], records: list[Record], store: Store, now: float
) -> tuple[list[Joined], list[Outcome]]:
    """Return what one user's submissions became, the exact ways first, and the jobs that could not be told apart."""
    joined = by_process(submissions, records)
    for outcome in ends:
        named = by_record(outcome, _without(records, joined))
        if named is not None:
            joined.append(named)
    jobs = {each.job for each in joined} | {submitted.job for submitted in submissions}
    left = [end for end in ends if end.job not in jobs and end.submitted is not None and now - end.submitted > SETTLED]
    rest = _without(records, joined)
    if not left or not rest:
        return joined, []
    versions = {version.id: version for version in store.versions(rest[0].uid, limit=MOST_VERSIONS)}
    timed, ambiguous = by_times(left, rest, versions)
    return joined + timed, ambiguous


def _without(records: Sequence[Record], joined: Sequence[Joined]) -> list[Record]:
    gone = {each.record for each in joined}
    return [record for record in records if record.id not in gone]
