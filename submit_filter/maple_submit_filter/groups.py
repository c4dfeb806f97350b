"""Which ranks form which world, and where what the launch line says contradicts itself.

A finding may only come from what holds for every value of what is unknown: an unknown word among a launcher's options,
a command carried elsewhere, a node that cannot be named, all make this module silent about what depends on them.
"""

from __future__ import annotations

from typing import Dict, Hashable, List, NamedTuple, Optional, Sequence, Tuple

from .launch import Breach, Group, Process
from .scene import Agent, Scene, Start, StepShape
from .text import EMPTY, Text, plain

_MASTERS = {"master-addr", "rdzv-endpoint", "main-process-ip"}
LOCAL = (b"localhost", b"127.0.0.1", b"::1", b"0.0.0.0", b"localhost.localdomain", b"ip6-localhost")


class Verdict(NamedTuple):
    """The groups of a set of starts, and what is wrong with them."""

    groups: Tuple[Group, ...]
    breaches: Tuple[Breach, ...]


def is_local(text: Optional[Text]) -> bool:
    """Return whether an address means the machine that uses it."""
    return text is not None and (text.raw.lower() in LOCAL or (text.literal and text.raw.startswith(b"127.")))


def of_agents(starts: Sequence[Start], shape: Optional[StepShape], scene: Scene, sure: bool) -> Verdict:
    """Return the worlds that agents form. *sure*: nothing unread can add or change an agent."""
    parts = _partition(starts)
    sampled = shape is not None and shape.sampled
    groups = tuple(_agent_group(part, sampled, shape, scene) for part in parts)
    return Verdict(groups, tuple(_agent_breaches(starts, parts, shape, scene)) if sure else ())


def _agent(start: Start) -> Agent:
    assert start.agent is not None
    return start.agent


def _partition(starts: Sequence[Start]) -> List[List[Start]]:
    """Return the agents that would meet each other."""
    parts: Dict[Hashable, List[Start]] = {}
    for index, start in enumerate(starts):
        agent = _agent(start)
        key: Tuple[Hashable, ...] = (index,)
        if not agent.standalone:
            local = start.place.node if is_local(agent.master) else None
            own = start.place.name if is_local(agent.master) and start.place.node is None else b""
            key = (agent.nnodes, agent.backend, _raw(agent.master), _raw(agent.port), _meeting_id(agent), local, own)
        parts.setdefault(key, []).append(start)
    return list(parts.values())


def _meeting_id(agent: Agent) -> Optional[bytes]:
    return _raw(agent.run_id) if agent.backend != b"static" else b""


def _raw(text: Optional[Text]) -> Optional[bytes]:
    return text.raw if text is not None else None


def _same(values: Sequence[Optional[int]]) -> Optional[int]:
    return values[0] if values and len(set(values)) == 1 else None


# --- groups -----------------------------------------------------------------------------------------------------


def _agent_group(part: Sequence[Start], sampled: bool, shape: Optional[StepShape], scene: Scene) -> Group:
    first = _agent(part[0])
    nnodes = first.nnodes[0] if first.nnodes and first.nnodes[0] == first.nnodes[1] else None
    if first.standalone:
        nnodes = 1
    workers = _same([_agent(start).workers for start in part])
    declared = nnodes * workers if nnodes and workers else None
    count = (
        None if any(start.place.task is None and start.trail.links[0].name == "srun" for start in part) else len(part)
    )
    if sampled and shape is not None:
        count = shape.tasks if shape.tasks == nnodes else None
    holds = count is not None and count == nnodes and (sampled or _ranked(part, nnodes))
    world = declared if holds else None
    processes = tuple(one for start in part for one in _workers(start, part, world, holds and not sampled))
    on_node = _same([one for one in _per_node(part).values()]) if count is not None and not sampled else None
    nodes = (
        len({start.place.node for start in part}) if count is not None and not sampled else nnodes if holds else None
    )
    return Group(
        first.launcher,
        processes,
        nodes,
        workers * on_node if workers and on_node else workers if sampled else None,
        world,
        declared,
        _raw(first.master) if first.backend == b"static" or nnodes != 1 else None,
        _raw(first.port) if not first.standalone else None,
        not sampled and count is not None,
    )


