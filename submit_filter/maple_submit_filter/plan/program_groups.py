"""Programs that read their ranks from the environment: the world they form, and where it contradicts itself."""

from __future__ import annotations

import re
from typing import Dict, List, Optional, Sequence, Set, Tuple

from ..launchers.devices import ON_CPU, PLACING, seen
from ..launchers.registry import LAUNCHERS
from ..play.outputs import is_cut, is_many, node_of
from ..play.scene import Scene, Start, StepShape
from ..site.facts import NodeKind
from ..types.launch_plan import Breach, Group, Process
from ..types.text import EMPTY, Text, number
from . import breach_kinds
from .breaches import is_local, is_outside, per_node, raw_of, same
from .groups import Verdict, flaws


def of_programs(starts: Sequence[Start], shape: Optional[StepShape], scene: Scene, sure: bool) -> Verdict:
    """Return the one group of the programs of a step, ranks from RANK where it is set, else the task's number."""
    sampled = shape is not None and shape.sampled
    tasks = shape.tasks if shape is not None else len(starts)
    processes = tuple(_program(start, tasks, scene.allocation.node_kinds) for start in starts)
    unplaced = sampled or any(start.place.node is None for start in starts)
    on_node = None if unplaced else same(list(per_node(starts).values()))
    complete = not sampled and all(start.place.task is not None or shape is None for start in starts)
    world = same([process.world_size for process in processes])
    nodes = (shape.nodes or None) if shape is not None else 1
    group = Group(
        _last(starts[0]),
        processes,
        nodes,
        on_node if complete else None,
        world,
        world,
        _agreed([process.master for process in processes]),
        _agreed([process.port for process in processes]),
        complete,
    )
    breaches = flaws(starts)
    if not breaches and sure and complete:
        breaches = tuple(_program_breaches(starts, shape, scene))
    if not breaches and sure and sampled:
        breaches = tuple(_sampled_breaches(starts, shape, scene))
    if sure and not breaches:
        breaches = _beyond_gpus(starts, scene) or _beyond_devices(starts, group, scene)
        breaches = breaches or (_fewer_gpus(starts, group, scene) if complete or sampled else ())
    breaches = breaches or _withheld(starts) or (_said_world(starts, shape, scene) if sure else ()) or _listed(starts)
    breaches = breaches or _local(starts, group, scene) or _outside(starts) or _told_apart(starts)
    breaches = breaches or (_no_port(starts) if sure else ())
    return Verdict((group,), breaches)


def _last(start: Start) -> str:
    return start.trail.links[-1].name if start.trail.links else ""


def _own_hosts(start: Start) -> bool:
    launcher = LAUNCHERS.get(_last(start))
    return launcher is not None and launcher.own_hosts


def _agreed(values: Sequence[Optional[bytes]]) -> Optional[bytes]:
    """Return what all processes were told, None where one was told something else or it is not known."""
    return values[0] if values and len(set(values)) == 1 else None


def number_in(start: Start, name: bytes) -> Optional[int]:
    return number(start.environment.get(name))


def _program(start: Start, tasks: Optional[int], kinds: Sequence[NodeKind]) -> Process:
    place = start.place
    rank = number_in(start, b"RANK") if b"RANK" not in start.missing else place.task
    world = number_in(start, b"WORLD_SIZE") if b"WORLD_SIZE" not in start.missing else tasks
    local = number_in(start, b"LOCAL_RANK") if b"LOCAL_RANK" not in start.missing else place.local_task
    master, port = start.environment.get(b"MASTER_ADDR"), start.environment.get(b"MASTER_PORT")
    gpus = seen(start.environment.get, kinds, place.gpus)
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
        place.pinned,
        tuple((name, text.raw) for name in PLACING for text in [start.environment.get(name)] if text and text.literal),
    )


