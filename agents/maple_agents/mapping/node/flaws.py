"""What of a node's CPUs, GPUs and network ports does not go together for its tasks, and ranks it does not tell apart.

Such ranks are seen as a task each: workers of an agent whose wrapper binds every one by its local rank, and ranks that
a script starts one by one in the background. A wrapper is played as any script is, once for each local rank; it is
never run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from maple_submit_filter.answer.decision import decide
from maple_submit_filter.site.facts import GENERIC_SLURM
from maple_submit_filter.types.launch_plan import LaunchPlan, Process, Step
from maple_submit_filter.types.submission import Submission
from maple_submit_filter.types.text import NUL

from ..size_files import Reads, text_of
from ..topology import Hardware
from .bindings import Binding
from .cpu_lists import Cpus
from .resources import NodeTasks, some


class Flaw(NamedTuple):
    """*kind*: "cores", "far" or "network". *ranks*: the local ranks that it is about. *says*: a sentence."""

    kind: str
    ranks: tuple[int, ...]
    says: str


def flaws(node: NodeTasks, hardware: Hardware) -> Iterator[Flaw]:
    """Yield what does not go together: tasks on the same cores, too few of them, or far from GPU and network port."""
    bound = node.binding
    if bound is not None:
        crowded = list(_shared(bound, node, hardware)) or list(_narrow(bound, node))
        yield from crowded or _far(bound, node, hardware) or _split(bound, node, hardware)
    yield from _far_ports(node, hardware)
    yield from _unconfined(node, hardware)


def _shared(bound: Binding, node: NodeTasks, hardware: Hardware) -> Iterator[Flaw]:
    """Yield the first tasks that are on the same cores and should not be."""
    if not bound.listed:
        return  # a policy knows what it does
    share = 0 if any(len(task.gpus) > 1 for task in node.tasks) else bound.share
    parts = len(set(hardware.near))
    for at, first in enumerate(bound.of):
        others = [other for other, cpus in enumerate(bound.of) if other != at and cpus and first and cpus & first]
        if not first or not others:
            continue
        if bound.wide and (parts < 2 or (len(others) + 1) * parts < len(bound.of) + parts):
            continue  # a domain is there for all ranks whose GPUs are near it
        same = bound.own and all(bound.of[other] == first for other in others)
        together = bound.alike or same and _beside(node, (at, *others), hardware)
        enough = len(first) > max(len(others), share) if bound.own else len(first) == hardware.cores
        if not bound.wide and together and enough:
            continue  # as a domain that these ranks share
        common = sorted(first & (bound.of[others[0]] or first))
        what = f"the same node of memory ({some(common)})" if bound.domains else f"the same cores ({some(common)})"
        yield Flaw("cores", (at, *others), f"local ranks {some((at, *others))} are bound to {what}")
        return


def _beside(node: NodeTasks, tasks: tuple[int, ...], hardware: Hardware) -> bool:
    """Return whether the GPUs of all these tasks are known to be near the same cores."""
    gpus = [gpu for task in tasks for gpu in node.tasks[task].gpus]
    near = {hardware.near[gpu] if gpu is not None and gpu < len(hardware.near) else None for gpu in gpus}
    return len(near) == 1 and None not in near


def _narrow(bound: Binding, node: NodeTasks) -> Iterator[Flaw]:
    """Yield a task whose workers are more than the cores that they have together."""
    for at, task in enumerate(node.tasks):
        count = len(task.cpus) if task.cpus is not None and not bound.domains else bound.room
        if count and len(task.gpus) > max(count, 1):
            few = f"{count} cores" if count > 1 else "one core"
            yield Flaw("cores", (at,), f"{len(task.gpus)} workers of a node are bound to {few} together")
            return


def _far(bound: Binding, node: NodeTasks, hardware: Hardware) -> list[Flaw]:
    """Return one flaw with every rank of a node that is bound near another GPU, and not near its own."""
    near, far = hardware.near, []
    if len(set(near)) < 2 or bound.domains or not bound.listed and not all(task.chosen for task in node.tasks):
        return []
    if bound.alike and len(node.tasks) > 1:
        return []
    ranks = [(task, gpu) for task in node.tasks for gpu in task.gpus]
    for local, (task, gpu) in enumerate(ranks):
        own = near[gpu] if gpu is not None and gpu < len(near) else Cpus()
        folded = _folded(task.cpus, hardware)
        if own and folded and not folded & own and any(folded & other for other in near):
            far.append((local, gpu, folded))
    if not far:
        return []
    local, gpu, folded = far[0]
    closest = next(index for index, other in enumerate(near) if folded & other)
    says = f"local rank {local} drives GPU {gpu}, and is bound to cores near GPU {closest}"
    more = f"; {len(far)} of {len(ranks)} ranks of a node are" if len(far) > 1 else ""
    return [Flaw("far", tuple(rank for rank, _, _ in far), says + more)]


def _split(bound: Binding, node: NodeTasks, hardware: Hardware) -> list[Flaw]:
    """Return that a rank's listed cores run on from one socket into the next, while those of others do not."""
    sockets = hardware.of_sockets()
    if not bound.listed or bound.domains or len(sockets) < 2 or len(node.tasks) < 2 or len(set(hardware.near)) < 2:
        return []
    over = []
    for at, task in enumerate(node.tasks):
        folded = _folded(task.cpus, hardware)
        if any(max(socket) in folded and max(socket) + 1 in folded for socket in sockets[:-1]):
            over.append((at, folded))
    if not over or len(over) == len(node.tasks) or any(len(task.gpus) > 1 for task in node.tasks):
        return []
    at, folded = over[0]
    return [Flaw("far", (at,), f"local rank {at} is bound to cores of two sockets ({some(sorted(folded))})")]


