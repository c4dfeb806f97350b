"""Each rank measures its link to the next one alone, within bounds of time."""

from __future__ import annotations

from typing import Iterator

import pytest
from maple_miniapps import links

MOST = 1 << 22


class Neighbour(links.Wire):
    """A neighbour behind a link of so many bytes a second, on a clock of its own."""

    def __init__(self, *rates: float) -> None:
        self._rates = list(rates)
        self.now = 0.0
        self.sizes: list[int] = []
        self.said: list[bytes] = []

    def say(self, words: bytes) -> None:
        self.said.append(words)

    def hear(self) -> bytes:
        return b"node-2"

    def push(self, nbytes: int) -> None:
        self.sizes.append(nbytes)
        self.now += nbytes / (self._rates.pop(0) if len(self._rates) > 1 else self._rates[0])


@pytest.fixture
def timed(monkeypatch: pytest.MonkeyPatch):
    """Return a function that measures rank 0's link to a neighbour; None comes from the way back."""

    def measure(neighbour: Neighbour, timeout: float = 60) -> dict[str, object]:
        monkeypatch.setattr(links.time, "perf_counter", lambda: neighbour.now)
        (one,) = links.measured(links.Place(0, 2, "node-1"), neighbour, Answered(), MOST, timeout)
        return one

    return measure


class Answered(links.Wire):
    """The rank before, whose link takes no round."""

    def say(self, words: bytes) -> None:
        assert words == b"node-1"

    def hear(self) -> bytes:
        return b"0"


@pytest.mark.parametrize("size", range(2, 10))
def test_no_rank_is_on_two_links_at_once_and_every_link_has_its_turn(size):
    turns: dict[int, list[int]] = {}
    for rank in range(size):
        turns.setdefault(links.turn_of(rank, size), []).extend((rank, (rank + 1) % size))
    assert all(len(set(ranks)) == len(ranks) for ranks in turns.values())
    assert sorted(turns) == list(range(2 + size % 2)) and sum(map(len, turns.values())) == 2 * size


def test_the_best_round_of_the_largest_size_counts(timed):
    neighbour = Neighbour(9e9, 1e9, 1e9, 1e9, 2e8, 1.5e9, 1e9)
    assert timed(neighbour) == {
        "to": 1, "to_host": "node-2", "bytes": MOST, "seconds": 0.002796, "bytes_per_second": 1_500_000_000,
    }  # fmt: skip
    assert neighbour.sizes == [1 << 16, 1 << 18, 1 << 20, *[MOST] * links.ROUNDS]
    assert neighbour.said[-1] == b"0"


@pytest.mark.parametrize("rate", [2e5, 1.2e6, 5e6, 2e7, 1e8])
def test_a_slow_link_loses_rounds_and_no_phase_its_time(timed, rate):
    """`verify` gives the phases of `dry` two seconds and more; its collectives end in time from 2 MB/s on."""
    neighbour = Neighbour(rate)
    found = timed(neighbour)
    assert found["bytes_per_second"] == pytest.approx(rate, rel=1e-3) and found["bytes"] == neighbour.sizes[-1]
    assert neighbour.now < max(5 * links.PATIENCE, 2 * (1 << 16) / rate)


@pytest.mark.parametrize("timeout", [2.0, 5.0, 60.0])
def test_three_slow_turns_fit_into_a_phase(timed, timeout):
    neighbour = Neighbour(2e6)
    timed(neighbour, timeout)
    assert 3 * neighbour.now < timeout


def test_a_link_that_takes_no_time_has_a_rate(timed):
    assert timed(Neighbour(float("inf")))["bytes_per_second"] > 0


def test_a_rank_alone_has_no_link():
    assert links.measured(links.Place(0, 1, "node-1"), links.Wire(), links.Wire(), MOST, 60) == []


def test_a_host_of_any_name_fits_into_a_message():
    said: Iterator[bytes] = iter([b"ready", b"0"])

    class Asks(links.Wire):
        def hear(self) -> bytes:
            return next(said)

        def say(self, words: bytes) -> None:
            assert len(words) == links.WORDS

    class Silent(Neighbour):
        def hear(self) -> bytes:
            return b"\xff"

    (one,) = links.measured(links.Place(1, 2, "é" * 200), Silent(1e9), Asks(), 1 << 16, 60)
    assert one["to"] == 0 and one["to_host"] == "\ufffd"
