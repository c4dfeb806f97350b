"""Joining what was told to what the store has of the same user, in one change of the store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from maple_submit_filter.types.job_records import Outcome, Record

from ..store.protocol import Store
from . import join
from .events import Submitted

WAITED = 3600.0  # seconds that sbatch may have waited for its controller
MONTH = 30 * join.DAY  # that a job may have waited in its queue, where its submission is not told
MOST_VERSIONS = 1000
SETTLED = 10.0  # seconds after a submission until each one of that moment has its record


class Kept(NamedTuple):
    """What one change of the store came to. *joined*: by how; *ambiguous*: jobs that two records may be."""

    new: int
    joined: list[join.Joined]
    ambiguous: list[Outcome]


def keep(
    store: Store, told: Sequence[Submitted], ends: Sequence[Outcome], waiting: Sequence[Outcome], now: float
) -> Kept:
    """Put into the store what was told, and join what can be joined exactly. *waiting*: ends without a record yet."""
    new = store.keep_outcomes(ends) if ends else 0
    joined: list[join.Joined] = []
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
    submitted = [(now - MONTH if one.submitted is None else one.submitted) - join.SAME_RECORD for one in ends]
    return min([one.at - WAITED for one in told] + submitted)


def _joined(
    told: Sequence[Submitted], ends: Sequence[Outcome], records: list[Record], store: Store, now: float
) -> tuple[list[join.Joined], list[Outcome]]:
    """Return what one user's submissions became, the exact ways first, and the jobs that could not be told apart."""
    found = join.by_process(told, records)
    for one in ends:
        named = join.by_record(one, _without(records, found))
        if named is not None:
            found.append(named)
    jobs = {one.job for one in found} | {one.job for one in told}
    left = [one for one in ends if one.job not in jobs and one.submitted is not None and now - one.submitted > SETTLED]
    rest = _without(records, found)
    if not left or not rest:
        return found, []
    versions = {one.id: one for one in store.versions(rest[0].uid, limit=MOST_VERSIONS)}
    by_times, ambiguous = join.by_times(left, rest, versions)
    return found + by_times, ambiguous


def _without(records: Sequence[Record], found: Sequence[join.Joined]) -> list[Record]:
    gone = {one.record for one in found}
    return [one for one in records if one.id not in gone]
