"""How jobs ended is counted once, by whoever comes first, and the sums of a day are right all the time."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from maple_daemon.store.protocol import Candidate, Caps, Counted, Known, Store

from tests.daemon.store.jobs import outcome, record

NOW = 1e9
DAY = time.strftime("%Y-%m-%d", time.gmtime(NOW))


def states(store: Store) -> dict[str, int]:
    """Jobs by the state that they are counted with."""
    found: dict[str, int] = {}
    for one in store.counted():
        assert (one.day, one.partition, one.verdict) == (DAY, "gpu", "repaired")
        found[one.state] = found.get(one.state, 0) + one.jobs
    return found


def submitted(store: Store, number: int, **other: object) -> None:
    """One submission that became a job."""
    store.keep_record(record("r%d" % number, **{"place": "gpu", **other}))
    store.join("r%d" % number, 1001, str(number), "filter")


def test_an_end_is_counted_once_and_a_later_word_moves_it(store: Store) -> None:
    """Whether the end is heard before the job is known, or after; a record that is kept twice counts once."""
    for number in range(3):
        submitted(store, number)
        submitted(store, number)
    assert states(store) == {"": 3} and store.due() == []
    store.keep_outcomes([outcome("0"), outcome("1", state="unknown"), outcome("2", state="running")])
    store.keep_record(record("r3", place="gpu"))
    store.keep_outcomes([outcome("3", state="failed")])
    store.join("r3", 1001, "3", "filter")
    found = store.due()
    assert sorted(one.record.id for one in found) == ["r0", "r1", "r3"]
    assert all(store.settle(one, "") for one in found)
    assert not any(store.settle(one, "") for one in found)
    assert states(store) == {"": 1, "completed": 1, "unknown": 1, "failed": 1} and store.due() == []
    store.keep_outcomes([outcome("1", state="failed"), outcome("0")])
    assert [store.settle(one, "") for one in store.due()] == [True, True]
    assert states(store) == {"": 1, "completed": 1, "failed": 2}


def test_a_submission_is_counted_and_moved_once_with_all_its_rules(store: Store) -> None:
    """And one without any counts as that."""
    submitted(store, 1, codes=("MPL203", "MPL301"))
    submitted(store, 2, codes=())
    store.keep_outcomes([outcome("1"), outcome("2")])
    assert all(store.settle(one, "") for one in store.due())
    wanted = [Counted(DAY, code, "gpu", "repaired", "completed", 1) for code in ("", "MPL203+MPL301")]
    assert store.counted() == wanted


def test_a_verdict_that_is_known_late_is_counted_in_place_of_the_first(store: Store) -> None:
    """Whether an offer was taken, only the job tells; and what somebody else wrote meanwhile is not overwritten."""
    submitted(store, 1, verdict="findings")
    store.keep_outcomes([outcome("1")])
    (early,) = store.due()
    assert store.move_record("r1", 1001, "v2")
    assert not store.settle(early, "ran", "accepted")
    assert store.settle(store.due()[0], "ran", "accepted")
    assert store.counted() == [Counted(DAY, "MPL301", "gpu", "accepted", "completed", 1)]
    assert [(one.verdict, one.version) for one in store.records(1001)] == [("accepted", "v2")]
    store.keep_outcomes([outcome("1", state="failed")])
    assert store.settle(store.due()[0], "failed")
    assert store.counted() == [Counted(DAY, "MPL301", "gpu", "accepted", "failed", 1)]


def test_an_end_that_changed_since_it_was_looked_at_is_looked_at_again(store: Store) -> None:
    """Of two words the later one is counted."""
    submitted(store, 1)
    store.keep_outcomes([outcome("1", state="unknown")])
    (early,) = store.due()
    store.keep_outcomes([outcome("1", state="failed")])
    assert not store.settle(early, "")
    assert states(store) == {"": 1}
    assert store.settle(store.due()[0], "") and states(store) == {"failed": 1}


def test_of_two_services_one_counts(opened: Callable[[], Store]) -> None:
    """Both have looked at the same moment."""
    one, other = opened(), opened()
    submitted(one, 1, keys=(("MPL301", ""),))
    one.keep_outcomes([outcome("1")])
    (mine,), (theirs,) = one.due(), other.due()
    assert [one.settle(mine, "ran"), other.settle(theirs, "ran")] == [True, False]
    assert states(other) == {"completed": 1}
    assert one._run.rows("SELECT ran, failed FROM tried") == [(1, 0)]  # type: ignore[attr-defined]


def test_rules_are_counted_over_users_and_told_where_enough_have_them_in_common(store: Store) -> None:
    """A second word about a job does not count it twice; who they are is in nothing that is told."""
    for uid in (1, 2, 3):
        for number, ended in enumerate(("ran", "failed", "")):
            store.keep_record(
                record("r%d" % number, uid=uid, keys=(("MPL307", "a revision 2"), ("MPL%d" % uid, "x"))[: 3 - number])
            )
            store.join("r%d" % number, uid, str(number), "filter")
            store.keep_outcomes([outcome(str(number), uid, "failed")])
            assert store.settle(store.due()[0], ended)
            store.keep_outcomes([outcome(str(number), uid, "completed")])
            assert store.settle(store.due()[0], ended)
    assert store.candidates(3) == [Candidate("MPL307", "a revision 2", 3, 3, 3)]
    assert store.candidates(4) == [] and store.candidates(1) == store.candidates(3)
    store.purge(NOW, Caps(), uid=2)
    assert store.candidates(3) == [] and store.purges() == 1


def test_what_somebody_else_made_of_a_change_meanwhile_is_not_overwritten(store: Store) -> None:
    """Nor does another user see it."""
    one = Known(1001, "train", "c1", NOW, "first")
    assert store.keep_standing(one, "") and not store.keep_standing(one._replace(standing="second"), "")
    assert not store.keep_standing(one._replace(standing="third"), "other")
    assert store.keep_standing(one._replace(standing="third", at=NOW + 5), "first")
    assert store.standing(1001, "train", "c1") == "third"
    assert store.standing(1002, "train", "c1") == store.standing(1001, "other", "c1") == ""
    assert store.standings(NOW + 1) == [one._replace(standing="third", at=NOW + 5)] and store.standings(NOW + 6) == []


@pytest.mark.parametrize("days, left", [(180, 1), (1, 0)])
def test_what_is_too_old_goes(store: Store, days: int, left: int) -> None:
    """Like all that belongs to a user."""
    store.keep_standing(Known(1001, "train", "c1", NOW, "x"), "")
    submitted(store, 1, keys=(("MPL301", ""),))
    store.keep_outcomes([outcome("1")])
    assert store.settle(store.due()[0], "ran")
    store.purge(NOW + 5 * 86400, Caps(days=days))
    tried = store._run.rows("SELECT 1 FROM tried")  # type: ignore[attr-defined]
    assert (len(store.standings()), len(tried)) == (left, left)
