"""Submissions that are written together, and what one user may have of decisions: of SQLite and PostgreSQL alike."""

from __future__ import annotations

import pytest
from maple_daemon.store.protocol import Caps, NotKept, Store

from tests.daemon.store.jobs import record

NOW = 1e9


def test_submissions_written_together_are_each_kept_and_counted_once(store: Store) -> None:
    """Also one that comes twice, in one batch or in two."""
    store.keep_records([record("r1"), record("r2", codes=("MPL301", "MPL302")), record("r1", verdict="clean")])
    store.keep_records([record("r2"), record("r3", uid=1002)])
    store.keep_records([])
    assert sorted(one.id for one in store.records(1001)) == ["r1", "r2"]
    assert [one.verdict for one in store.records(1001) if one.id == "r1"] == ["repaired"]
    assert {one.code: one.jobs for one in store.counted()} == {"MPL301": 2, "MPL301+MPL302": 1}


def test_one_that_cannot_be_kept_costs_no_other_its_place(store: Store) -> None:
    """It is said once the others are written, and is not counted."""
    with pytest.raises(NotKept):
        store.keep_records([record("r1"), record("bad", uid=1 << 70), record("r2")])
    assert sorted(one.id for one in store.records(1001)) == ["r1", "r2"]
    assert [one.jobs for one in store.counted()] == [2]


def test_a_user_has_so_many_decisions_the_newest(store: Store) -> None:
    """Another's are left."""
    for number in range(10):
        store.keep_decision(b"%d" % number, 1001, b"learnt", NOW + number)
        store.keep_decision(b"o%d" % number, 1000 + number % 2 * 5, b"learnt", NOW + number)
    assert store.purge(NOW, Caps(decisions_of_user=6)).decisions == 4
    kept = [number for number in range(10) if store.decision(b"%d" % number, 1001)]
    assert kept == [4, 5, 6, 7, 8, 9]
