"""mpirun and mpiexec inside a Slurm job: ranks over the job's nodes.

Which maker's it is, is often not known: a value counts only where all that take the words agree.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, List, Optional, Set, Tuple

from ..launch import Link
from ..links import followed, link
from ..scene import MOST_TASKS, Scene, StepShape, Trail
from ..shell_state import Place, Shell
from ..text import Text, number, plain, show, token
from . import srun_options
from .grammar import Reading
from .mpi_options import TABLES, makers, readings

if TYPE_CHECKING:
    from ..programs import Programs

_PER_NODE = re.compile(rb"ppr:(\d{1,5}):node")
_RANK = (b"PMI_RANK", b"PMIX_RANK", b"OMPI_COMM_WORLD_RANK")
_SIZE = (b"PMI_SIZE", b"OMPI_COMM_WORLD_SIZE")
_OF_SRUN = (b"SLURM_PROCID", b"SLURM_LOCALID", b"SLURM_NODEID", b"SLURMD_NODENAME")
_LOCAL = (b"MPI_LOCALRANKID", b"OMPI_COMM_WORLD_LOCAL_RANK", b"PALS_LOCAL_RANKID")


def start(programs: Programs, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]) -> None:
    """Start the program in every rank."""
    scene = programs.scene
    takers = readings(argv, 1, makers(argv[0].raw))
    if not takers:
        scene.note(trail.span.start if trail.span else -1, "no mpiexec takes these options")
        scene.hidden = True
        _refuse(argv, trail, scene)
        return
    reading = next(iter(takers.values()))
    if len({one.program for one in takers.values()}) > 1 or reading.contexts or reading.program >= len(argv):
        scene.note(trail.span.start if trail.span else -1, "this mpiexec line is read differently by different makers")
        scene.hidden = True
        return
    one = link("mpiexec", argv, reading)
    trail = followed(trail, one, reading)
    shape = _shape(one, programs)
    scene.shapes[trail.key] = (trail, shape)
    run_in(programs, argv[reading.program :], shell, trail, shape, given)


def _refuse(argv: List[Text], trail: Trail, scene: Scene) -> None:
    """Say so where the line holds an option of srun that no maker's mpiexec has: then none would start it."""
    for word in argv[1:]:
        name = word.raw.split(b"=")[0]
        if not word.literal or name[:2] != b"--" or name not in srun_options.TABLE.rows:
            continue
        if any(name in TABLES[maker].rows for maker in makers(argv[0].raw)):
            continue
        launcher = show(argv[0].raw)
        refused = "%s does not take %s, which is an option of srun" % (launcher, show(name))
        one = link(launcher, argv, Reading((), 1, False, ""))
        scene.shapes[trail.key] = (
            trail._replace(links=trail.links + (one,)),
            StepShape(None, None, None, False, refused),
        )
        return


def _shape(one: Link, programs: Programs) -> StepShape:
    allocation = programs.scene.allocation
    if one.open or any(one.option(name) for name in ("hostfile", "machinefile", "f", "hosts", "host", "configfile")):
        tasks = _number(one, "np", "n", "c")
        return StepShape(None, None if one.open else tasks, None, False, "")
    tasks, per_node = _number(one, "np", "n", "c"), _per_node(one)
    nodes = allocation.nodes
    if tasks is None and one.option("np", "n", "c") is None:
        tasks = nodes * per_node if nodes and per_node else None
    if per_node and tasks is not None:
        used = -(-tasks // per_node)
        if nodes is not None and used > nodes:
            return StepShape(nodes, tasks, None, False, "")
        whole = [per_node] * (tasks // per_node) + ([tasks % per_node] if tasks % per_node else [])
        return StepShape(used, tasks, tuple(whole), tasks > MOST_TASKS, "")
    if nodes == 1 and tasks:
        return StepShape(1, tasks, (tasks,), tasks > MOST_TASKS, "")
    if tasks is not None and tasks == allocation.tasks and nodes and allocation.tasks_per_node:
        return StepShape(nodes, tasks, (allocation.tasks_per_node,) * nodes, tasks > MOST_TASKS, "")
    return StepShape(None, tasks, None, bool(tasks and tasks > MOST_TASKS), "")


def _number(one: Link, *names: str) -> Optional[int]:
    found = one.option(*names)
    return number(found.value) if found is not None else None


def _per_node(one: Link) -> Optional[int]:
    found = one.option("map-by")
    if found is not None and found.value is not None:
        match = _PER_NODE.match(found.value.raw)
        return int(match.group(1)) if match else None
    return _number(one, "ppn", "npernode", "N", "perhost", "grr")


def run_in(
    programs: Programs, program: List[Text], shell: Shell, trail: Trail, shape: StepShape, given: Optional[Text]
) -> None:
    """Start *program* in every rank of *shape*, with the rank variables of the usual makers."""
    for place in spots(shape, shell):
        child = shell.spawn(place)
        values = ((_RANK, place.task), (_SIZE, shape.tasks), (_LOCAL, place.local_task))
        for names, value in values:
            for name in names:
                text = plain(b"%d" % value) if value is not None else plain(token(b"vary", name + place.name))
                child.set(name, text, exported=True)
        for name in _OF_SRUN:  # whether srun starts the ranks' daemons, and these differ, depends on the maker
            child.set(name, plain(token(b"vary", name + place.name)), exported=True)
        programs.execute(list(program), child, trail, given)


def spots(shape: StepShape, shell: Shell) -> List[Place]:
    """Return the places of the ranks, in the order of the nodes. *nodes* 0 in a shape: not even the first is known."""
    base = shell.place
    if shape.tasks is None:
        return [Place(None, None, None, base.name + b".any", base.gpus, None)]
    if shape.layout is None:
        return [
            Place(0 if rank == 0 and shape.nodes != 0 else None, rank, None, base.name + b".%d" % rank, base.gpus, None)
            for rank in range(min(shape.tasks, MOST_TASKS))
        ]
    pairs = [(node, local) for node, tasks in enumerate(shape.layout) for local in range(tasks)]
    keep = _kept(pairs, len(shape.layout))
    return [
        Place(node, rank, local, base.name + b".%d" % rank, base.gpus, None)
        for rank, (node, local) in enumerate(pairs)
        if (node, local) in keep
    ]


def _kept(pairs: List[Tuple[int, int]], nodes: int) -> Set[Tuple[int, int]]:
    if len(pairs) <= MOST_TASKS:
        return set(pairs)
    return {pair for pair in pairs if pair[0] in (0, 1, nodes - 1)}
