"""The programs that the lab times: their results do not depend on the grid that ranks are numbered on."""

from __future__ import annotations

import threading
from queue import Queue

import numpy
import pytest

from tests.network_lab import products
from tests.network_lab.rank_programs import PROGRAMS, Array, Grid, Part, expected, grids

RANKS = 8


class Threads:
    """Ranks that are threads, with a queue for each pair."""

    def __init__(self, rank: int, queues: dict[tuple[int, int], Queue[Array]]) -> None:
        self.rank, self.queues = rank, queues

    def move(self, out: dict[int, Array], into: dict[int, tuple[int, ...]]) -> dict[int, Array]:
        for other, array in out.items():
            self.queues[self.rank, other].put(array)
        heard = {other: self.queues[other, self.rank].get(timeout=20) for other in into}
        assert {other: array.shape for other, array in heard.items()} == into
        return heard


def _run(name: str, grid: Grid) -> Array:
    queues: dict[tuple[int, int], Queue[Array]] = {(one, two): Queue() for one in range(RANKS) for two in range(RANKS)}
    made: list[tuple[Part, Array]] = []
    threads = [
        threading.Thread(target=lambda rank=rank: made.append(PROGRAMS[name](Threads(rank, queues), grid)))
        for rank in range(RANKS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    whole = numpy.full(expected(name).shape, numpy.nan)
    for part, array in made:
        whole[part] = array
    return whole


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_grid_comes_to_what_numpy_comes_to(name: str) -> None:
    """Products up to the order of sums; the stencil to the last bit."""
    for grid in grids(name, RANKS):
        made = _run(name, grid)
        numpy.testing.assert_allclose(made, expected(name), rtol=0 if name == "stencil" else 1e-10, atol=1e-10)


def test_every_point_gives_each_rank_a_seat_of_its_own() -> None:
    """A mapping is a permutation, whatever the way and the order of nodes."""
    points = products.Table(grids("summa", RANKS), {}).points()
    assert len(points) == len(set(map(products.key, points))) == 192
    assert all(sorted(products.seats(way, nodes)) == list(range(RANKS)) for _, way, nodes in points)
