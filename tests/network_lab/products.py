"""Real programs on the lab under every mapping that the language can say: `python -m tests.network_lab.products`.

The mapping is the grid that ranks are numbered on, the way in which they are dealt to nodes, and the order of the
nodes, of which the last has half the rate. Every run's result is compared with NumPy's. Each point is timed once; the
times are kept, and the searchers take their trials from these times, five seeds each; what they found is timed five
times more.
"""

from __future__ import annotations

import base64
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy

from tests.agents.mapping import search
from tests.network_lab.lab import Lab
from tests.network_lab.rank_programs import PROGRAMS, Grid, expected, grids
from tests.network_lab.recorded_times import EACH, NODES, Point, Table, keep, key, seats

SEAT = Path(__file__).with_name("rank_seat.py")


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


def measured(lab: Lab, name: str) -> Table:
    """Return the times of all points of a program, timed in an order that tells nothing."""
    table = Table(grids(name, NODES * EACH), {})
    points = table.points()
    random.Random(23).shuffle(points)
    for order, way, nodes in points:
        table.times[key((order, way, nodes))] = timed(lab, name, table.orders[order], seats(way, nodes))
    return table


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
    """Yield what `maple map tune` would try: grids and ways with nodes as given, then nodes that change places."""
    chance = random.Random(seed)
    first = [point for point in table.points() if point[2] == tuple(range(NODES))]
    chance.shuffle(first)
    yield from (table.seconds(*point) for point in first)
    best = min(first, key=lambda point: table.seconds(*point))
    for _ in range(most - len(first)):
        nodes = list(best[2])
        one, other = chance.sample(range(NODES), 2)
        nodes[one], nodes[other] = nodes[other], nodes[one]
        new = (best[0], best[1], tuple(nodes))
        yield table.seconds(*new)
        best = min(best, new, key=lambda point: table.seconds(*point))


SEARCHERS: dict[str, Callable[[Table, int, int], Iterator[float]]] = {
    "as written": as_written,
    "enumeration": enumeration,
    "as maple map tune": tuned,
    "hill climbing": search.climbing,  # type: ignore[dict-item]
    "Nevergrad": search.nevergrad,  # type: ignore[dict-item]
    "OpenTuner": search.opentuner,  # type: ignore[dict-item]
}


def tried(name: str, table: Table, seed: int) -> list[float]:
    """Return the times of one run's trials; another's in its own environment, [] where that is not at hand."""
    if name not in search.OTHERS:
        return list(SEARCHERS[name](table, seed, search.AFTER[-1]))
    python = search.VENV / "bin" / "python"
    if not python.exists():
        return []
    paths = ":".join(str(search.ROOT / part) for part in (".", "agents", "submit_filter"))
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump([table.orders, table.times], file)
        file.flush()
        ran = subprocess.run(
            [str(python), "-m", "tests.network_lab.products", name, str(seed), file.name],
            cwd=search.VENV, env={"PYTHONPATH": paths, "PATH": "/usr/bin:/bin"}, capture_output=True, text=True,
            timeout=900,
        )  # fmt: skip
    return list(json.loads(ran.stdout.splitlines()[-1])) if ran.returncode == 0 else []


def rows(name: str, table: Table, again: Callable[[Point], float]) -> Iterator[str]:
    """Yield the lines of a program: best after 10, 100 and 1,000 trials, the median of the seeds, in milliseconds."""
    by_time = {table.times[key(point)]: point for point in table.points()}
    for searcher in SEARCHERS:
        runs = [run for seed in range(search.SEEDS) for run in [tried(searcher, table, seed)] if run]
        if not runs:
            yield f"| {name} | {searcher} | not at hand | | | |"
            continue
        medians = [statistics.median(one) for one in zip(*map(search.best_after, runs))]
        found = by_time[min(min(run) for run in runs)]
        times = " | ".join(f"{1000 * value:.0f}" for value in medians)
        where = f"{'x'.join(map(str, table.orders[found[0]]))}, {found[1]}, nodes {found[2]}"
        yield f"| {name} | {searcher} | {times} | {1000 * again(found):.0f} ({where}) |"


def main() -> None:
    """Measure all programs, and print the table."""
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; eight ranks, the last node at half the rate")
    print("| Program | Searcher | 10 | 100 | 1,000 | its best, timed five times more |\n|---|---|---|---|---|---|")
    with Lab(NODES, EACH, SEAT, slow=(NODES - 1,)) as lab:
        tables = {name: measured(lab, name) for name in PROGRAMS}
        keep(tables, os.getloadavg()[0])
        for name, table in tables.items():

            def again(point: Point, name: str = name, table: Table = table) -> float:
                grid, seat_of = table.orders[point[0]], seats(point[1], point[2])
                return statistics.median(timed(lab, name, grid, seat_of) for _ in range(5))

            for line in rows(name, table, again):
                print(line, flush=True)
            fastest, slowest = min(table.times.values()), max(table.times.values())
            print(
                f"{name}: {len(table.times)} mappings in {fastest:.3f} to {slowest:.3f} s, every result that of NumPy"
            )
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        orders, times = json.loads(Path(sys.argv[3]).read_text())
        given = Table([tuple(order) for order in orders], times)
        most = min(search.AFTER[-1], len(times))
        print(json.dumps(list(SEARCHERS[sys.argv[1]](given, int(sys.argv[2]), most))))
    else:
        main()
