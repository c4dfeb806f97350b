"""The estimate against the lab: `python -m tests.network_lab.measure [REPEATS]`.

Three traffic mixes on 26 placements of eight ranks on four nodes, half of them random. Printed are the rank
correlation, the median error, and what the checker's cure gains.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import statistics
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from maple_agents.mapping import costs, groups, steps
from maple_agents.mapping.costs import Exchange
from maple_agents.mapping.groups import Mesh

from .lab import KIB, Lab, Rates, capacity, tracked

KEPT = Path(__file__).parents[1] / "cases" / "mapping" / "lab-placements.json"
SEED = 23
NODES, EACH = 4, 2


class Mix(NamedTuple):
    """A mesh, and what each of its axes exchanges: bytes, rounds, manner."""

    name: str
    mesh: Mesh
    traffic: tuple[tuple[str, int, int, str], ...]


def _mesh(**sizes: int) -> Mesh:
    return groups.mesh(groups.MEGATRON, sizes)


MIXES = (
    Mix("tensor", _mesh(tp=2, dp=4), (("tp", 256 * KIB, 8, "allreduce"), ("dp", 512 * KIB, 1, "allreduce"))),
    Mix("data", _mesh(tp=2, dp=4), (("tp", 64 * KIB, 4, "allreduce"), ("dp", 1024 * KIB, 2, "allreduce"))),
    Mix("pipeline", _mesh(tp=2, dp=2, pp=2), (("tp", 128 * KIB, 6, "allreduce"), ("pp", 256 * KIB, 4, "chain"),
                                              ("dp", 512 * KIB, 1, "allreduce"))),
)  # fmt: skip


def placements() -> list[tuple[str, tuple[int, ...]]]:
    """Return seats of the ranks, each way with its name: thirteen by a rule, thirteen at random."""
    ranks = list(range(NODES * EACH))
    seats = {
        "block": ranks,
        "cyclic": [rank % NODES * EACH + rank // NODES for rank in ranks],
        "planes of two": [rank // 2 % NODES * EACH + rank % 2 for rank in ranks],
    }
    named = [(name, tuple(one)) for name, one in seats.items() if name != "planes of two"]
    blocks = [ranks[node * EACH : node * EACH + EACH] for node in range(NODES)]
    for order in ((1, 0, 2, 3), (3, 2, 1, 0), (0, 2, 1, 3)):
        named.append((f"block, nodes {order}", tuple(seat for node in order for seat in blocks[node])))
    for one, other in ((1, 2), (1, 4), (3, 4), (0, 7), (2, 5), (1, 6), (3, 6), (0, 3)):
        changed = list(ranks)
        changed[one], changed[other] = changed[other], changed[one]
        named.append((f"block, {one} and {other} exchanged", tuple(changed)))
    drawn = random.Random(SEED)
    return named + [(f"random {index}", tuple(drawn.sample(ranks, len(ranks)))) for index in range(13)]


def programs(mix: Mix) -> list[list[Exchange]]:
    """Return what each rank exchanges; a ring goes by the numbers of its ranks."""
    made: list[list[Exchange]] = [[] for _ in range(mix.mesh.ranks)]
    for axis, size, rounds, kind in mix.traffic:
        for group in mix.mesh.groups(axis):
            for rank in group:
                made[rank].append(Exchange(group, size, kind, rounds))
    return made


def spearman(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the correlation of ranks; ties have their mean rank."""
    return statistics.correlation(_ranked(one), _ranked(other))


def _ranked(values: Sequence[float]) -> list[float]:
    order = sorted(range(len(values)), key=lambda index: values[index])
    ranks = [0.0] * len(values)
    for _, run in itertools.groupby(enumerate(order), lambda pair: values[pair[1]]):
        alike = list(run)
        for _, index in alike:
            ranks[index] = sum(place for place, _ in alike) / len(alike)
    return ranks