def _ranked(part: Sequence[Start], nnodes: Optional[int]) -> bool:
    """Return whether the node ranks are what a static meeting needs; c10d gives them itself."""
    if _agent(part[0]).backend != b"static" or nnodes == 1:
        return True
    return {_agent(start).node_rank for start in part} == set(range(nnodes or 0))


def _per_node(part: Sequence[Start]) -> Dict[Optional[int], int]:
    out: Dict[Optional[int], int] = {}
    for start in part:
        out[start.place.node] = out.get(start.place.node, 0) + 1
    return out


def _workers(start: Start, part: Sequence[Start], world: Optional[int], holds: bool) -> List[Process]:
    """Return the ranks of one agent."""
    agent = _agent(start)
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
            )
        )
    return out


# --- breaches ---------------------------------------------------------------------------------------------------


def _agent_breaches(
    starts: Sequence[Start], parts: Sequence[Sequence[Start]], shape: Optional[StepShape], scene: Scene
) -> List[Breach]:
    out: List[Breach] = []
    empty = tuple(dict.fromkeys(name for start in starts for name in _agent(start).empty))
    if empty:
        texts = {"master": _agent(starts[0]).master or EMPTY, "option": plain(empty[0].encode())}
        kind = "master-empty" if set(empty) & _MASTERS else "option-empty"
        return [Breach(kind, {"options": len(empty)}, texts, starts[0].dropped)]
    if not any(_unclear(start) for start in starts):
        out += _meeting_breaches(starts, parts, shape, scene)
        for part in parts:
            out += _static_breaches(part, shape)
    out += _total_breaches(starts)
    out += _gpu_breaches(starts, scene)
    return out


def _unclear(start: Start) -> bool:
    """Return whether it is not known which agents this one would meet."""
    agent = _agent(start)
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
    first = _agent(starts[0])
    sampled = shape is not None and shape.sampled
    if all(_agent(part[0]).standalone or len(part) == _wanted(part) for part in parts) and not sampled:
        return []
    wanted = _wanted(starts)
    total = shape.tasks if sampled and shape is not None else len(starts)
    if wanted is None or total is None or first.standalone:
        return []
    if total < wanted and (scene.other_jobs or not all(_is_ours(_agent(start).master) for start in starts)):
        return []  # the others may be started by another job
    numbers = _numbers(starts, shape, scene, wanted, total)
    texts = {"master": first.master or EMPTY, "port": first.port or EMPTY, "run-id": first.run_id or EMPTY}
    if any(_raw(_agent(start).master) == b"" for start in starts):
        return [Breach("master-empty", numbers, texts, starts[0].dropped)]
    return _why_apart(starts, parts, wanted, total, numbers, texts, sampled)


def _is_ours(master: Optional[Text]) -> bool:
    """Return whether the meeting place is surely in this job."""
    return is_local(master) or master is None or master.raw == b"" or _node_named(master) is not None


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
        masters = {_raw(_agent(start).master) for start in starts}
        ports = {_raw(_agent(start).port) for start in starts}
        if all(is_local(_agent(start).master) for start in starts):
            out.append(Breach("master-local", numbers, texts))
        elif len(masters) > 1:
            out.append(Breach("master-differs", numbers, texts))
        elif len(ports) > 1:
            out.append(Breach("port-differs", numbers, texts))
        elif len({_meeting_id(_agent(start)) for start in starts}) > 1:
            out.append(Breach("run-id-differs", numbers, texts))
    elif wanted > 1 and is_local(_agent(starts[0]).master):
        out.append(Breach("master-local", numbers, texts))
    if total != wanted and (len(parts) == 1 or not out or numbers["most on a node"] not in (None, 1) or total < wanted):
        out.append(Breach("agents", numbers, texts))
    return out if not sampled or total != wanted or out else []


