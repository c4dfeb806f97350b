"""Nodes, GPUs and ranks: from the numbers that were said to a layout, or to why there is none.

How many CPUs a task gets: its part of the node's, as the scheduler counts them there.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from maple_submit_filter.site.facts import NodeKind

from ...base.slots import Refused, Slots
from ...templates.cluster import Cluster

_ASKED_FOR_NOTHING = ("ibrun", "mpirun", "mpiexec")  # they spread what the job has, or bind by options of their own
_TASKS = re.compile(r"\b(?:(\d+)|one) tasks?\b(?! per GPU)", re.IGNORECASE)


class Numbers(NamedTuple):
    """The numbers that were said; None: not said. *ranks*: of the whole job."""

    nodes: int | None = None
    gpus_per_node: int | None = None
    gpus_total: int | None = None
    ranks_per_node: int | None = None
    ranks: int | None = None


class Misfit(ValueError):
    """The numbers do not fit this kind of node; one line."""


def sizes(slots: Slots, ranks: int | None = None) -> Numbers:
    """Return the numbers of *slots*, with what follows from them alone. Raises `Refused` where they contradict."""
    numbers = Numbers(
        slots.number("nodes"),
        slots.number("gpus_per_node"),
        slots.number("gpus_total"),
        slots.number("ranks_per_node"),
        ranks,
    )
    for name, value in zip(Numbers._fields, numbers, strict=True):
        if value is not None and value < 1:
            raise Refused("%s %d: a training job has at least one" % (value_name(name), value))
    return _ranks_of_nodes(_nodes_of_gpus(numbers))


def value_name(name: str) -> str:
    """Return a slot's name as people say it."""
    return {"gpus_per_node": "GPUs a node:", "gpus_total": "GPUs:", "ranks_per_node": "ranks a node:"}.get(
        name, "%s:" % name
    )


def _nodes_of_gpus(numbers: Numbers) -> Numbers:
    nodes, each, total, _, _ = numbers
    if nodes is not None and each is not None and total is not None and nodes * each != total:
        raise Refused("%d nodes with %d GPUs each are %d GPUs, not %d" % (nodes, each, nodes * each, total))
    if total is None:
        return numbers
    if nodes is not None and each is None:
        return numbers._replace(gpus_per_node=_even(total, nodes, "%d GPUs cannot be spread evenly over %d nodes"))
    if each is not None and nodes is None:
        return numbers._replace(nodes=_even(total, each, "%d GPUs are no whole number of nodes with %d GPUs each"))
    return numbers


def _ranks_of_nodes(numbers: Numbers) -> Numbers:
    nodes, _, _, each, ranks = numbers
    if nodes is not None and each is not None and ranks is not None and nodes * each != ranks:
        raise Refused("%d nodes with %d ranks each are %d ranks, not %d" % (nodes, each, nodes * each, ranks))
    if ranks is not None and nodes is not None and each is None:
        each = _even(ranks, nodes, "%d ranks cannot be spread evenly over %d nodes")
    if each is not None and numbers.gpus_per_node is not None and each > numbers.gpus_per_node:
        raise Refused("%d ranks a node are more than %d GPUs a node: each rank wants a GPU of its own"
                      % (each, numbers.gpus_per_node))  # fmt: skip
    return numbers._replace(ranks_per_node=each)


def _even(total: int, over: int, wrong: str) -> int:
    if total % over:
        raise Refused(wrong % (total, over))
    return total // over


class Fitted(NamedTuple):
    """Numbers on one kind of node. *nodes* None: nobody said how many, and nothing tells."""

    nodes: int | None
    gpus_per_node: int
    ranks_per_node: int
    because: tuple[tuple[str, str], ...] = ()  # of what was not said: slot, reason

    @property
    def numbers(self) -> tuple[int | None, int, int]:
        """The layout without its reasons."""
        return self[:3]


