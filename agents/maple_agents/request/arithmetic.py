"""Whether the counts of a request agree, and what a bare number of GPUs means beside a number of nodes."""

from __future__ import annotations

from typing import NamedTuple

from .language.reading import GPUS, RANKS, Reading


class Counts(NamedTuple):
    """What was counted; None where nobody did. *gpus*: a number of which nobody said whether it is a node's or all."""

    nodes: int | None = None
    gpus_per_node: int | None = None
    gpus_total: int | None = None
    ranks_per_node: int | None = None
    ranks: int | None = None
    gpus: int | None = None


def counts(readings: dict[str, Reading]) -> Counts:
    """Return the counts among the readings."""
    names = {
        "nodes": "nodes",
        "gpus_per_node": "gpus_per_node",
        "gpus_total": "gpus_total",
        "ranks_per_node": "ranks_per_node",
        "ranks": RANKS,
        "gpus": GPUS,
    }
    return Counts(**{field: int(readings[name].value) for field, name in names.items() if name in readings})


def meant(said: Counts) -> str:
    """Return the slot that a bare number of GPUs fills: "gpus_total", unless that cannot be and "gpus_per_node" can."""
    nodes, gpus = said.nodes or 1, said.gpus or 0
    if said.gpus_total is not None and said.gpus_total == nodes * gpus:
        return "gpus_per_node"
    if said.ranks is not None and nodes > 1 and said.ranks == nodes * gpus or said.ranks_per_node == gpus and nodes > 1:
        return "gpus_per_node"
    return "gpus_per_node" if gpus % nodes else "gpus_total"


def contradictions(said: Counts) -> tuple[str, ...]:
    """Return one line for every two counts that cannot both be."""
    found: list[str] = []
    nodes, per_node, total, ranks_per_node, ranks, _ = said
    if nodes and per_node and total and nodes * per_node != total:
        found.append(
            "%s with %s each are %s, not %d"
            % (_many(nodes, "node"), _many(per_node, "GPU"), _many(nodes * per_node, "GPU"), total)
        )
    elif nodes and total and total % nodes:
        found.append("%s cannot be divided evenly over %s" % (_many(total, "GPU"), _many(nodes, "node")))
    elif per_node and total and not nodes and total % per_node:
        found.append("%s are no whole number of nodes with %s each" % (_many(total, "GPU"), _many(per_node, "GPU")))
    if nodes and ranks_per_node and ranks and nodes * ranks_per_node != ranks:
        found.append(
            "%s with %s each are %s, not %d"
            % (_many(nodes, "node"), _many(ranks_per_node, "rank"), _many(nodes * ranks_per_node, "rank"), ranks)
        )
    elif nodes and ranks and ranks % nodes:
        found.append("%s cannot be divided evenly over %s" % (_many(ranks, "rank"), _many(nodes, "node")))
    return tuple([*found, *_too_many_ranks(said)])


def _too_many_ranks(said: Counts) -> list[str]:
    """More ranks than GPUs contradict each other, but for twice as many: a card may have two tiles or dies."""
    nodes = said.nodes
    gpus = said.gpus_total or (said.gpus_per_node * nodes if said.gpus_per_node and nodes else None)
    ranks = said.ranks or (said.ranks_per_node * nodes if said.ranks_per_node and nodes else None)
    if gpus and ranks and ranks > gpus and ranks != 2 * gpus:
        return ["%s, but only %s to bind them to" % (_many(ranks, "rank"), _many(gpus, "GPU"))]
    if (
        said.ranks_per_node
        and said.gpus_per_node
        and not nodes
        and said.ranks_per_node > said.gpus_per_node
        and said.ranks_per_node != 2 * said.gpus_per_node
    ):
        return [
            "%s per node, but only %s per node" % (_many(said.ranks_per_node, "rank"), _many(said.gpus_per_node, "GPU"))
        ]
    return []


def _many(number: int, what: str) -> str:
    return "%d %s%s" % (number, what, "" if number == 1 else "s")