def _wanted(part: Sequence[Start]) -> Optional[int]:
    counts = {_agent(start).nnodes for start in part}
    only = next(iter(counts)) if len(counts) == 1 else None
    return only[0] if only else None


def _numbers(
    starts: Sequence[Start], shape: Optional[StepShape], scene: Scene, wanted: int, total: int
) -> Dict[str, Optional[int]]:
    places = {start.place.node for start in starts}
    most: Optional[int] = max(_per_node(starts).values()) if None not in places else None
    if shape is not None and (most is None or shape.sampled):
        even = -(-total // shape.nodes) if shape.nodes else None  # however they are laid out, some node has that many
        most = max(shape.layout) if shape.layout else even
    return {
        "agents": total,
        "nnodes": wanted,
        "workers": _same([_agent(start).workers for start in starts]),
        "most on a node": most,
        "nodes": (shape.nodes if shape is not None else len(places)),
        "job nodes": scene.allocation.nodes,
        "fanned": int(shape is not None),
    }


def _static_breaches(part: Sequence[Start], shape: Optional[StepShape]) -> List[Breach]:
    """Return what is wrong with the node ranks, and with where the master is, in one static meeting."""
    first = _agent(part[0])
    wanted = _wanted(part)
    if first.backend != b"static" or first.standalone or wanted is None or wanted < 2:
        return _guest_breaches(part, wanted)
    ranks = [_agent(start).node_rank for start in part]
    sampled = shape is not None and shape.sampled
    known = [rank for rank in ranks if rank is not None]
    numbers: Dict[str, Optional[int]] = {"nnodes": wanted, "agents": len(part), "node rank": _same(ranks)}
    texts = {"master": first.master or EMPTY}
    if len(set(known)) < len(known) or any(rank >= wanted for rank in known):
        return [Breach("node-rank", numbers, texts)] if len(part) == wanted or sampled else []
    if all(_agent(start).rankless for start in part) and len(part) == wanted:
        return [Breach("node-rank", numbers, texts)]
    if None in ranks:
        return []
    lead = next((start for start in part if _agent(start).node_rank == 0), None)
    return _master_elsewhere(lead, first, numbers, texts)


def _master_elsewhere(
    lead: Optional[Start], first: Agent, numbers: Dict[str, Optional[int]], texts: Dict[str, Text]
) -> List[Breach]:
    if lead is None or lead.place.node is None or first.master is None:
        return []
    named = _node_named(first.master)
    return [Breach("master-elsewhere", numbers, texts)] if named is not None and named != lead.place.node else []


def _node_named(text: Text) -> Optional[int]:
    from .outputs import node_of

    return node_of(text)


def _guest_breaches(part: Sequence[Start], wanted: Optional[int]) -> List[Breach]:
    """Return whether a c10d meeting is on a node where none of its agents runs."""
    first = _agent(part[0])
    if first.backend != b"c10d" or first.standalone or wanted is None or wanted < 2 or first.master is None:
        return []
    named = _node_named(first.master)
    nodes = {start.place.node for start in part}
    if named is None or None in nodes or named in nodes or len(part) != wanted:
        return []
    return [Breach("master-elsewhere", {"nnodes": wanted}, {"master": first.master})]


def _total_breaches(starts: Sequence[Start]) -> List[Breach]:
    """accelerate: a total that the machines cannot share evenly starts fewer processes than it says."""
    first = _agent(starts[0])
    if first.total is None or first.nnodes is None or first.nnodes[0] < 2:
        return []
    machines = first.nnodes[0]
    if first.total % machines == 0:
        return []
    numbers = {"total": first.total, "machines": machines, "starts": first.total // machines * machines}
    return [Breach("world-size", numbers, {})]


def _gpu_breaches(starts: Sequence[Start], scene: Scene) -> List[Breach]:
    """Return where ranks that each take a GPU are more than the GPUs."""
    out: List[Breach] = []
    first = _agent(starts[0])
    workers = _same([_agent(start).workers for start in starts])
    if workers is None or scene.shares_gpus or any(_agent(start).cpu for start in starts):
        return out
    counts = [kind.gpus for kind in scene.allocation.node_kinds]
    most = max([count for count in counts if count is not None], default=0) if None not in counts else 0
    seen = [len(agent.visible) for agent in map(_agent, starts) if agent.visible is not None]
    numbers: Dict[str, Optional[int]] = {
        "workers": workers,
        "node": most or None,
        "visible": max(seen) if seen else None,
    }
    numbers["job"] = scene.allocation.gpus_per_node
    texts = {"devices": first.devices} if first.devices is not None else {}
    if most and workers > most:
        out.append(Breach("gpus-node", numbers, {}))
    elif seen and len(seen) == len(starts) and workers > max(seen) and max(seen) > 0:
        out.append(Breach("gpus-visible", numbers, texts))
    per_node = _per_node(starts)
    together = max(per_node.values()) if None not in per_node else 1
    alike = {agent.visible for agent in map(_agent, starts)}
    share = len(alike) == 1 and None not in alike
    limit = most or (max(seen) if share and seen else 0)
    if together > 1 and limit and together * workers > limit and first.launcher == "torchrun" and _one_line(starts):
        numbers["together"] = together
        numbers["nodes"] = len(per_node)
        out.append(Breach("gpu-twice", numbers, {}))
    return out


def _one_line(starts: Sequence[Start]) -> bool:
    return len({start.trail.key for start in starts}) == 1 and not any(start.trail.background for start in starts)


# --- programs that read their ranks from the environment --------------------------------------------------------


def of_programs(starts: Sequence[Start], shape: Optional[StepShape], scene: Scene, sure: bool) -> Verdict:
    """Return the one group of the programs of a step, ranks from RANK where it is set, else the task's number."""
    sampled = shape is not None and shape.sampled
    tasks = shape.tasks if shape is not None else len(starts)
    processes = tuple(_program(start, tasks) for start in starts)
    per_node = (
        None
        if sampled or any(start.place.node is None for start in starts)
        else _same(list(_per_node(starts).values()))
    )
    complete = not sampled and all(start.place.task is not None or shape is None for start in starts)
    world = _same([one.world_size for one in processes])
    nodes = shape.nodes if shape is not None else 1
    group = Group(
        starts[0].trail.links[-1].name if starts[0].trail.links else "",
        processes,
        nodes,
        per_node if complete else None,
        world,
        world,
        processes[0].master,
        processes[0].port,
        complete,
    )
    breaches = tuple(_program_breaches(starts, shape, scene)) if sure and complete else ()
    return Verdict((group,), breaches)


def _set(start: Start, name: bytes) -> Optional[int]:
    from .text import number

    return number(start.environment.get(name))


def visible(value: Optional[Text], given: Optional[Tuple[bytes, ...]]) -> Optional[Tuple[bytes, ...]]:
    """Return the devices a process sees: what the step gave, cut by CUDA_VISIBLE_DEVICES; None unknown."""
    if value is None or value.raw == b"\0same:cvd\0":
        return given
    if not value.literal:
        return None
    entries = tuple(entry.strip() for entry in value.raw.split(b",") if entry.strip())
    return entries if all(entry.isdigit() for entry in entries) else None


def _program(start: Start, tasks: Optional[int]) -> Process:
    place = start.place
    rank = _set(start, b"RANK") if b"RANK" not in start.missing else place.task
    world = _set(start, b"WORLD_SIZE") if b"WORLD_SIZE" not in start.missing else tasks
    local = _set(start, b"LOCAL_RANK") if b"LOCAL_RANK" not in start.missing else place.local_task
    master, port = start.environment.get(b"MASTER_ADDR"), start.environment.get(b"MASTER_PORT")
    gpus = visible(start.environment.get(b"CUDA_VISIBLE_DEVICES"), place.gpus)
    return Process(
        place.node,
        place.task,
        local,
        rank,
        world,
        master.raw if master is not None and master.known else None,
        port.raw if port is not None and port.known else None,
        gpus,
        place.cpus,
        False,
    )


def _locals_early(starts: Sequence[Start]) -> bool:
    """Return whether one LOCAL_RANK for all is a mistake: where each task sees one GPU, 0 is right for every task."""
    several = all(start.place.gpus is not None and len(start.place.gpus) > 1 for start in starts)
    raws = {start.environment[b"LOCAL_RANK"].raw for start in starts if b"LOCAL_RANK" in start.environment}
    return several and len(raws) == 1


def _is_empty(text: Optional[Text]) -> bool:
    return text is not None and text.known and not text.raw


def _program_breaches(starts: Sequence[Start], shape: Optional[StepShape], scene: Scene) -> List[Breach]:
    """Return what is wrong where the script itself hands every task RANK, WORLD_SIZE and MASTER_ADDR."""
    tasks = shape.tasks if shape is not None else 1
    ranks = [_set(start, b"RANK") for start in starts]
    if all(_is_empty(start.environment.get(b"RANK")) for start in starts):
        ranks = [-1] * len(starts)
    worlds = {_set(start, b"WORLD_SIZE") for start in starts}
    if tasks is None or tasks < 2 or None in ranks or len(worlds) != 1 or not all(start.python for start in starts):
        return []
    world = next(iter(worlds))
    same = _same(ranks)
    numbers: Dict[str, Optional[int]] = {"tasks": tasks, "world size": world, "rank": None if same == -1 else same}
    numbers["nodes"] = shape.nodes if shape is not None else 1
    texts = {name: starts[0].environment[raw] for name, raw in _NAMED if raw in starts[0].environment}
    if not _locals_early(starts):
        texts.pop("local-text", None)
    if (world == tasks or same == -1) and len(set(ranks)) == 1:
        return [Breach("env-rank", numbers, texts)]
    if len(set(ranks)) != tasks or set(ranks) != set(range(tasks)):
        return [Breach("env-rank", numbers, texts, (b"repeated",))] if world == tasks else []
    if world is not None and world != tasks:
        return [Breach("world-size", numbers, texts)]
    return _master_breaches(starts, numbers, texts) if world == tasks else []


_NAMED = (
    ("master", b"MASTER_ADDR"),
    ("port", b"MASTER_PORT"),
    ("rank-text", b"RANK"),
    ("world-text", b"WORLD_SIZE"),
    ("local-text", b"LOCAL_RANK"),
)


def _master_breaches(
    starts: Sequence[Start], numbers: Dict[str, Optional[int]], texts: Dict[str, Text]
) -> List[Breach]:
    masters = [start.environment.get(b"MASTER_ADDR") for start in starts]
    nodes = {start.place.node for start in starts}
    if all(master is None for master in masters):
        names = tuple(name for name in starts[0].dropped if name == b"MASTER_ADDR")
        return [Breach("master-empty", numbers, texts, names)] if names else []
    lost = tuple(name for name in starts[0].dropped if name == b"MASTER_PORT" and name in starts[0].missing)
    if lost:
        return [Breach("master-empty", numbers, texts, lost)]
    if None in nodes or len(nodes) < 2 or any(master is None or not master.known for master in masters):
        return []
    if all(is_local(master) for master in masters):
        return [Breach("master-local", numbers, texts)]
    raws = {master.raw for master in masters if master is not None}
    if len(raws) > 1 and all(raw.startswith((b"\0host:", b"\0addr:")) for raw in raws):
        return [Breach("master-differs", numbers, texts)]
    lead = next((start for start in starts if _set(start, b"RANK") == 0), None)
    named = _node_named(masters[0]) if masters[0] is not None else None
    if lead is not None and named is not None and lead.place.node is not None and named != lead.place.node:
        return [Breach("master-elsewhere", numbers, texts)]
    return []
