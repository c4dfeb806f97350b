"""Which ranks of a launcher's agents form which world.

What a launcher takes for the script that it is to start, and cannot be one.

What such a step says of ranks and masters counts for nothing, for half of its words are not among its options.
"""

from __future__ import annotations

import re
from typing import Dict, Hashable, List, NamedTuple, Optional, Sequence, Tuple

from ..launchers.registry import OUTER
from ..play.expansion import NODE_LIST
from ..play.scene import Scene, Start, StepShape
from ..types.launch_plan import Breach, Group, Process
from ..types.text import EMPTY
from . import breach_kinds
from .breaches import agent_breaches, agent_of, is_local, meeting_id, per_node, raw_of, same

# U+2010 to U+2015 and U+2212: what word processors and web pages put in place of the hyphens that options begin with.
_DASH = rb"-?(?:(?:\xe2\x80[\x90-\x95]|\xe2\x88\x92|\xef\xb9\xa3|\xef\xbc\x8d)-?){1,2}(?=[A-Za-z])"
_NODE = rb"(?:\0(?:host|name|addr):\d+\0|%s)(?::\d{1,5})?" % NODE_LIST


class Verdict(NamedTuple):
    """The groups of a set of starts, and what is wrong with them."""

    groups: Tuple[Group, ...]
    breaches: Tuple[Breach, ...]


def of_agents(starts: Sequence[Start], shape: Optional[StepShape], scene: Scene, sure: bool) -> Verdict:
    """Return the worlds that agents form. *sure*: nothing unread can add or change an agent."""
    parts = _partition(starts)
    sampled = shape is not None and shape.sampled
    groups = tuple(_agent_group(part, sampled, shape, scene) for part in parts)
    flawed = flaws(starts)
    if flawed:
        return Verdict(groups, flawed)
    return Verdict(groups, tuple(agent_breaches(starts, parts, shape, scene)) if sure else ())


def _partition(starts: Sequence[Start]) -> List[List[Start]]:
    """Return the agents that would meet each other."""
    parts: Dict[Hashable, List[Start]] = {}
    for index, start in enumerate(starts):
        agent = agent_of(start)
        key: Tuple[Hashable, ...] = (index,)
        if not agent.standalone:
            local = start.place.node if is_local(agent.master) else None
            own = start.place.name if is_local(agent.master) and start.place.node is None else b""
            key = (agent.nnodes, agent.backend, raw_of(agent.master), raw_of(agent.port), meeting_id(agent), local, own)
        parts.setdefault(key, []).append(start)
    return list(parts.values())


def _agent_group(part: Sequence[Start], sampled: bool, shape: Optional[StepShape], scene: Scene) -> Group:
    first = agent_of(part[0])
    nnodes = first.nnodes[0] if first.nnodes and first.nnodes[0] == first.nnodes[1] else None
    if first.standalone:
        nnodes = 1
    workers = same([agent_of(start).workers for start in part])
    declared = nnodes * workers if nnodes and workers else None
    any_number = any(start.place.task is None and start.trail.links[0].name in OUTER for start in part)
    count = None if any_number else len(part)
    if sampled and shape is not None:
        count = shape.tasks if shape.tasks == nnodes else None
    holds = count is not None and count == nnodes and (sampled or _ranked(part, nnodes))
    world = declared if holds else None
    processes = tuple(process for start in part for process in _workers(start, part, world, holds and not sampled))
    on_node = same([ranks for ranks in per_node(part).values()]) if count is not None and not sampled else None
    places = {start.place.node for start in part}
    nodes = len(places) if count is not None and not sampled else nnodes if holds else None
    if None in places and len(part) > 1:
        nodes = on_node = None  # several agents, and it is not known whether on one node or on many
    return Group(
        first.launcher,
        processes,
        nodes,
        workers * on_node if workers and on_node else workers if sampled else None,
        world,
        declared,
        raw_of(first.master) if first.backend == b"static" or nnodes != 1 else None,
        raw_of(first.port) if not first.standalone else None,
        not sampled and count is not None,
    )


def _ranked(part: Sequence[Start], nnodes: Optional[int]) -> bool:
    """Return whether the node ranks are what a static meeting needs; c10d gives them itself."""
    if agent_of(part[0]).backend != b"static" or nnodes == 1:
        return True
    return {agent_of(start).node_rank for start in part} == set(range(nnodes or 0))


def _workers(start: Start, part: Sequence[Start], world: Optional[int], holds: bool) -> List[Process]:
    """Return the ranks of one agent."""
    agent = agent_of(start)
    static = agent.backend == b"static"
    group_rank = 0 if len(part) == 1 and holds else agent.node_rank if static and holds else None
    master = agent.master.raw if static and agent.master is not None and agent.master.known else None
    port = agent.port.raw if static and agent.port is not None and agent.port.known else None
    out = []
    for local in range(min(agent.workers or 0, 64)):
        rank = group_rank * agent.workers + local if group_rank is not None and agent.workers else None
        gpu = (agent.visible[local],) if agent.visible and local < len(agent.visible) else None
        out.append(
            Process(
                start.place.node,
                start.place.task,
                local,
                rank,
                world,
                master,
                port,
                agent.visible if agent.visible is not None else gpu,
                start.place.cpus,
                not agent.cpu,
                start.place.pinned,
            )
        )
    return out


def dash(word: bytes) -> int:
    """Return how many bytes of another dash an option begins with, 0 where it is none."""
    match = re.match(_DASH, word) if b"\xe2" in word[:2] or b"\xef" in word[:2] else None
    return match.end() if match is not None else 0


def flaws(starts: Sequence[Start]) -> Tuple[Breach, ...]:
    """Return one breach where one of these is given no script to start; *numbers* say where its command stands."""
    flawed = ((start, _flaw(start)) for start in starts)
    return next((_breach(start, kind) for start, kind in flawed if kind), ())


def _breach(start: Start, kind: str) -> Tuple[Breach, ...]:
    where = {"start": start.trail.span.start, "end": start.trail.span.end} if start.trail.span else {}
    word = start.program[0] if start.program else EMPTY
    return (Breach(breach_kinds.NO_SCRIPT, where, {"word": word}, (kind.encode(),)),)


def _flaw(start: Start) -> Optional[str]:
    """Return "none", "blank", "node" or "dash"; None where it may be a script, or is not known."""
    link = start.trail.links[-1] if start.trail.links else None
    if link is None or link.open or start.trail.maybe or start.trail.doubts:
        return None
    if not start.program:
        return "none" if start.agent is not None and link.option("help") is None else None
    word = start.program[0]
    if word.open:
        return None
    if dash(word.raw):
        return "dash"
    if start.agent is None:
        return None
    if word.raw[:1] == b"\0" and re.fullmatch(_NODE, word.raw):
        return "node"
    return "blank" if word.literal and not word.raw.strip() else None
