"""How much one user may ask: by a clock of our own, so that nothing is waited for."""

from __future__ import annotations

import pytest
from maple_daemon.base.settings import BYTES_OF_REQUEST, SHARE, Bounds, Busy, Limits

BOUNDS = Bounds(rate=10.0, burst=20.0, open=2, all=3, held=8 << 20)


class Clock:
    """Tells what it was set to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def asks(limits: Limits, uid: int, most: int = 1000) -> int:
    """Return how many requests are taken of a uid in one moment."""
    for number in range(most):
        try:
            limits.ask(uid)
        except Busy:
            return number
    return most


def test_a_burst_is_taken_and_then_the_rate() -> None:
    """Whoever was turned away has lost nothing by asking; another user's share is another."""
    clock = Clock()
    limits = Limits(BOUNDS, clock)
    assert (asks(limits, 1), asks(limits, 1), asks(limits, 2)) == (20, 0, 20)
    clock.now = 0.55
    assert asks(limits, 1) == 5
    clock.now = 1000.0
    assert asks(limits, 1) == 20


def test_what_is_owed_for_long_requests_is_one_burst_at_most() -> None:
    """A user who sent the longest script a thousand times asks again after two bursts' time, and not after hours."""
    clock = Clock()
    limits = Limits(BOUNDS, clock)
    for _ in range(1000):
        limits.spend(1, 4 << 20)
    clock.now = 2.05
    assert asks(limits, 1) == 0
    clock.now = 2.15
    assert asks(limits, 1) == 1


def test_a_usual_request_costs_one_and_no_more() -> None:
    """What is longer counts by its length."""
    limits = Limits(BOUNDS, Clock())
    limits.spend(1, BYTES_OF_REQUEST)
    assert asks(limits, 1) == 20
    limits.spend(2, BYTES_OF_REQUEST * 6)
    assert asks(limits, 2) == 15


def test_connections_of_one_and_of_all_are_bounded_and_given_back() -> None:
    """One that was refused is none."""
    limits = Limits(BOUNDS, Clock())
    limits.enter(1)
    limits.enter(1)
    with pytest.raises(Busy, match="connections"):
        limits.enter(1)
    limits.enter(2)
    with pytest.raises(Busy, match="connections"):
        limits.enter(3)
    assert limits.connections == 3
    limits.leave(1)
    limits.enter(3)
    assert limits.connections == 3


def test_one_user_holds_an_eighth_of_the_bytes_but_always_one_request() -> None:
    """The first of a user's is taken as long as there is room at all."""
    limits = Limits(BOUNDS, Clock())
    share = BOUNDS.held // SHARE
    with limits.holding(share + 1, 1):
        with pytest.raises(Busy, match="memory"), limits.holding(1, 1):
            pass
        with pytest.raises(Busy, match="memory"), limits.holding(BOUNDS.held, 2):
            pass
        with limits.holding(share, 2):
            pass
    with (
        limits.holding(share // 2, 1), limits.holding(share // 2, 1),
        pytest.raises(Busy, match="memory"), limits.holding(1, 1),
    ):  # fmt: skip
        pass


def test_the_uids_that_are_remembered_are_bounded() -> None:
    """Those who asked longest ago are forgotten, and begin with a whole burst."""
    limits = Limits(BOUNDS, Clock())
    assert asks(limits, 1) == 20
    for uid in range(2, Limits.MOST_UIDS + 2):
        limits.ask(uid)
    assert asks(limits, 1) == 20 and asks(limits, Limits.MOST_UIDS + 1) == 19
