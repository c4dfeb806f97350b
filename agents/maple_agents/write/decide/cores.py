"""How many CPUs a task gets: its part of the node's, as the scheduler counts them there."""

from __future__ import annotations

import re

from maple_submit_filter.site.facts import NodeKind

from ...templates.cluster import Cluster

_ASKED_FOR_NOTHING = ("ibrun", "mpirun", "mpiexec")  # they spread what the job has, or bind by options of their own
_TASKS = re.compile(r"\b(?:(\d+)|one) tasks?\b(?! per GPU)", re.IGNORECASE)


def per_task(
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
    shares = [one for kind in kinds if (one := _of(kind, gpus_per_node, tasks_per_node, cluster)) is not None]
    if kinds and len(shares) < len(kinds):
        return _as_others(gpus_per_node, tasks_per_node, cluster) if shared else None
    return min(shares, default=None)


def _as_others(gpus: int, tasks: int, cluster: Cluster) -> int:
    """Return the fewest CPUs that any kind of node there has for so many GPUs: of a shared node a task gets but one
    unless it asks. Where none is known, one for each GPU.
    """
    others = [one for kind in cluster.site.kinds if (one := _of(kind, gpus, tasks, cluster)) is not None]
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
    for one in cluster.file.affinity:
        found = _TASKS.search(one.when)
        if one.setting == "--cpus-per-task" and one.value.isdigit() and found is not None:
            whole = int(one.value) * int(found[1] or 1)
            if kind.cores is not None and whole in (kind.cores, kind.cores * (kind.threads_per_core or 1)):
                return whole
    return None
