"""Which job gets which GPUs, by evolution: states of the cluster are bred, mended and judged by two measures.

The operators are those of Pollux (Qiao et al., OSDI '21); selection is NSGA-II (Deb et al., 2002).
A state is a matrix of GPUs: jobs by nodes; a population has one more axis in front.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Callable, NamedTuple

import numpy as np
from numpy.typing import NDArray

States = NDArray[np.int16]
Floats = NDArray[np.float64]
Measure = Callable[[States], Floats]  # two numbers a state, more is better
POPULATION = 100
GENERATIONS = 100  # the first among them
TRIES = 8  # matings till as many new states are found
CROSSED = 0.9
RESET = 0.1  # of rows that go back to what runs, and of rows that lose elements
LOST = 0.1  # of the elements of such a row


class Limits(NamedTuple):
    """What a state may hold: GPUs a node, and GPUs a job."""

    node: int
    jobs: NDArray[np.int16]


class Judged(NamedTuple):
    """A population with its measures, the rank of its fronts (0: nothing is better) and how alone each state is."""

    states: States
    values: Floats
    ranks: NDArray[np.int64]
    crowding: Floats

    def front(self) -> States:
        """Return the states that nothing is better than in both measures."""
        first: States = self.states[self.ranks == 0]
        return first

    def best(self) -> States:
        """Return, of these, the state that is best in the first measure."""
        first = np.where(self.ranks == 0, self.values[:, 0], -np.inf)
        chosen: States = self.states[int(first.argmax())]
        return chosen


def evolve(first: States, running: States, limits: Limits, measure: Measure, chance: np.random.Generator) -> Judged:
    """Return the population that has grown from *first* around the state that is *running*."""
    population = survive(_distinct(mended(first, limits, chance), set()), measure)
    for _ in range(GENERATIONS - 1):
        known = {state.tobytes() for state in population.states}
        newcomers: list[States] = []
        for _ in range(TRIES):
            missing = POPULATION - sum(map(len, newcomers))
            if missing <= 0:
                break
            children = mended(_mutated(_crossed(population, chance), running, limits, chance), limits, chance)
            newcomers.append(_distinct(children, known)[:missing])
        population = survive(np.concatenate([population.states, *newcomers]), measure, population.values)
    return population


def survive(states: States, measure: Measure, values: Floats | None = None) -> Judged:
    """Return the best of *states*; *values*: the measures of the first of them, where they are known."""
    before = np.empty((0, 2)) if values is None else values
    values = np.concatenate([before, measure(states[len(before) :])])
    ranks = _fronts(values)
    crowding = _alone(values, ranks)
    order = np.lexsort((-crowding, ranks))[:POPULATION]
    return Judged(states[order], values[order], ranks[order], crowding[order])


def mended(states: States, limits: Limits, chance: np.random.Generator) -> States:
    """Return *states* with at most one job of several nodes on a node, and no limit exceeded.

    What stands above comes first: rows are in the order in which jobs are favoured.
    """
    states = states.copy()
    used = states > 0
    wide = used.sum(axis=2) > 1
    states[np.cumsum(used & wide[:, :, None], axis=1, dtype=np.int16) > 1] = 0
    over = states.sum(axis=2) > limits.jobs
    if over.any():
        rows = states[over]
        order = np.argsort(chance.random(rows.shape), axis=1)
        most = np.broadcast_to(limits.jobs, over.shape)[over][:, None]
        capped = _capped(np.take_along_axis(rows, order, axis=1), most, 1)
        np.put_along_axis(rows, order, capped, axis=1)
        states[over] = rows
    return _capped(states, np.int16(limits.node), 1)


def _capped(values: States, most: NDArray[np.int16] | np.int16, axis: int) -> States:
    """Return *values* with their running sum along *axis* kept at *most*."""
    sums = np.minimum(np.cumsum(values, axis=axis, dtype=np.int16), most)
    changed: States = np.diff(sums, axis=axis, prepend=np.int16(0))
    return changed


def _distinct(states: States, known: set[bytes]) -> States:
    """Return those of *states* that are neither *known* nor twice among them; they are known from now on."""
    kept = []
    for at, state in enumerate(states):
        key = state.tobytes()
        if key not in known:
            known.add(key)
            kept.append(at)
    return states[kept]


def _crossed(population: Judged, chance: np.random.Generator) -> States:
    """Return children of parents by tournament: the rows above a cut change places between two."""
    children = population.states[_tournament(population, chance)]
    half, jobs = POPULATION // 2, children.shape[1]
    cuts = np.where(chance.random(half) < CROSSED, chance.integers(0, jobs, half), 0)
    moved = (np.arange(jobs)[None, :] < cuts[:, None])[:, :, None]
    left, right = children[:half], children[half:]
    return np.concatenate([np.where(moved, right, left), np.where(moved, left, right)])


def _tournament(population: Judged, chance: np.random.Generator) -> NDArray[np.int64]:
    """Return as many winners of pairs as a population has: the better in both, or the more alone, or either."""
    first, second = chance.integers(0, len(population.states), (2, POPULATION))
    winner, other = population.values[first], population.values[second]
    better = ((winner >= other).all(axis=1) & (winner > other).any(axis=1)) * 1.0
    better -= ((other >= winner).all(axis=1) & (other > winner).any(axis=1)) * 1.0
    alone = np.where(np.isinf(population.crowding), 1e9, population.crowding)
    score = np.where(better != 0, better, np.sign(alone[first] - alone[second]))
    score = np.where(score != 0, score, chance.choice((-1.0, 1.0), POPULATION))
    winners: NDArray[np.int64] = np.where(score > 0, first, second)
    return winners


def _mutated(states: States, running: States, limits: Limits, chance: np.random.Generator) -> States:
    """Return *states* with rows as they run, elements lost, and elements that take of what is free on their node."""
    count, jobs, _ = states.shape
    states = np.where(chance.random((count, jobs, 1)) < RESET, running, states)
    lossy = chance.random((count, jobs, 1)) < RESET
    states = np.where(lossy & (chance.random(states.shape) < LOST), np.int16(0), states)
    free = (states.sum(axis=1) < limits.node)[:, None, :]
    used = states > 0
    any_job = 1 / jobs
    own = np.where(used, 1 / np.maximum(used.sum(axis=1, keepdims=True), 1), 0.0)
    redrawn = free & (chance.random(states.shape) < any_job + own - any_job * own)
    drawn = states + chance.random(states.shape) * (limits.node + 1 - states)
    return np.where(redrawn, drawn.astype(np.int16), states)


def _fronts(values: Floats) -> NDArray[np.int64]:
    """Return the rank of each state: 0 where nothing is better in both measures, 1 where only such are, and so on."""
    ranks = np.empty(len(values), dtype=np.int64)
    heights: list[float] = []  # of the second measure in each front, negative: the first is the highest
    before, rank = (np.inf, np.inf), 0
    for at in np.lexsort((-values[:, 1], -values[:, 0])).tolist():
        here = (values[at, 0], values[at, 1])
        if here != before:
            rank = bisect_right(heights, -here[1])
            heights[rank : rank + 1] = [-here[1]]
        ranks[at], before = rank, here
    return ranks


def _alone(values: Floats, ranks: NDArray[np.int64]) -> Floats:
    """Return the crowding distance of each state: how far its neighbours in its front are in both measures."""
    distance = np.zeros(len(values))
    for column in values.T:
        order = np.lexsort((column, ranks))
        ranked, fronts = column[order], ranks[order]
        edge = np.diff(fronts, prepend=-1, append=-1) != 0
        first, last = edge[:-1], edge[1:]
        width = np.maximum.reduceat(ranked, np.flatnonzero(first)) - np.minimum.reduceat(ranked, np.flatnonzero(first))
        gap = np.roll(ranked, -1) - np.roll(ranked, 1)
        wide = width[fronts]
        share = np.divide(gap, wide, out=np.zeros_like(gap), where=wide > 0)
        distance[order] += np.where(first | last, np.inf, share)
    return distance
