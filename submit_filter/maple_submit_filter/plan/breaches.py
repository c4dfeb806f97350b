"""Where what a launcher's agents were told contradicts itself.

A breach may only come from what holds for every value of what is unknown: an agent whose meeting place, number or node
is not known makes this module silent about what depends on it.

Small questions about agents: what they were told, and where they would meet.
"""

from __future__ import annotations

import re
from typing import Dict, List, Optional, Sequence

from ..play.outputs import is_cut, is_many, node_of
from ..play.scene import Agent, Scene, Start, StepShape
from ..types.launch_plan import Breach
from ..types.text import EMPTY, Text, plain
from . import breach_kinds

LOCAL = (b"localhost", b"127.0.0.1", b"::1", b"0.0.0.0", b"localhost.localdomain", b"ip6-localhost")

# A host's name: not an address of a domain or of IPv4, which may be anything, nor a word of a launcher's own.
_NAME = re.compile(rb"(?!(?:localhost|none|auto|env)\Z)[A-Za-z][\w-]*\d[\w.-]*\Z", re.IGNORECASE)
SUBMIT_HOST = b"\0same:submithost\0"
MASTERS = {"master-addr", "rdzv-endpoint", "main-process-ip"}


def agent_breaches(
    starts: Sequence[Start], parts: Sequence[Sequence[Start]], shape: Optional[StepShape], scene: Scene
) -> List[Breach]:
    """Return what is wrong with agents that were put into *parts* by where they would meet."""
    out: List[Breach] = []
    empty = tuple(dict.fromkeys(name for start in starts for name in agent_of(start).empty))
    if empty:
        texts = {"master": agent_of(starts[0]).master or EMPTY, "option": plain(empty[0].encode())}
        kind = breach_kinds.MASTER_EMPTY if set(empty) & MASTERS else breach_kinds.OPTION_EMPTY
        return [Breach(kind, {"options": len(empty)}, texts, starts[0].dropped)]
    if not any(_unclear(start) for start in starts):
        out += _meeting_breaches(starts, parts, shape, scene)
        for part in parts:
            out += _portless(part) or _listed(part, scene) or _taken(part, scene) or _static_breaches(part, shape)
    out += _total_breaches(starts)
    first = agent_of(starts[0])
    if not out and (wanted_by(starts) or 2) > 1 and is_outside(first.master) and not first.standalone:
        out.append(Breach(breach_kinds.MASTER_OUTSIDE, {}, {"master": first.master or EMPTY}))
    out += _gpu_breaches(starts, scene, _one_line(starts, parts))
    return out


def _portless(part: Sequence[Start]) -> List[Breach]:
    """Return whether the meeting place's port is none: empty behind the colon, no number, or too large a one.

    Port 0 is any free one: right where one agent meets nobody else, and found by no second one.
    """
    first = agent_of(part[0])
    port = first.port
    if first.standalone or port is None or not port.literal or first.backend not in (b"c10d", b"static"):
        return []
    if port.raw[-1:] == b"]":
        return []  # an address of IPv6 without one
    alone = wanted_by(part) in (None, 1)
    if port.raw.isdigit() and int(port.raw[:9]) < 65536 and len(port.raw) < 10 and (alone or int(port.raw)):
        return []
    return [Breach(breach_kinds.NO_PORT, {}, {"port": port})]


def _listed(part: Sequence[Start], scene: Scene) -> List[Breach]:
    """Return whether the whole list of nodes is named as the master: `n[1-2]` is no node's name, nor are two names."""
    first, wanted = agent_of(part[0]), wanted_by(part)
    if first.standalone or wanted is None or wanted < 2 or (scene.allocation.nodes or 1) < 2:
        return []
    if all(is_cut(agent_of(start).master) for start in part):
        return [Breach(breach_kinds.LIST_SAID, {}, {"master": first.master or EMPTY})]
    if not all(is_many(agent_of(start).master) for start in part):
        return []
    return [Breach(breach_kinds.MASTER_LIST, {"nnodes": wanted}, {"master": first.master or EMPTY})]


