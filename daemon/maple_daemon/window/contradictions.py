"""Where outcomes speak against a rule, or against what the site file says, or lacks."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable

from maple_submit_filter.types.job_records import Record

from ..install.report.store import CHANGED, FAILED, RAN
from ..outcomes.join import without_jobs
from ..store.protocol import BETWEEN, Counted, Store
from .shapes import AsWritten, Refused


def as_written(rows: Iterable[Counted]) -> list[AsWritten]:
    """Return how jobs ended of which a rule had found something that was not changed, those that ran most first."""
    sums: dict[str, Counter[str]] = {}
    for counted in rows:
        if counted.code and counted.verdict not in (*CHANGED, "trial"):
            ended = "ran" if counted.state in RAN else "failed" if counted.state in FAILED else ""
            for code in counted.code.split(BETWEEN):
                sums.setdefault(code, Counter())[ended] += counted.jobs
    rows_ = (AsWritten(code=code, ran=number["ran"], failed=number["failed"]) for code, number in sums.items())
    return sorted((row for row in rows_ if row["ran"]), key=lambda row: (-row["ran"], row["code"]))


def refused_since(store: Store, first: str, now: datetime.datetime) -> list[Refused]:
    moment = datetime.datetime.fromisoformat(first.replace("Z", "+00:00")).timestamp()
    return refused(without_jobs(store.unjoined(moment), store.joined(), now.timestamp()))


def refused(records: Iterable[Record]) -> list[Refused]:
    """Return the submissions that became no job, by partition; one that its user ended at the question is none."""
    sums: dict[str, Counter[bool]] = {}
    for record in records:
        if record.joined == "none" and record.verdict != "trial" and not record.offered_hash:
            sums.setdefault(record.place, Counter())[not record.codes] += 1
    rows = (Refused(partition=place, submissions=sum(by.values()), unseen=by[True]) for place, by in sums.items())
    return sorted(rows, key=lambda row: (-row["unseen"], -row["submissions"], row["partition"]))