def _locals_early(starts: Sequence[Start], kinds: Sequence[NodeKind]) -> bool:
    """Return whether one LOCAL_RANK for all is a mistake: where each task sees GPUs of its own, 0 is right for all.

    An empty one is right for none.
    """
    raws = {start.environment[b"LOCAL_RANK"].raw for start in starts if b"LOCAL_RANK" in start.environment}
    views = {seen(start.environment.get, kinds, start.place.gpus) for start in starts}
    shared = next(iter(views)) if len(views) == 1 else None
    return raws == {b""} or (len(raws) == 1 and shared is not None and len(shared) > 1)


def _is_empty(text: Optional[Text]) -> bool:
    return text is not None and text.known and not text.raw


def _program_breaches(starts: Sequence[Start], shape: Optional[StepShape], scene: Scene) -> List[Breach]:
    """Return what is wrong where the script itself hands every task RANK, WORLD_SIZE and MASTER_ADDR."""
    tasks = shape.tasks if shape is not None else 1
    ranks = [number_in(start, b"RANK") for start in starts]
    if all(_is_empty(start.environment.get(b"RANK")) for start in starts):
        ranks = [-1] * len(starts)
    worlds = {number_in(start, b"WORLD_SIZE") for start in starts}
    if tasks is None or tasks < 2 or None in ranks or len(worlds) != 1 or not all(start.python for start in starts):
        return []
    world = next(iter(worlds))
    alike = same(ranks)
    numbers: Dict[str, Optional[int]] = {"tasks": tasks, "world size": world, "rank": None if alike == -1 else alike}
    numbers["nodes"] = shape.nodes if shape is not None else 1
    texts = {name: starts[0].environment[raw] for name, raw in _NAMED if raw in starts[0].environment}
    if not _locals_early(starts, scene.allocation.node_kinds):
        texts.pop("local-text", None)
    if (world == tasks or alike == -1) and len(set(ranks)) == 1:
        return [Breach(breach_kinds.ENV_RANK, numbers, texts)]
    if alike is not None and world not in (None, 1, numbers["nodes"]) and _one_master(starts):
        both = (breach_kinds.ENV_RANK, breach_kinds.WORLD_SIZE)  # neither hides the other
        wrong = (world or 0) < tasks or not _others(starts, world or 0, scene)
        return [Breach(kind, numbers, texts) for kind in both] if wrong else []
    if len(set(ranks)) != tasks or set(ranks) != set(range(tasks)):
        return [Breach(breach_kinds.ENV_RANK, numbers, texts, (b"repeated",))] if world == tasks else []
    if world is not None and world != tasks and not (world > tasks and _others(starts, world, scene)):
        return [Breach(breach_kinds.WORLD_SIZE, numbers, texts)]
    return _master_breaches(starts, numbers, texts) if world == tasks else []


def _one_master(starts: Sequence[Start]) -> bool:
    """Return whether all are told one node of the job to meet at: they are one world then, whatever its size."""
    masters = [start.environment.get(b"MASTER_ADDR") for start in starts]
    return (
        masters[0] is not None and node_of(masters[0]) is not None and len({raw_of(master) for master in masters}) == 1
    )


def _sampled_breaches(starts: Sequence[Start], shape: Optional[StepShape], scene: Scene) -> List[Breach]:
    """Return where the samples of a large world are told another size, or do not agree on where to meet.

    What is so of the samples is so of all of it. A larger world may wait for ranks of another start.
    """
    tasks, ranks = shape.tasks if shape is not None else None, [number_in(start, b"RANK") for start in starts]
    world = same([number_in(start, b"WORLD_SIZE") for start in starts])
    if tasks is None or None in ranks or len(set(ranks)) != len(ranks) or not all(start.python for start in starts):
        return []
    if world is None:
        return []
    numbers: Dict[str, Optional[int]] = {"tasks": tasks, "world size": world, "rank": None}
    numbers["nodes"] = shape.nodes if shape is not None else None
    texts = {name: starts[0].environment[raw] for name, raw in _NAMED if raw in starts[0].environment}
    if world == tasks:
        return _master_breaches(starts, numbers, texts)
    by_task = all(rank == start.place.task for rank, start in zip(ranks, starts))
    wrong = by_task and (world < tasks or not _others(starts, world, scene))
    return [Breach(breach_kinds.WORLD_SIZE, numbers, texts)] if wrong else []