def naive(mix: Mix, seats: Sequence[int], rates: Rates) -> float:
    """Return an estimate that shares nothing: the slowest group of each axis, one axis after the other."""
    total = 0.0
    for axis, size, rounds, kind in mix.traffic:
        slowest = 0.0
        for group in mix.mesh.groups(axis):
            crossing = len({seats[rank] // EACH for rank in group}) > 1
            rate, late = (rates.outer, rates.outer_late) if crossing else (rates.inner, rates.inner_late)
            steps = 2 * (len(group) - 1) if kind == "allreduce" else 1
            sharing = EACH if crossing else 1
            part = size / len(group) if kind == "allreduce" else size
            slowest = max(slowest, rounds * steps * (late + part * sharing / rate))
        total += slowest
    return total


def report(repeats: int) -> Iterator[str]:
    """Measure all placements and keep them; yield the lines of the table."""
    yield f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; seed {SEED}; medians of {repeats}"
    yield "rank correlation and median error of estimates: by steps, as findings and tuning have it (rounds merged,"
    yield "fewer pieces), by groups, and a naive one"
    with Lab(NODES, EACH) as lab:
        rates = lab.calibrated()
        yield (f"within a node {rates.inner / 1e6:.1f} MB/s, {rates.inner_late * 1e3:.2f} ms; "
               f"between nodes {rates.outer / 1e6:.2f} MB/s, {rates.outer_late * 1e3:.2f} ms")  # fmt: skip
        taken: dict[str, list[float]] = {}
        for mix, seats in tracked([(mix, seats) for mix in MIXES for _, seats in placements()], "placements"):
            made = programs(mix)
            taken.setdefault(mix.name, []).append(statistics.median(lab.seconds(made, seats) for _ in range(repeats)))
        keep(rates, taken)
        yield from table(rates, taken)
        yield cure(lab, MIXES[0])


class Row(NamedTuple):
    """One placement: seconds that were measured, and those of four estimates."""

    taken: float
    steps: float
    told: float
    groups: float
    naive: float


def table(rates: Rates, taken: dict[str, list[float]]) -> Iterator[str]:
    """Yield a line for each mix, and one for all: estimates against the seconds that were measured."""
    everything: list[Row] = []
    for mix in MIXES:
        each = rows(mix, rates, taken[mix.name])
        everything += each
        yield _line(mix.name, each)
    yield _line("all", everything)


def rows(mix: Mix, rates: Rates, taken: Sequence[float]) -> list[Row]:
    """Return the rows of a mix. *taken*: the seconds of each placement."""
    return [_row(mix, seats, rates, real) for (_, seats), real in zip(placements(), taken, strict=True)]


def _row(mix: Mix, seats: tuple[int, ...], rates: Rates, taken: float) -> Row:
    made, links = programs(mix), capacity(rates, [seat // EACH for seat in seats])
    told = steps.estimate(made, links)
    return Row(taken, steps.seconds(made, links), told, costs.seconds(made, links), naive(mix, seats, rates))


def agreement(rows: Sequence[Row], estimate: str) -> tuple[float, float]:
    """Return the rank correlation of an estimate with what was measured, and its median error."""
    taken, said = [row.taken for row in rows], [float(getattr(row, estimate)) for row in rows]
    return spearman(taken, said), statistics.median(abs(one - real) / real for one, real in zip(said, taken))


def _line(name: str, rows: Sequence[Row]) -> str:
    taken = [row.taken for row in rows]
    said = [
        "  %s %.2f, %.0f%%" % (estimate, correlation, 100 * error)
        for estimate in Row._fields[1:]
        for correlation, error in [agreement(rows, estimate)]
    ]
    return f"{name:9}{len(rows):3} placements, {min(taken):.2f} to {max(taken):.2f} s:" + "".join(said)


def keep(rates: Rates, taken: dict[str, list[float]]) -> None:
    """Keep what was measured, with the lab's rates."""
    rounded = {name: [round(seconds, 4) for seconds in each] for name, each in taken.items()}
    KEPT.write_text(json.dumps({"rates": [float(f"{rate:.4g}") for rate in rates], "taken": rounded}) + "\n")


def kept() -> tuple[Rates, dict[str, list[float]]]:
    """Return what was measured last, in the order of `placements`, by mix."""
    said = json.loads(KEPT.read_text())
    return Rates(*said["rates"]), said["taken"]


def cure(lab: Lab, mix: Mix) -> str:
    """Return what blocks gain over ranks dealt in turn: five of each, one after the other."""
    made, named = programs(mix), dict(placements())
    wrong, right = ([lab.seconds(made, named[name]) for _ in range(5)] for name in ("cyclic", "block"))
    shown = ", ".join(f"{bad:.2f}/{good:.2f}" for bad, good in zip(wrong, right))
    gain = statistics.median(wrong) / statistics.median(right)
    return (f"cure, two tensor and four data parallel: {gain:.2f} times (cyclic/block s: {shown}); "
            f"load {os.getloadavg()[0]:.1f}")  # fmt: skip


if __name__ == "__main__":
    for line in report(int(sys.argv[1]) if sys.argv[1:] else 3):
        print(line, flush=True)
