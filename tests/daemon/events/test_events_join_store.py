"""What is told is joined in the store: of one user's own records, also of a job that waited for days."""

from __future__ import annotations

import pytest
from maple_daemon.outcomes.events import Submitted
from maple_daemon.outcomes.join import keep
from maple_daemon.store.protocol import Store
from maple_submit_filter.types.job_records import Outcome, Record, Version

HASH = "a" * 64
NOW = 1_795_330_000.0
DAYS = 3 * 86400.0


@pytest.fixture
def store(memory: Store) -> Store:
    """A store with one version and no records."""
    for uid in (1, 2):
        memory.keep_version(
            Version("v", "l", "", uid, NOW - DAYS, "slurm", "/w/job.sh", "job", "/w", (), b"#!/bin/sh\n", HASH)
        )
    return memory


def submit(store: Store, number: int, at: float, uid: int = 1, hashed: str = "") -> Record:
    """Put a submission into the store."""
    name = "%016x" % number
    made = Record(name, "v", uid, at, "login1", number, 5, "repair", "clean", (), "memory", hashed)
    store.keep_record(made)
    return made


def end(job: str, at: float, uid: int = 1, **more: object) -> Outcome:
    """A job's end, now."""
    made = Outcome(job, "failed", uid, "test", 1, submitted=at, ended=NOW, name="job", workdir="/w", script_hash=HASH)
    return made._replace(**more)  # type: ignore[arg-type]


def test_a_job_that_waited_for_days_is_joined(store: Store) -> None:
    """By its times, or by the record in its last line; its end is known with the record then."""
    submit(store, 1, NOW - DAYS)
    submit(store, 2, NOW - DAYS, hashed="b" * 64)
    ends = [
        end("7", NOW - DAYS), end("8", NOW - DAYS, record="%016x" % 2, script_hash="b" * 64),
    ]  # fmt: skip
    kept = keep(store, [], ends, ends, NOW)
    assert {(one.record[-1], one.job, one.how) for one in kept.joined} == {("1", "7", "times"), ("2", "8", "record")}
    assert [one.outcome and one.outcome.state for one in store.records(1)] == ["failed", "failed"]


def test_times_are_not_looked_at_before_all_of_that_moment_are_written(store: Store) -> None:
    """A second equal submission may be on its way into the store."""
    submit(store, 1, NOW - 3)
    ends = [end("7", NOW - 3)]
    assert keep(store, [], ends, ends, NOW).joined == []
    submit(store, 2, NOW - 3)
    later = keep(store, [], [], ends, NOW + 60)
    assert later.joined == [] and later.ambiguous == ends


def test_one_users_word_reaches_no_record_of_another(store: Store) -> None:
    """Whatever he names: process, record, time or script."""
    other = submit(store, 1, NOW - 60)
    told = [Submitted("7", 1, 5, "login1", 2, NOW - 60)]
    ends = [end("7", NOW - 60, 2, record=other.id)]
    assert keep(store, told, ends, ends, NOW).joined == []
    (one,) = store.records(1)
    assert (one.job, one.outcome) == ("", None)


def test_a_job_is_joined_once(store: Store) -> None:
    """A word that comes again, or contradicts, changes nothing."""
    submit(store, 1, NOW - 60)
    submit(store, 2, NOW - 60)
    assert len(keep(store, [Submitted("7", 1, 5, "login1", 1, NOW - 60)], [], [], NOW).joined) == 1
    assert keep(store, [Submitted("7", 1, 5, "login1", 1, NOW - 60)], [], [], NOW).joined == []
    assert keep(store, [Submitted("8", 1, 5, "login1", 1, NOW - 60)], [], [], NOW).joined == []
    assert keep(store, [Submitted("7", 2, 5, "login1", 1, NOW - 60)], [], [], NOW).joined == []
    assert sorted(one.job for one in store.records(1)) == ["", "7"]
