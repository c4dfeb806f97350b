"""Real programs on the lab under every mapping that the language can say: `python -m tests.network_lab.products`.

The mapping is the grid that ranks are numbered on, the way in which they are dealt to nodes, and the order of the
nodes, of which the last has half the rate. Every run's result is compared with NumPy's. Each point is timed three
times, far apart, and the median counts; searchers take their trials from these times, five seeds each, so what is tried
twice is looked up. What they found is timed five times more.
"""

from __future__ import annotations

import base64
import json
import os
import random
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy
from maple_agents.mapping import steps

from tests.agents.mapping import search
from tests.network_lab.lab import Lab, Rates, capacity, tracked
from tests.network_lab.measure import spearman
from tests.network_lab.rank_programs import PROGRAMS, Grid, exchanged, expected, grids
from tests.network_lab.recorded_times import EACH, NODES, Point, Table, keep, key, seats

SEAT = Path(__file__).with_name("rank_seat.py")
PASSES = 3
UNDER_WAY = search.ROOT / "build" / "bench-mapping" / "passes.json"
SLOW = (NODES - 1,)
RATES = Rates(30e6, 0.0, 5.6e6, 0.0)  # as the lab finds its own, and no delays


def timed(lab: Lab, name: str, grid: Grid, seat_of: Sequence[int]) -> float:
    """Return the seconds of the slowest rank; raises `ValueError` where the result is not NumPy's."""
    answers = lab.answers([
        {"program": name, "grid": grid, "rank": seat_of.index(seat), "seat_of": list(seat_of)}
        for seat in range(len(seat_of))
    ])  # fmt: skip
    wanted = expected(name)
    whole = numpy.full(wanted.shape, numpy.nan)
    slowest = 0.0
    for answer in answers:
        seconds, (top, bottom, left, right), data = json.loads(answer)
        slowest = max(slowest, seconds)
        part = numpy.frombuffer(base64.b64decode(data)).reshape(bottom - top, right - left)
        whole[top:bottom, left:right] = part
    if not numpy.allclose(whole, wanted, rtol=1e-10, atol=1e-10):
        raise ValueError(f"{name} on {grid}, seats {seat_of}: the result is not that of NumPy")
    return slowest


def measured(lab: Lab, passes: int) -> dict[str, Table]:
    """Return the times of all points of all programs, timed in an order that tells nothing.

    Passes that are done are kept, so that a run that was broken off goes on behind them.
    """
    tables = {name: Table(grids(name, NODES * EACH), {}, name) for name in PROGRAMS}
    points = [(name, point) for name, table in tables.items() for point in table.points()]
    done: list[dict[str, float]] = json.loads(UNDER_WAY.read_text()) if UNDER_WAY.exists() else []
    for turn in range(len(done), passes):
        random.Random(turn).shuffle(points)
        done.append({
            f"{name} {key(point)}": timed(lab, name, tables[name].orders[point[0]], seats(*point[1:]))
            for name, point in tracked(points, f"programs, pass {turn + 1} of {passes}")
        })  # fmt: skip
        UNDER_WAY.parent.mkdir(parents=True, exist_ok=True)
        UNDER_WAY.write_text(json.dumps(done))
    UNDER_WAY.unlink()
    for name, point in points:
        tables[name].times[key(point)] = statistics.median(each[f"{name} {key(point)}"] for each in done)
    return tables


def spread(table: Table) -> float:
    """Return how far a mapping's time is from that of its like, as a part of it: half of them are nearer.

    Nodes of one rate may change places and nothing else changes, so what differs then is the measurement.
    """
    alike: dict[tuple[int, str, int], list[float]] = {}
    for order, way, nodes in table.points():
        alike.setdefault((order, way, nodes.index(NODES - 1)), []).append(table.seconds(order, way, nodes))
    return statistics.median(
        abs(one - middle) / middle for each in alike.values() for middle in [statistics.median(each)] for one in each
    )


def followed(table: Table) -> float:
    """Return the rank correlation of a program's times with the estimate by steps."""
    estimates = estimated(table.program)
    return spearman([table.times[point] for point in estimates], list(estimates.values()))


def as_written(table: Table, seed: int, most: int) -> Iterator[float]:
    """Yield the time of the most even grid in blocks, nodes as given."""
    evenest = min(range(len(table.orders)), key=lambda order: sum(table.orders[order]))
    yield table.seconds(evenest, "block", range(NODES))


