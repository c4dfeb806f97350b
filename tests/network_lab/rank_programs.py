"""Three programs of ranks, as they are written with MPI: SUMMA, Johnson's product in three dimensions, a stencil.

Each rank starts with its part of the whole and ends with its part of the result; how ranks are numbered on a grid, and
which seat plays which rank, is the mapping, and changes no result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from math import lcm
from typing import Any, Protocol

import numpy

Array = numpy.ndarray[Any, numpy.dtype[numpy.float64]]
Grid = tuple[int, ...]
Part = tuple[slice, slice]
Step = tuple[tuple[tuple[int, float], ...], tuple[int, ...]]  # bytes for others, and from whom is heard
SIZE = 240
WIDE, FIELDS, STEPS = 48, 320, 4  # of the stencil: long messages, so that the network decides and not the processors


class Peers(Protocol):
    """The other ranks of a run."""

    rank: int

    def move(self, out: dict[int, Array], into: dict[int, tuple[int, ...]]) -> dict[int, Array]:
        """Send arrays to ranks and hear arrays of these shapes from others, all at once."""


class Alone:
    """No others: what a rank sends and hears is written down, and what it hears is nought."""

    def __init__(self, rank: int) -> None:
        self.rank, self.steps = rank, list[Step]()

    def move(self, out: dict[int, Array], into: dict[int, tuple[int, ...]]) -> dict[int, Array]:
        self.steps.append((tuple((other, float(array.nbytes)) for other, array in out.items()), tuple(into)))
        return {other: numpy.zeros(shape) for other, shape in into.items()}


def exchanged(name: str, grid: Grid) -> list[list[Step]]:
    """Return what each rank of a program sends and hears, step by step, which no numbers change."""
    ranks = [Alone(rank) for rank in range(int(numpy.prod(grid)))]
    for alone in ranks:
        PROGRAMS[name](alone, grid)
    return [alone.steps for alone in ranks]


@cache
def inputs() -> tuple[Array, Array]:
    """Return the two matrices that all runs begin with; nobody writes to them."""
    drawn = numpy.random.default_rng(23)
    return drawn.standard_normal((SIZE, SIZE)), drawn.standard_normal((SIZE, SIZE))


@cache
def fields() -> Array:
    """Return the fields that the stencil begins with."""
    return numpy.random.default_rng(24).standard_normal((FIELDS, WIDE, WIDE))


def place(rank: int, grid: Grid) -> tuple[int, ...]:
    """Return where a rank is on a grid; the last dimension runs fastest."""
    return tuple(int(at) for at in numpy.unravel_index(rank, grid))


def rank_at(at: tuple[int, ...], grid: Grid) -> int:
    """Return the rank of a place."""
    return int(numpy.ravel_multi_index(at, grid))


def _cut(index: int, parts: int, size: int = SIZE) -> slice:
    return slice(index * size // parts, (index + 1) * size // parts)


def _shared(peers: Peers, owner: int, members: list[int], own: Array | None, shape: tuple[int, ...]) -> Array:
    """Return what *owner* has, who sends it to each of the others."""
    if peers.rank == owner:
        assert own is not None
        peers.move({other: own for other in members if other != owner}, {})
        return own
    return peers.move({}, {owner: shape})[owner]


def summa(peers: Peers, grid: Grid) -> tuple[Part, Array]:
    """Multiply on p x q ranks: panels of A go along the rows of the grid, panels of B along its columns."""
    (rows, columns), (i, j) = grid, place(peers.rank, grid)
    a, b = inputs()
    part = (_cut(i, rows), _cut(j, columns))
    own_a, own_b, result = a[part], b[part], numpy.zeros(a[part].shape)
    panels = lcm(rows, columns)
    width = SIZE // panels
    for panel in range(panels):
        column, row = panel * columns // panels, panel * rows // panels
        at_a, at_b = panel * width - column * SIZE // columns, panel * width - row * SIZE // rows
        along_row = [rank_at((i, other), grid) for other in range(columns)]
        along_column = [rank_at((other, j), grid) for other in range(rows)]
        left = _shared(peers, rank_at((i, column), grid), along_row, own_a[:, at_a : at_a + width],
                       (result.shape[0], width))  # fmt: skip
        right = _shared(peers, rank_at((row, j), grid), along_column, own_b[at_b : at_b + width],
                        (width, result.shape[1]))  # fmt: skip
        result += left @ right
    return part, result


def johnson(peers: Peers, grid: Grid) -> tuple[Part, Array]:
    """Multiply on p x q x r ranks: each has one block of products, and sums of C go along the third dimension."""
    (rows, columns, depth), (i, j, k) = grid, place(peers.rank, grid)
    a, b = inputs()
    left = _shared(peers, rank_at((i, 0, k), grid), [rank_at((i, other, k), grid) for other in range(columns)],
                   a[_cut(i, rows), _cut(k, depth)], a[_cut(i, rows), _cut(k, depth)].shape)  # fmt: skip
    right = _shared(peers, rank_at((0, j, k), grid), [rank_at((other, j, k), grid) for other in range(rows)],
                    b[_cut(k, depth), _cut(j, columns)], b[_cut(k, depth), _cut(j, columns)].shape)  # fmt: skip
    result, first = left @ right, rank_at((i, j, 0), grid)
    part = (_cut(i, rows), _cut(j, columns))
    if k:
        peers.move({first: result}, {})
        return (slice(0, 0), slice(0, 0)), numpy.zeros((0, 0))
    others = [rank_at((i, j, other), grid) for other in range(1, depth)]
    heard = peers.move({}, {other: result.shape for other in others})
    return part, result + sum(heard[other] for other in others) if others else result


def stencil(peers: Peers, grid: Grid) -> tuple[Part, Array]:
    """Take the mean of the four neighbours in each field, step by step, on p x q tiles; what is outside is nought.

    The result is the sum of the fields.
    """
    (rows, columns), (i, j) = grid, place(peers.rank, grid)
    part = (_cut(i, rows, WIDE), _cut(j, columns, WIDE))
    own = fields()[:, part[0], part[1]]
    for _ in range(STEPS):
        wide = _framed(own)
        edges = dict(_edges(i, j, grid))
        out = {other: numpy.ascontiguousarray(own[inner]) for other, (inner, _) in edges.items()}
        heard = peers.move(out, {other: out[other].shape for other in edges})
        for other, (_, outer) in edges.items():
            wide[outer] = heard[other]
        own = _averaged(wide)
    return part, own.sum(axis=0)


def _edges(i: int, j: int, grid: Grid) -> Iterator[tuple[int, tuple[Any, Any]]]:
    """Yield the neighbours of a tile: which of its rows or columns each needs, and where the neighbour's go."""
    whole = slice(1, -1)
    if i:
        yield rank_at((i - 1, j), grid), (numpy.s_[:, 0, :], numpy.s_[:, 0, whole])
    if i + 1 < grid[0]:
        yield rank_at((i + 1, j), grid), (numpy.s_[:, -1, :], numpy.s_[:, -1, whole])
    if j:
        yield rank_at((i, j - 1), grid), (numpy.s_[:, :, 0], numpy.s_[:, whole, 0])
    if j + 1 < grid[1]:
        yield rank_at((i, j + 1), grid), (numpy.s_[:, :, -1], numpy.s_[:, whole, -1])


def _framed(own: Array) -> Array:
    return numpy.pad(own, ((0, 0), (1, 1), (1, 1)))


def _averaged(wide: Array) -> Array:
    return (wide[:, :-2, 1:-1] + wide[:, 2:, 1:-1] + wide[:, 1:-1, :-2] + wide[:, 1:-1, 2:]) / 4


@cache
def expected(name: str) -> Array:
    """Return what NumPy alone comes to."""
    a, b = inputs()
    if name != "stencil":
        return a @ b
    whole = fields()
    for _ in range(STEPS):
        whole = _averaged(_framed(whole))
    return whole.sum(axis=0)


def grids(name: str, ranks: int) -> list[Grid]:
    """Return the grids that a program may number so many ranks on."""
    dimensions = 3 if name == "johnson" else 2
    every = product(range(1, ranks + 1), repeat=dimensions)
    return [grid for grid in every if int(numpy.prod(grid)) == ranks]


PROGRAMS: dict[str, Callable[[Peers, Grid], tuple[Part, Array]]] = {
    "summa": summa,
    "johnson": johnson,
    "stencil": stencil,
}
