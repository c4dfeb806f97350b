"""What a store's ends come to, in both its forms: standings by user and lineage, learnt again without harm."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from maple_daemon.learn.lessons import take
from maple_daemon.learn.lineages import Standing
from maple_daemon.store.protocol import Store

from tests.daemon.store.jobs import outcome, record, version

CHANGE = "c" * 32
FAILED = {"started": 100.0, "ended": 120.0, "exit_code": 1}


def ended(store: Store, number: int, state: str, uid: int = 1001, **more: object) -> None:
    """A job that was submitted with the change, and ended."""
    told = {"change": CHANGE, "grounds": "g", "keys": (("MPL301", ""),), **more}
    store.keep_record(record("r%d" % number, uid=uid, **told))
    store.join("r%d" % number, uid, str(number), "filter")
    times = FAILED if state == "failed" else {}
    store.keep_outcomes([outcome(str(number), uid, state, **times)])


def stands(store: Store, uid: int = 1001, lineage: str = "train") -> str:
    """The state of the change."""
    return Standing.read(store.standing(uid, lineage, CHANGE)).state


def test_what_ended_is_learnt_for_its_user_and_lineage(store: Store) -> None:
    """And the ways back are gone."""
    store.keep_version(version())
    store.keep_version(version(uid=1002))
    ended(store, 1, "completed")
    assert take(store, 1e9) == 1 and stands(store) == "good"
    ended(store, 2, "failed")
    ended(store, 3, "failed", verdict="taken-back")
    assert take(store, 1e9) == 2 and stands(store) == "cleared"
    assert stands(store, 1002) == stands(store, 1001, "other") == "new"
    assert take(store, 1e9) == 0
    ended(store, 1, "failed", 1002)
    take(store, 1e9)
    assert (stands(store), stands(store, 1002)) == ("cleared", "taken-back")


@pytest.mark.parametrize("at", [0, 1])
def test_whoever_is_killed_in_between_learns_the_same_again(
    store: Store, opened: Callable[[], Store], monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    """Once; and each job counts once."""
    store.keep_version(version())
    ended(store, 1, "failed")

    def killed(*_: object) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(store, ("keep_standing", "settle")[at], killed)
        take(store, 1e9)
    assert stands(store) == ("new", "taken-back")[at]
    other = opened()
    assert take(other, 1e9) == 1 and stands(store) == "taken-back"
    assert [(one.state, one.jobs) for one in store.counted()] == [("failed", 1)]


@pytest.mark.parametrize("more", [{"change": ""}, {"version": ""}, {"version": "gone"}], ids=str)
def test_of_what_is_not_known_nothing_is_learnt_and_it_is_counted(store: Store, more: dict[str, str]) -> None:
    """Which change it was, or which job."""
    store.keep_version(version())
    ended(store, 1, "failed", **more)
    assert take(store, 1e9) == 1 and store.standings() == []
    assert [(one.state, one.jobs) for one in store.counted()] == [("failed", 1)]


def test_what_two_services_learn_at_once_is_not_lost(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one looks again."""
    store.keep_version(version())
    ended(store, 1, "completed")
    keep, calls = store.keep_standing, []

    def beaten(known: object, before: str) -> bool:
        if not calls:
            calls.append(1)
            other = Standing("taken-back", failed="9")
            assert keep(known._replace(standing=other.written()), before)  # type: ignore[attr-defined]
        return keep(known, before)  # type: ignore[arg-type]

    monkeypatch.setattr(store, "keep_standing", beaten)
    take(store, 1e9)
    found = Standing.read(store.standing(1001, "train", CHANGE))
    assert (found.state, found.ran, found.failed) == ("cleared", "1", "9")


def test_an_offer_that_was_not_taken_is_counted_as_declined(store: Store) -> None:
    """By the script that the scheduler has: as written, or as offered. Where nobody was asked, nobody declined."""
    store.keep_version(version())
    offer = {"verdict": "findings", "offered_hash": "cd" * 32}
    for number, more, ran in ((1, offer, "ab"), (2, offer, "cd"), (3, {"verdict": "findings"}, "ab"), (4, offer, "ef")):
        ended(store, number, "completed", **more)
        store.keep_outcomes([outcome(str(number), script_hash=ran * 32)])
    assert take(store, 1e9) == 4
    verdicts = {one.id: one.verdict for one in store.records(1001)}
    assert verdicts == {"r1": "declined", "r2": "accepted", "r3": "findings", "r4": "findings"}
    assert {one.verdict: one.jobs for one in store.counted()} == {"declined": 1, "accepted": 1, "findings": 2}
