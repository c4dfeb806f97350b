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


def by_process(told: Sequence[Submitted], records: Iterable[Record]) -> list[Joined]:
    """Return what the filter knows: the process has its id and start from the front on, through every exec.

    A process that submitted more than one job, or a job that two say they submitted, is not joined.
    """
    begun: dict[tuple[int, str, int, int], list[Record]] = {}
    for record in records:
        if record.pid_started and not record.job:
            begun.setdefault((record.uid, record.host, record.pid, record.pid_started), []).append(record)
    wanted: dict[tuple[int, str, int, int], set[str]] = {}
    claims: dict[tuple[int, str], set[tuple[int, str, int, int]]] = {}
    for one in told:
        key = (one.uid, one.host, one.pid, one.started)
        wanted.setdefault(key, set()).add(one.job)
        claims.setdefault((one.uid, one.job), set()).add(key)
    times = {(one.uid, one.host, one.pid, one.started): one.at for one in told}
    found = []
    for key, jobs in wanted.items():
        mine = [one for one in begun.get(key, []) if abs(one.at - times[key]) <= DAY]
        (job,) = jobs if len(jobs) == 1 else ("",)
        if len(mine) == 1 and job and len(claims[key[0], job]) == 1:
            found.append(Joined(mine[0].id, key[0], job, "filter"))
    return found


def is_hash_of(told: str, *known: str) -> bool:
    """Return whether a script's hash is one of *known*; of a private copy's only the first half is told."""
    return any(bool(told) and one.startswith(told) for one in known)


def by_record(outcome: Outcome, records: Iterable[Record]) -> Joined | None:
    """Return what the last line of the job's script says, confirmed by the script's hash and the time.

    That line makes the hash of a changed script one of its own, so where a hook cannot read the script its hash tells.
    """
    if not outcome.record and not outcome.script_hash:
        return None
    mine = [one for one in records if one.uid == outcome.uid and not one.job and _is_named(outcome, one)]
    near = [one for one in mine if outcome.submitted is None or -BEFORE <= outcome.submitted - one.at <= SAME_RECORD]
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
    meant = {one: _candidates(one, records, versions) for one in outcomes}
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
    return [one for one in records if one.uid == outcome.uid and not one.job and _may_be(outcome, one, versions)]


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
    store: Store, told: Sequence[Submitted], ends: Sequence[Outcome], waiting: Sequence[Outcome], now: float
) -> Kept:
    """Put into the store what was told, and join what can be joined exactly. *waiting*: ends without a record yet."""
    new = store.keep_outcomes(ends) if ends else 0
    joined: list[Joined] = []
    ambiguous: list[Outcome] = []
    for uid in sorted({one.uid for one in told} | {one.uid for one in waiting}):
        mine = [one for one in waiting if one.uid == uid and not store.records(uid, job=one.job, limit=1)]
        named = [one for one in told if one.uid == uid]
        if not mine and not named:
            continue
        sure, unsure = _joined(named, mine, store.unjoined(_since(named, mine, now), uid), store, now)
        joined += [one for one in sure if store.join(one.record, one.uid, one.job, one.how)]
        ambiguous += unsure
    return Kept(new, joined, ambiguous)


def _since(told: Sequence[Submitted], ends: Sequence[Outcome], now: float) -> float:
    """Return from when on records are looked at: a job may have waited for days."""
    submitted = [(now - MONTH if one.submitted is None else one.submitted) - SAME_RECORD for one in ends]
    return min([one.at - WAITED for one in told] + submitted)


def _joined(
    told: Sequence[Submitted], ends: Sequence[Outcome], records: list[Record], store: Store, now: float
) -> tuple[list[Joined], list[Outcome]]:
    """Return what one user's submissions became, the exact ways first, and the jobs that could not be told apart."""
    found = by_process(told, records)
    for one in ends:
        named = by_record(one, _without(records, found))
        if named is not None:
            found.append(named)
    jobs = {one.job for one in found} | {one.job for one in told}
    left = [one for one in ends if one.job not in jobs and one.submitted is not None and now - one.submitted > SETTLED]
    rest = _without(records, found)
    if not left or not rest:
        return found, []
    versions = {one.id: one for one in store.versions(rest[0].uid, limit=MOST_VERSIONS)}
    timed, ambiguous = by_times(left, rest, versions)
    return found + timed, ambiguous


def _without(records: Sequence[Record], found: Sequence[Joined]) -> list[Record]:
    gone = {one.record for one in found}
    return [one for one in records if one.id not in gone]
