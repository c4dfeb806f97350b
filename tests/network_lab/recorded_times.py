"""Real times of the lab's programs under every mapping, as `products` measured and kept them.

The mapping is the grid that ranks are numbered on, the way in which they are dealt to nodes, and the order of nodes.
Nothing here runs anything, so that searchers in other environments can take their trials from the times.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path

NODES, EACH = 4, 2
WAYS = {"block": EACH, "cyclic": 1}  # ranks that go to a node before the next one's turn
KEPT = Path(__file__).parents[1] / "cases" / "mapping" / "lab-times.json"
Grid = tuple[int, ...]
Point = tuple[int, str, tuple[int, ...]]


class Table:
    """The seconds of every point of a program's space, as the searchers ask for them."""

    def __init__(self, orders: Sequence[Grid], times: dict[str, float], program: str = "") -> None:
        self.program = program
        self.orders, self.ways, self.leaves, self.times = list(orders), dict(WAYS), "abcd", times

    def seconds(self, order: int, way: str, nodes: Sequence[int]) -> float:
        """Return how long a point took."""
        return self.times[key((order, way, tuple(nodes)))]

    def points(self) -> list[Point]:
        """Return every point, the program's own first."""
        return [(order, way, nodes) for nodes in permutations(range(NODES)) for order in range(len(self.orders))
                for way in self.ways]  # fmt: skip


def key(point: Point) -> str:
    """Return a point as one word."""
    return f"{point[0]} {point[1]} {''.join(map(str, point[2]))}"


def seats(way: str, nodes: Sequence[int]) -> list[int]:
    """Return the seat of each rank."""
    taken = [0] * NODES
    made = []
    for rank in range(NODES * EACH):
        node = nodes[rank // WAYS[way] % NODES]
        made.append(node * EACH + taken[node])
        taken[node] += 1
    return made


def recorded() -> dict[str, Table]:
    """Return the times that are kept, by program."""
    programs = json.loads(KEPT.read_text())["programs"]
    return {name: Table([tuple(grid) for grid in one["orders"]], one["times"], name) for name, one in programs.items()}


def keep(tables: dict[str, Table], load: float) -> None:
    """Keep times, with the load under which they were measured."""
    programs = {
        name: {"orders": table.orders, "times": {point: round(seconds, 5) for point, seconds in table.times.items()}}
        for name, table in tables.items()
    }
    KEPT.write_text(json.dumps({"load": round(load, 1), "programs": programs}) + "\n")