def fit(numbers: Numbers, most: int, cards: int | None, whole: bool, whom: str) -> Fitted:
    """Return the numbers on nodes of which a job can use *most* devices. Raises `Misfit`.

    *cards*: how many cards these are, where a card counts as several devices. *whole*: the job gets whole nodes,
    whatever it asks for. *whom*: how people call the nodes.
    """
    because: list[tuple[str, str]] = []
    nodes, each = numbers.nodes, numbers.gpus_per_node
    if each is None and nodes is None and numbers.gpus_total is not None:
        nodes, each = _spread(numbers.gpus_total, most, cards, whom)
        if nodes is not None:
            because += [("nodes", "the fewest for %d in all" % numbers.gpus_total)]
    if each is not None and cards and each == cards and numbers.ranks_per_node in (None, most):
        each = most
        because += [("ranks_per_node", "%d cards are %d devices here" % (cards, most))]
    if each is None:
        few = None if whole else numbers.ranks_per_node
        each = few or most
        because += [("gpus_per_node", "one for each rank" if few else "all that %s have" % whom)]
    if each > most:
        raise Misfit("%d GPUs a node, but %s have %d" % (each, whom, most))
    ranks = numbers.ranks_per_node
    if ranks is None and numbers.ranks is not None:
        nodes, ranks = _of_ranks(numbers.ranks, each, nodes)
        because += [("nodes", "%d ranks, %d a node" % (numbers.ranks, ranks))]
    if ranks is not None and ranks > each:
        raise Misfit("%d ranks a node, but %s have %d GPUs: each rank wants one of its own" % (ranks, whom, each))
    if ranks is None and "ranks_per_node" not in dict(because):
        because += [("ranks_per_node", "one for each GPU")]
    return Fitted(nodes, each, ranks or each, tuple(because))


def _spread(total: int, most: int, cards: int | None, whom: str) -> tuple[int | None, int | None]:
    """Return nodes and GPUs a node for so many GPUs in all; unknown where they may be cards or devices."""
    if cards and cards != most and total > cards:
        return None, None
    nodes = -(-total // most)
    if total % nodes:
        raise Misfit("%d GPUs cannot be spread evenly over %d nodes: %s have %d" % (total, nodes, whom, most))
    return nodes, total // nodes


def _of_ranks(ranks: int, each: int, nodes: int | None) -> tuple[int, int]:
    """Return nodes and ranks a node for so many ranks in all."""
    if ranks <= each and nodes is None:
        return 1, ranks
    if ranks % each:
        raise Misfit("%d ranks cannot be spread evenly over nodes with %d GPUs" % (ranks, each))
    return ranks // each, each


def cores_per_task(
    kinds: tuple[NodeKind, ...],
    gpus_per_node: int,
    tasks_per_node: int,
    over: str,
    cluster: Cluster,
    shared: bool = False,
) -> int | None:
    """Return the CPUs of one task, None where nobody knows them or nobody has to ask: whole nodes, and an outer
    launcher *over* that spreads its tasks itself. *shared*: other jobs run on the nodes.
    """
    if cluster.site.scheduler == "pbs" or over in _ASKED_FOR_NOTHING:
        return None
    shares = [share for kind in kinds if (share := _of(kind, gpus_per_node, tasks_per_node, cluster)) is not None]
    if kinds and len(shares) < len(kinds):
        return _as_others(gpus_per_node, tasks_per_node, cluster) if shared else None
    return min(shares, default=None)


def _as_others(gpus: int, tasks: int, cluster: Cluster) -> int:
    """Return the fewest CPUs that any kind of node there has for so many GPUs: of a shared node a task gets but one
    unless it asks. Where none is known, one for each GPU.
    """
    others = [share for kind in cluster.site.kinds if (share := _of(kind, gpus, tasks, cluster)) is not None]
    return min(others, default=max(1, gpus // tasks))


def _of(kind: NodeKind, gpus: int, tasks: int, cluster: Cluster) -> int | None:
    whole = _documented(cluster, kind) or kind.cores
    if whole is None or not kind.gpus:
        return None
    return max(1, whole * gpus // kind.gpus // tasks)


def _documented(cluster: Cluster, kind: NodeKind) -> int | None:
    """Return the CPUs of a node that the centre's own --cpus-per-task comes to: some sites count hardware threads.

    Only what says for how many tasks a node it holds counts, and what no such node can have is another kind's.
    """
    if cluster.file is None:
        return None
    for affinity in cluster.file.affinity:
        match = _TASKS.search(affinity.when)
        if affinity.setting == "--cpus-per-task" and affinity.value.isdigit() and match is not None:
            whole = int(affinity.value) * int(match[1] or 1)
            if kind.cores is not None and whole in (kind.cores, kind.cores * (kind.threads_per_core or 1)):
                return whole
    return None