def _taken(part: Sequence[Start], scene: Scene) -> List[Breach]:
    """Return whether runs of one agent each, side by side on one node, would all listen on one port."""
    first = agent_of(part[0])
    alone = wanted_by(part) == 1 and first.backend == b"static" and not first.standalone
    together = len(part) > 1 and all(start.trail.background for start in part) and None not in per_node(part)
    if not alone or not together or len(per_node(part)) != 1 or scene.kills:
        return []
    return [Breach(breach_kinds.PORT_TAKEN, {"runs": len(part)}, {"port": first.port or EMPTY})]


def _unclear(start: Start) -> bool:
    """Return whether it is not known which agents this one would meet."""
    agent = agent_of(start)
    if agent.standalone:
        return False
    meets = (agent.master, agent.port) + (() if agent.backend == b"static" else (agent.run_id,))
    if agent.nnodes is None or agent.nnodes[0] != agent.nnodes[1] or not agent.backend:
        return True
    if is_local(agent.master) and start.place.node is None:
        return True  # two agents that happen to share a node may meet there
    if agent.nnodes[1] == 1:
        return start.place.task is None and bool(start.trail.links[:-1])
    return any(text is None or b"\0vary:" in text.raw for text in meets) or (
        start.place.task is None and len(start.trail.links) > 1
    )


def _meeting_breaches(
    starts: Sequence[Start], parts: Sequence[Sequence[Start]], shape: Optional[StepShape], scene: Scene
) -> List[Breach]:
    """Return why not every meeting has the number of agents it waits for."""
    first = agent_of(starts[0])
    sampled = shape is not None and shape.sampled
    if all(agent_of(part[0]).standalone or len(part) == wanted_by(part) for part in parts) and not sampled:
        return []
    wanted = wanted_by(starts)
    total = shape.tasks if sampled and shape is not None else len(starts)
    if wanted is None or total is None or first.standalone:
        return []
    elsewhere = scene.other_jobs or scene.strangers or not all(_is_ours(agent_of(start).master) for start in starts)
    if total < wanted and elsewhere:
        return []  # the others may be started by another job, or by a program that nobody has read
    numbers = _numbers(starts, shape, scene, wanted, total)
    texts = {"master": first.master or EMPTY, "port": first.port or EMPTY, "run-id": first.run_id or EMPTY}
    if any(raw_of(agent_of(start).master) == b"" for start in starts):
        return [Breach(breach_kinds.MASTER_EMPTY, numbers, texts, starts[0].dropped)]
    return _why_apart(starts, parts, wanted, total, numbers, texts, sampled)


def _is_ours(master: Optional[Text]) -> bool:
    """Return whether the meeting place is surely in this job."""
    return is_local(master) or master is None or master.raw == b"" or node_of(master) is not None


def _why_apart(
    starts: Sequence[Start],
    parts: Sequence[Sequence[Start]],
    wanted: int,
    total: int,
    numbers: Dict[str, Optional[int]],
    texts: Dict[str, Text],
    sampled: bool,
) -> List[Breach]:
    out: List[Breach] = []
    if wanted > 1 and len(parts) > 1:
        masters = {raw_of(agent_of(start).master) for start in starts}
        ports = {raw_of(agent_of(start).port) for start in starts}
        if all(is_local(agent_of(start).master) for start in starts):
            out.append(Breach(breach_kinds.MASTER_LOCAL, numbers, texts))
        elif len(masters) > 1:
            out.append(Breach(breach_kinds.MASTER_DIFFERS, numbers, texts))
        elif len(ports) > 1:
            out.append(Breach(breach_kinds.PORT_DIFFERS, numbers, texts))
        elif len({meeting_id(agent_of(start)) for start in starts}) > 1:
            out.append(Breach(breach_kinds.RUN_ID_DIFFERS, numbers, texts))
    elif wanted > 1 and is_local(agent_of(starts[0]).master):
        out.append(Breach(breach_kinds.MASTER_LOCAL, numbers, texts))
    if total != wanted and (len(parts) == 1 or not out or numbers["most on a node"] not in (None, 1) or total < wanted):
        out.append(Breach(breach_kinds.AGENTS, numbers, texts))
    return out if not sampled or total != wanted or out else []