def _far_ports(node: NodeTasks, hardware: Hardware) -> Iterator[Flaw]:
    """Yield ranks whose network port is beside another GPU than their own."""
    beside = hardware.gpu_ports
    far = [
        (at, gpu, task.ports)
        for at, task in enumerate(node.tasks)
        for gpu in task.gpus
        if task.ports and gpu is not None and gpu < len(beside) and beside[gpu] not in task.ports
    ]
    if far:
        at, gpu, ports = far[0]
        says = f"local rank {at} drives GPU {gpu} beside network port {beside[gpu]}, and uses {some(sorted(ports))}"
        more = f"; {len(far)} of {len(node.tasks)} ranks of a node use a far one" if len(far) > 1 else ""
        yield Flaw("network", tuple(rank for rank, _, _ in far), says + more)


def _unconfined(node: NodeTasks, hardware: Hardware) -> Iterator[Flaw]:
    """Yield that Cray MPICH shall take the port of a rank's node of memory, and a rank is on several."""
    if node.policy != "NUMA" or len(hardware.numa) < 2:
        return
    for at, task in enumerate(node.tasks):
        folded = _folded(task.cpus, hardware)
        met = sum(1 for domain in hardware.numa if domain & folded)
        if node.free or met > 1:
            on = f"{met} nodes of memory" if met > 1 else "all nodes of memory"
            yield Flaw("network", (at,), f"the port is that of a rank's node of memory, and local rank {at} is on {on}")
            return


def _folded(cpus: Cpus | None, hardware: Hardware) -> Cpus:
    """Return cores for CPUs: the second thread of core c is numbered c plus all cores (Linux, on the sites known)."""
    count = hardware.cores or 0
    return Cpus(cpu % count for cpu in cpus or ()) if count else cpus or Cpus()


_SHELL = re.compile(rb"#![^\n]*\b(?:ba)?sh\b")
_MOST = 16  # workers of a node
_PLAIN = re.compile(rb"[\w./=:,+-]+\Z")


def workers(step: Step, plan: LaunchPlan, source: bytes, read: Reads) -> Step | None:
    """Return an agent's line with a task for each worker, bound as its wrapper binds it; None where none is read."""
    agent = step.links[-1] if step.links else None
    if agent is None or agent.option("no-python") is None or not step.program or len(step.groups) != 1:
        return None
    wrapper = text_of(step.program[0], step, plan, source, read)
    group = step.groups[0]
    here = [process for process in group.processes if process.node == 0]
    if wrapper is None or not _SHELL.match(wrapper[1]) or len(here) != group.ranks_per_node or len(here) > _MOST:
        return None
    bound = [_bound(process, wrapper[1], step.program[1:]) for process in here]
    made = _shared_by_ranks(plan, [process for process in bound if process is not None])
    if len(made) < len(here) or not any(process.pinned for process in made):
        return None
    return step._replace(
        links=(), program=step.program[1:], tasks_per_node=len(made), groups=(group._replace(processes=made),)
    )


