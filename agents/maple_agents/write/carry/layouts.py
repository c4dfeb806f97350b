"""The layout of each launch line on the new cluster: the whole job, a part of it, or one task."""

from __future__ import annotations

from ...request.script.parts import Foreign, Launch
from ..values import Layout, Plan


def of_launch(launch: Launch, foreign: Foreign, plan: Plan) -> Layout:
    """Return which ranks the line starts where.

    A line of the whole job gets the plan's layout; a smaller one keeps its nodes, and all their GPUs where it had all.
    """
    whole = plan.layout
    if launch.small:
        return Layout(1, min(1, whole.gpus_per_node), 1, 1, whole.cpus_per_task)
    nodes, ranks = (_nodes(launch), _ranks(launch)) if launch.outer is not None else (None, None)
    had = foreign.plan.allocation.nodes
    each = whole.ranks_per_node
    if nodes is None or had is None or nodes >= had or foreign.wrong:
        return whole._replace(tasks_per_node=1 if launch.agent is not None else each)
    if ranks and ranks < _usual(foreign):
        each = min(ranks, each)
    tasks = 1 if launch.agent is not None else each
    return whole._replace(nodes=min(nodes, whole.nodes), ranks_per_node=each, tasks_per_node=tasks)


def _nodes(launch: Launch) -> int | None:
    groups = [group for step in launch.steps for group in step.groups]
    counts = {group.nodes for group in groups}
    step = launch.steps[0]
    return counts.pop() if len(step.groups) == 1 and len(counts) == 1 else step.nodes


def _ranks(launch: Launch) -> int | None:
    counts = {group.ranks_per_node for step in launch.steps for group in step.groups}
    return counts.pop() if len(counts) == 1 else None


def _usual(foreign: Foreign) -> int:
    """Return the most ranks that any line starts on a node."""
    return max((_ranks(one) or 1 for one in foreign.launches), default=1)