def enumeration(table: Table, seed: int, most: int) -> Iterator[float]:
    """Yield all points, shuffled."""
    points = table.points()
    random.Random(seed).shuffle(points)
    yield from (table.seconds(*point) for point in points)


def tuned(table: Table, seed: int, most: int) -> Iterator[float]:
    """Yield all points as `maple map tune` has them: those that the estimate by steps takes for the best come first."""
    points, estimates = table.points(), estimated(table.program)
    random.Random(seed).shuffle(points)  # of alike ones, any is first
    for point in sorted(points, key=lambda point: round(estimates[key(point)], 6)):
        yield table.seconds(*point)


@cache
def estimated(program: str) -> dict[str, float]:
    """Return the estimate by steps of each point of a program: its messages over the links of the lab."""
    table = Table(grids(program, NODES * EACH), {})
    sent = [exchanged(program, grid) for grid in table.orders]
    said = {}
    for point in table.points():
        nodes = [seat // EACH for seat in seats(point[1], point[2])]
        said[key(point)] = steps.played(sent[point[0]], capacity(RATES, nodes, SLOW), steps.FEW)
    return said


SEARCHERS: dict[str, Callable[[Table, int, int], Iterator[float]]] = {
    "as written": as_written,
    "enumeration": enumeration,
    "best estimate first": tuned,
    "hill climbing": search.climbing,  # type: ignore[dict-item]
    "Nevergrad": search.nevergrad,  # type: ignore[dict-item]
    "OpenTuner": search.opentuner,  # type: ignore[dict-item]
}


def runs(name: str, table: Table) -> list[list[float]]:
    """Return the times of each seed's trials; another's in its own environment, [] where that is not at hand."""
    if name not in search.OTHERS:
        return [list(SEARCHERS[name](table, seed, search.AFTER[-1])) for seed in range(search.SEEDS)]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump([table.orders, table.times], file)
        file.flush()
        return search.of_other("tests.network_lab.products", name, file.name)


def rows(name: str, table: Table, again: Callable[[Point], float]) -> Iterator[str]:
    """Yield the lines of a program: best after 10, 100 and 1,000 trials, the median of the seeds, in milliseconds."""
    by_time = {table.times[key(point)]: point for point in table.points()}
    for searcher in SEARCHERS:
        made = runs(searcher, table)
        if not made:
            yield f"| {name} | {searcher} | not at hand | | | |"
            continue
        medians = [statistics.median(one) for one in zip(*map(search.best_after, made))]
        found = by_time[min(map(min, made))]
        times = " | ".join(f"{1000 * value:.0f}" for value in medians)
        where = f"{'x'.join(map(str, table.orders[found[0]]))}, {found[1]}, nodes {found[2]}"
        yield f"| {name} | {searcher} | {times} | {1000 * again(found):.0f} ({where}) |"


def report(passes: int = PASSES) -> Iterator[str]:
    """Measure all programs, and yield the lines of the table; times are kept where they are medians of three passes."""
    from tests.agents.mapping import proposers  # which the environment of the others cannot load

    yield f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; eight ranks, the last node at half the rate"
    yield "| Program | Searcher | 10 | 100 | 1,000 | its best, timed five times more |\n|---|---|---|---|---|---|"
    with Lab(NODES, EACH, SEAT, slow=SLOW) as lab:
        tables = measured(lab, passes)
        if passes >= PASSES:
            keep(tables, os.getloadavg()[0])
        for name, table in tables.items():

            def again(point: Point, name: str = name, table: Table = table) -> float:
                grid, seat_of = table.orders[point[0]], seats(point[1], point[2])
                return statistics.median(timed(lab, name, grid, seat_of) for _ in range(5))

            yield from rows(name, table, again)
            yield from proposers.rows(name)
            fastest, slowest = min(table.times.values()), max(table.times.values())
            yield f"{name}: {len(table.times)} mappings in {fastest:.3f} to {slowest:.3f} s, each result that of NumPy;"
            yield f"alike ones differ by {spread(table):.0%}; rank correlation with the estimate {followed(table):.2f}"
    yield f"load {os.getloadavg()[0]:.1f}"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        orders, times = json.loads(Path(sys.argv[2]).read_text())
        given, searcher = Table([tuple(order) for order in orders], times), SEARCHERS[sys.argv[1]]
        print(json.dumps([list(searcher(given, seed, search.AFTER[-1])) for seed in range(search.SEEDS)]))
    else:
        for line in report():
            print(line, flush=True)