def _shared_by_ranks(plan: LaunchPlan, ranks: Sequence[Process]) -> tuple[Process, ...]:
    """Return ranks as tasks, each with its share of the CPUs that one task of the job asks for."""
    asked = plan.allocation.cpus_per_task or 0
    return tuple(
        rank._replace(task=at, cpus=(rank.cpus or asked) // len(ranks) or None) for at, rank in enumerate(ranks)
    )


def _bound(process: Process, wrapper: bytes, program: tuple[bytes, ...]) -> Process | None:
    """Return a worker as its wrapper leaves it, None where that is not known."""
    played = _played(wrapper, program, process.local_rank, process.world_size or 1)
    if played is None or process.local_rank is None:
        return None
    started = played.groups[0].processes[0]
    gpus = started.gpus if started.gpus is not None and len(started.gpus) == 1 else process.gpus
    return process._replace(pinned=started.pinned, placing=started.placing, gpus=gpus)


def _played(wrapper: bytes, program: tuple[bytes, ...], local: int | None = None, world: int = 1) -> Step | None:
    """Return what a wrapper with these words starts for a local rank, None where that is not one known process."""
    if any(NUL in word or not _PLAIN.match(word) for word in program[:2]):
        return None
    words = b" ".join(word if _PLAIN.match(word) else b"word" for word in program)
    heading = b"export LOCAL_RANK=%d RANK=%d WORLD_SIZE=%d MASTER_ADDR=localhost MASTER_PORT=1\nset -- %s\n" % (
        local or 0, local or 0, world, words)  # fmt: skip
    script = b"#!/bin/bash\n" + heading + wrapper
    asked = Submission("slurm", (b"sbatch", b"w.sh"), script, "file", b"w.sh", b"/", 1000, {})
    played = decide(asked, GENERIC_SLURM).plan
    starts = played.steps if played is not None else ()
    whole = [start for start in starts if len(start.groups) == 1 and start.groups[0].processes]
    if played is None or played.unread or len(whole) != 1 or whole[0].maybe or whole[0].unknown:
        return None
    return whole[0]


def behind_unread(step: Step) -> Step:
    """Return a line whose tasks run a script that nobody could read, bound as the words behind it bind them.

    The words are played as the script would start them; any other line comes back as it is.
    """
    group = step.groups[0] if len(step.groups) == 1 else None
    here = [process for process in group.processes if process.node == 0] if group is not None else []
    if group is None or not here or not step.program[:1] or not step.program[0].endswith(b".sh"):
        return step
    played = _played(b'exec "$@"\n', step.program[1:])
    pinned = played.groups[0].processes[0].pinned if played is not None else None
    if played is None or not pinned:
        return step
    made = tuple(process._replace(pinned=pinned) for process in group.processes)
    return step._replace(program=step.program[:1] + played.program, groups=(group._replace(processes=made),))


def one_by_one(plan: LaunchPlan) -> Iterator[Step]:
    """Yield lines that start the ranks of one world one after the other, as a task each on one node."""
    lines: dict[int, list[Step]] = {}
    for step in plan.steps:
        if not step.links and step.background and not step.maybe and not step.unknown and len(step.groups) == 1:
            lines.setdefault(step.line, []).append(step)
    for steps in lines.values():
        ranks = [process for step in steps for process in step.groups[0].processes]
        first = steps[0].groups[0]
        alone = len(ranks) == len(steps) == first.world_size and {rank.node for rank in ranks} == {0}
        if alone and [rank.local_rank for rank in ranks] == list(range(len(ranks))) and len(ranks) > 1:
            made = _shared_by_ranks(plan, ranks)
            yield steps[0]._replace(groups=(first._replace(processes=made),), tasks_per_node=len(made))