def _others(starts: Sequence[Start], world: int, scene: Scene) -> bool:
    """Return whether something else may start the rest of a world: what nobody has read, or a step beside this one."""
    beside = [start for start in scene.starts if start.trail.key != starts[0].trail.key]
    return scene.strangers or any(
        number_in(start, b"WORLD_SIZE") == world and (start.trail.background or starts[0].trail.background)
        for start in beside
    )


def _beyond_gpus(starts: Sequence[Start], scene: Scene) -> Tuple[Breach, ...]:
    """Return whether the script hands out local ranks beyond the GPUs of any node: by convention each takes its own."""
    locals_said = [number_in(start, b"LOCAL_RANK") for start in starts if b"LOCAL_RANK" not in start.missing]
    known = [rank for rank in locals_said if rank is not None]
    counts = [kind.gpus for kind in scene.allocation.node_kinds]
    most = max([count for count in counts if count is not None], default=0) if None not in counts else 0
    most = most if counts else scene.allocation.gpus_per_node or 0  # of an undescribed node: what was asked
    words = b" ".join(text.raw for start in starts[:1] for text in start.program)
    if not known or not most or max(known) < most or scene.shares_gpus or ON_CPU.search(words):
        return ()
    return (Breach(breach_kinds.LOCAL_RANK_BEYOND, {"workers": max(known) + 1, "node": most}, {}),)


def _withheld(starts: Sequence[Start]) -> Tuple[Breach, ...]:
    """Return whether python programs of several tasks lack what the script sets for them, and nothing else reads."""
    if len(starts) < 2 or not all(start.python and start.trail.links for start in starts):
        return ()
    lacking = [late for late in starts if late.missing and late.place.node != 0] or list(starts)
    names = tuple(name for name in lacking[0].missing if all(name in start.dropped for start in lacking))
    alike = all(start.missing == lacking[0].missing for start in lacking)
    return (Breach(breach_kinds.WITHHELD, {}, {}, names),) if names and alike else ()


def _said_world(starts: Sequence[Start], shape: Optional[StepShape], scene: Scene) -> Tuple[Breach, ...]:
    """Return whether the script says a larger world than the tasks of its one launch, whose ranks nobody can read."""
    size = number(starts[0].environment.get(b"WORLD_SIZE"))
    tasks = shape.tasks if shape is not None else None
    key, background = starts[0].trail.key, starts[0].trail.background
    alone = not background and all(start.trail.key == key for start in scene.starts)
    if size is None or tasks is None or size <= tasks or not alone or scene.strangers or scene.other_jobs:
        return ()
    if not all(start.python for start in starts) or b"RANK" not in starts[0].missing:
        return ()
    texts = {"world-text": starts[0].environment[b"WORLD_SIZE"]}
    return (Breach(breach_kinds.WORLD_SAID, {"tasks": tasks, "world size": size}, texts),)


def _listed(starts: Sequence[Start]) -> Tuple[Breach, ...]:
    """Return whether python programs on several nodes are told all nodes' names, as one word, for the master's."""
    masters = [start.environment.get(b"MASTER_ADDR") for start in starts]
    if len(starts) < 2 or not all(start.python and start.place.node is not None for start in starts):
        return ()
    if not all(is_many(master) for master in masters) and not all(is_cut(master) for master in masters):
        return ()
    if len({start.place.node for start in starts}) < 2:
        return ()  # the list of one node is its name
    return (Breach(breach_kinds.LIST_SAID, {}, {name: starts[0].environment[raw] for name, raw in _NAMED[:1]}),)