def _numbers(
    starts: Sequence[Start], shape: Optional[StepShape], scene: Scene, wanted: int, total: int
) -> Dict[str, Optional[int]]:
    places = {start.place.node for start in starts}
    most: Optional[int] = max(per_node(starts).values()) if None not in places else None
    if shape is not None and (most is None or shape.sampled):
        nodes = shape.nodes or scene.allocation.nodes or scene.allocation.most_nodes
        even = -(-total // nodes) if nodes else None  # however they are laid out, some node has that many
        most = max(shape.layout) if shape.layout else even
    return {
        "agents": total,
        "nnodes": wanted,
        "workers": same([agent_of(start).workers for start in starts]),
        "most on a node": most,
        "nodes": (shape.nodes if shape is not None else len(places)),
        "job nodes": scene.allocation.nodes,
        "fanned": int(shape is not None),
    }


def _static_breaches(part: Sequence[Start], shape: Optional[StepShape]) -> List[Breach]:
    """Return what is wrong with the node ranks, and with where the master is, in one static meeting."""
    first = agent_of(part[0])
    wanted = wanted_by(part)
    if first.backend != b"static" or first.standalone or wanted is None or wanted < 2:
        return _guest_breaches(part, wanted)
    ranks = [agent_of(start).node_rank for start in part]
    sampled = shape is not None and shape.sampled
    known = [rank for rank in ranks if rank is not None]
    numbers: Dict[str, Optional[int]] = {"nnodes": wanted, "agents": len(part), "node rank": same(ranks)}
    texts = {"master": first.master or EMPTY}
    if len(set(known)) < len(known) or any(rank >= wanted for rank in known):
        return [Breach(breach_kinds.NODE_RANK, numbers, texts)] if len(part) == wanted or sampled else []
    if all(agent_of(start).rankless for start in part) and len(part) == wanted:
        return [Breach(breach_kinds.NODE_RANK, numbers, texts)]
    if None in ranks:
        return []
    lead = next((start for start in part if agent_of(start).node_rank == 0), None)
    return _master_elsewhere(lead, first, numbers, texts)


def _master_elsewhere(
    lead: Optional[Start], first: Agent, numbers: Dict[str, Optional[int]], texts: Dict[str, Text]
) -> List[Breach]:
    if lead is None or lead.place.node is None or first.master is None:
        return []
    named = node_of(first.master)
    return (
        [Breach(breach_kinds.MASTER_ELSEWHERE, numbers, texts)]
        if named is not None and named != lead.place.node
        else []
    )


def _guest_breaches(part: Sequence[Start], wanted: Optional[int]) -> List[Breach]:
    """Return whether a c10d meeting is on a node where none of its agents runs."""
    first = agent_of(part[0])
    if first.backend != b"c10d" or first.standalone or wanted is None or wanted < 2 or first.master is None:
        return []
    named = node_of(first.master)
    nodes = {start.place.node for start in part}
    if named is None or None in nodes or named in nodes or len(part) != wanted:
        return []
    return [Breach(breach_kinds.MASTER_ELSEWHERE, {"nnodes": wanted}, {"master": first.master})]


def _total_breaches(starts: Sequence[Start]) -> List[Breach]:
    """accelerate: a total that the machines cannot share evenly starts fewer processes than it says."""
    first = agent_of(starts[0])
    if first.total is None or first.nnodes is None or first.nnodes[0] < 2:
        return []
    machines = first.nnodes[0]
    if first.total % machines == 0:
        return []
    numbers = {"total": first.total, "machines": machines, "starts": first.total // machines * machines}
    return [Breach(breach_kinds.WORLD_SIZE, numbers, {})]


def _gpu_breaches(starts: Sequence[Start], scene: Scene, one_line: bool) -> List[Breach]:
    """Return where ranks that each take a GPU are more than the GPUs. *one_line*: one line starts them side by side."""
    out: List[Breach] = []
    first = agent_of(starts[0])
    workers = same([agent_of(start).workers for start in starts])
    if workers is None or scene.shares_gpus or any(agent_of(start).cpu for start in starts):
        return out
    counts = [kind.gpus for kind in scene.allocation.node_kinds]
    most = max([count for count in counts if count is not None], default=0) if None not in counts else 0
    seen = [len(agent.visible) for agent in map(agent_of, starts) if agent.visible is not None]
    numbers: Dict[str, Optional[int]] = {
        "workers": workers,
        "node": most or None,
        "visible": max(seen) if seen else None,
    }
    numbers["job"] = scene.allocation.gpus_per_node
    texts = {"devices": first.devices} if first.devices is not None else {}
    if most and workers > most:
        out.append(Breach(breach_kinds.GPUS_NODE, numbers, {}))
    elif seen and len(seen) == len(starts) and workers > max(seen) and max(seen) > 0:
        out.append(Breach(breach_kinds.GPUS_VISIBLE, numbers, texts))
    on_nodes = per_node(starts)
    together = max(on_nodes.values()) if None not in on_nodes else 1
    asked = scene.allocation.gpus_asked or 0
    if not out and asked and together == 1 and workers * len(starts) > asked and one_line:
        kind = breach_kinds.GPUS_JOB if scene.allocation.gpus else breach_kinds.GPUS_ASKED
        out.append(Breach(kind, {**numbers, "all": asked, "agents": len(starts)}, {}))
    each = scene.allocation.gpus_per_node or 0  # as asked; not every PBS keeps a job from the other devices
    if not out and each and not seen and workers * together > each and one_line:
        nodes = max(len(on_nodes), 1)
        counted = {"all": each * nodes, "agents": together * nodes, "together": together}
        out.append(Breach(breach_kinds.GPUS_ASKED, {**numbers, **counted}, {}))
    of_all = each * (scene.allocation.nodes or 0)  # wherever the launcher puts them
    if not out and of_all and None in on_nodes and workers * len(starts) > of_all and one_line:
        out.append(Breach(breach_kinds.GPUS_ASKED, {**numbers, "all": of_all, "agents": len(starts)}, {}))
    alike = {agent.visible for agent in map(agent_of, starts)}
    share = len(alike) == 1 and None not in alike
    limit = min([count for count in (most, max(seen) if share and seen else 0) if count], default=0)
    twice = together * workers > limit if limit else _see_the_same(starts)
    if together > 1 and twice and first.launcher == "torchrun" and one_line:
        numbers["together"] = together
        numbers["nodes"] = len(on_nodes)
        out.append(Breach(breach_kinds.GPU_TWICE, numbers, {}))
    return out


def _see_the_same(starts: Sequence[Start]) -> bool:
    """Return whether agents of one node see the same devices, whichever: nothing but ssh stands in front of them."""
    alike = len({raw_of(agent_of(start).devices) for start in starts}) == 1
    return alike and all({link.name for link in start.trail.links[:-1]} == {"ssh"} for start in starts)


def _one_line(starts: Sequence[Start], parts: Sequence[Sequence[Start]]) -> bool:
    """Return whether one line starts all of them, and no world in the background is beside another.

    A loop over hosts that starts a world in the background is one line, run several times.
    """
    if not any(start.trail.background for start in starts):
        return len({start.trail.key for start in starts}) == 1
    return len(parts) == 1 and len({start.trail.span for start in starts}) == 1 and wanted_by(starts) == len(starts)


def is_local(text: Optional[Text]) -> bool:
    """Return whether an address means the machine that uses it."""
    return text is not None and (text.raw.lower() in LOCAL or (text.literal and text.raw.startswith(b"127.")))


def is_outside(text: Optional[Text]) -> bool:
    """Return whether an address is that of the host the job was submitted from, or one name whatever nodes it gets."""
    return text is not None and (SUBMIT_HOST in text.raw or bool(text.literal and _NAME.match(text.raw)))


def agent_of(start: Start) -> Agent:
    """Return the agent of a start that has one."""
    assert start.agent is not None
    return start.agent


def meeting_id(agent: Agent) -> Optional[bytes]:
    """Return the name of an agent's meeting; a static one has none."""
    return raw_of(agent.run_id) if agent.backend != b"static" else b""


def raw_of(text: Optional[Text]) -> Optional[bytes]:
    """Return the bytes of a text, None for none."""
    return text.raw if text is not None else None


def same(values: Sequence[Optional[int]]) -> Optional[int]:
    """Return the value that all have, None where they differ."""
    return values[0] if values and len(set(values)) == 1 else None


def per_node(part: Sequence[Start]) -> Dict[Optional[int], int]:
    """Return how many start on each node."""
    out: Dict[Optional[int], int] = {}
    for start in part:
        out[start.place.node] = out.get(start.place.node, 0) + 1
    return out


def wanted_by(part: Sequence[Start]) -> Optional[int]:
    """Return how many agents the meeting waits for, None where they were told different or elastic numbers."""
    counts = {agent_of(start).nnodes for start in part}
    only = next(iter(counts)) if len(counts) == 1 else None
    return only[0] if only else None