def _local(starts: Sequence[Start], group: Group, scene: Scene) -> Tuple[Breach, ...]:
    """Return whether ranks whose nodes are not known meet at localhost, and are more than one node has GPUs for."""
    counts = [kind.gpus for kind in scene.allocation.node_kinds]
    most = max((count for count in counts if count is not None), default=0)
    nodes, masters = scene.allocation.nodes, [start.environment.get(b"MASTER_ADDR") for start in starts]
    if not nodes or nodes < 2 or not most or None in counts or (group.world_size or 0) <= most or scene.shares_gpus:
        return ()
    if all(start.place.node is not None for start in starts) or not all(start.python for start in starts):
        return ()
    if not all(is_local(master) for master in masters) or masters[0] is None:
        return ()
    return (Breach(breach_kinds.LOCAL_SAID, {"nodes": nodes}, {"master": masters[0]}),)


def _fewer_gpus(starts: Sequence[Start], group: Group, scene: Scene) -> Tuple[Breach, ...]:
    """Return whether ranks of one world on one node are more than the devices that they can see together."""
    if scene.shares_gpus or (group.world_size or 0) < 2 or not all(start.python for start in starts):
        return ()
    if b"MASTER_ADDR" in starts[0].missing and not _own_hosts(starts[0]):
        return ()  # nobody meets anybody by torch's rules, nor is told which device is whose
    if ON_CPU.search(b" ".join(text.raw for start in starts[:1] for text in start.program)):
        return ()
    tasks: Dict[Optional[int], int] = {}
    devices: Dict[Optional[int], Set[bytes]] = {}
    for process in group.processes:
        if process.gpus is None or process.node is None:
            return ()
        tasks[process.node] = tasks.get(process.node, 0) + 1
        devices.setdefault(process.node, set()).update(process.gpus)
    worst = max(tasks, key=lambda node: tasks[node] - len(devices[node]), default=None)
    if worst is None or not devices[worst] or tasks[worst] <= len(devices[worst]):
        return ()
    return (Breach(breach_kinds.GPUS_FEWER, {"workers": tasks[worst], "visible": len(devices[worst])}, {}),)


def _beyond_devices(starts: Sequence[Start], group: Group, scene: Scene) -> Tuple[Breach, ...]:
    """Return whether a rank is given a device of a number that no node has: it sees none."""
    counts = [kind.gpus for kind in scene.allocation.node_kinds]
    most = max((count for count in counts if count is not None), default=0)
    if not most or None in counts or len(starts) < 2 or not all(start.python for start in starts):
        return ()
    seen_first = [process.gpus[0] for process in group.processes if process.gpus]
    beyond = [int(device) for device in seen_first if device.isdigit() and len(device) < 4 and int(device) >= most]
    return (Breach(breach_kinds.DEVICE_BEYOND, {"device": max(beyond), "node": most}, {}),) if beyond else ()


def _outside(starts: Sequence[Start]) -> Tuple[Breach, ...]:
    """Return whether the ranks of a step are told a master that is none of the job's nodes."""
    masters = [start.environment.get(b"MASTER_ADDR") for start in starts]
    if len(starts) < 2 or not all(start.python and is_outside(master) for start, master in zip(starts, masters)):
        return ()
    return (Breach(breach_kinds.MASTER_OUTSIDE, {}, {"master": masters[0] or EMPTY}),)


def _no_port(starts: Sequence[Start]) -> Tuple[Breach, ...]:
    """Return whether the ranks of a step are told a port beyond all that there are."""
    ports = [start.environment.get(b"MASTER_PORT") for start in starts]
    beyond = all(port is not None and port.literal and (number(port) or 0) > 65535 for port in ports)
    if len(starts) < 2 or not beyond or not all(start.python for start in starts):
        return ()
    return (Breach(breach_kinds.NO_PORT, {}, {"port": ports[0] or EMPTY}),)


_MEETS = re.compile(rb"(?:coordinator|dist.url|init.method|master|rdzv)[\w.-]*(?:=|\Z)")
_HOSTS = re.compile(rb"\0(?:host|addr|name):(\d+)\0")


def _told_apart(starts: Sequence[Start]) -> Tuple[Breach, ...]:
    """Return whether a program of several nodes is told its own node as the place where all of them meet."""
    if len({start.place.node for start in starts}) < 2 or not all(start.python for start in starts):
        return ()
    for words in zip(*(start.program for start in starts)):
        hosts = {_HOSTS.search(word.raw) for word in words}
        own = None not in hosts and len({match.group(1) for match in hosts if match}) > 1
        index = starts[0].program.index(words[0])
        named = words[0].raw if b"=" in words[0].raw else starts[0].program[index - 1].raw if index else b""
        if own and _MEETS.search(named):
            return (Breach(breach_kinds.TOLD_APART, {}, {"master": words[0]}),)
    return ()


_NAMED = (
    ("master", b"MASTER_ADDR"),
    ("port", b"MASTER_PORT"),
    ("rank-text", b"RANK"),
    ("world-text", b"WORLD_SIZE"),
    ("local-text", b"LOCAL_RANK"),
)


def _all_drawn(ports: Sequence[Optional[Text]]) -> bool:
    """Return whether each process has drawn a port of its own."""
    raws = {port.raw for port in ports if port is not None}
    return len(raws) == len(ports) > 1 and all(raw.startswith(b"\0task:") for raw in raws)


def _said_apart(starts: Sequence[Start]) -> bool:
    """Return whether processes of one world, each of another rank, are told different ports."""
    ports = [start.environment.get(b"MASTER_PORT") for start in starts]
    ranks = [number_in(start, b"RANK") for start in starts]
    sizes = {number_in(start, b"WORLD_SIZE") for start in starts}
    size = next(iter(sizes)) if len(sizes) == 1 else None
    one_world = size is not None and len(starts) <= size and len(set(ranks)) == len(ranks)
    if not one_world or not all(rank is not None and size is not None and rank < size for rank in ranks):
        return False
    return len({port.raw for port in ports if port is not None and port.raw.isdigit()}) > 1


def _master_breaches(
    starts: Sequence[Start], numbers: Dict[str, Optional[int]], texts: Dict[str, Text]
) -> List[Breach]:
    masters = [start.environment.get(b"MASTER_ADDR") for start in starts]
    nodes = {start.place.node for start in starts}
    if all(master is None for master in masters):
        names = tuple(name for name in starts[0].dropped if name == b"MASTER_ADDR")
        return [Breach(breach_kinds.MASTER_EMPTY, numbers, texts, names)] if names else []
    lost = tuple(name for name in starts[0].dropped if name == b"MASTER_PORT" and name in starts[0].missing)
    if lost:
        return [Breach(breach_kinds.MASTER_EMPTY, numbers, texts, lost)]
    if _said_apart(starts):
        return [Breach(breach_kinds.PORT_DIFFERS, numbers, texts)]
    if None in nodes or len(nodes) < 2 or any(master is None or not master.known for master in masters):
        return []
    if all(is_local(master) for master in masters):
        return [Breach(breach_kinds.MASTER_LOCAL, numbers, texts)]
    raws = {master.raw for master in masters if master is not None}
    if len(raws) > 1 and all(raw.startswith((b"\0host:", b"\0addr:", b"\0name:")) for raw in raws):
        return [Breach(breach_kinds.MASTER_DIFFERS, numbers, texts)]
    if _all_drawn([start.environment.get(b"MASTER_PORT") for start in starts]):
        return [Breach(breach_kinds.PORT_DIFFERS, numbers, texts)]
    if all(is_many(master) for master in masters):
        return [Breach(breach_kinds.MASTER_LIST, numbers, texts)]
    lead = next((start for start in starts if number_in(start, b"RANK") == 0), None)
    named = node_of(masters[0]) if masters[0] is not None else None
    if lead is not None and named is not None and lead.place.node is not None and named != lead.place.node:
        return [Breach(breach_kinds.MASTER_ELSEWHERE, numbers, texts)]
    return []
