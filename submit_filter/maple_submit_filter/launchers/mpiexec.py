"""mpirun and mpiexec: ranks over the job's nodes.

Which maker's it is, is often not known: a value counts only where all that take the words agree.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Dict, List, Optional, Sequence, Set, Tuple

from ..play.program_owner import MPI, foreign, likely, maker, unaware
from ..play.scene import MOST_TASKS, Scene, StepShape, Trail
from ..play.shell_state import Parent, Place, Shell
from ..site.facts import Site
from ..types.launch_plan import Around, Link
from ..types.text import Text, show
from . import srun_options
from .grammar import Reading, followed, link_of, read
from .mpi.layout import (
    FILES,
    LISTS,
    NAMES,
    UNKNOWN,
    Host,
    Layout,
    Names,
    hosts,
    identify,
    layout,
    meant,
    names_of,
    pals_total,
    pass_on,
    per_node,
    total,
)
from .mpi.options import PALS, TABLES, makers, readings
from .record import Launcher

if TYPE_CHECKING:
    from ..play.scene import Starter


def start(programs: Starter, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]) -> None:
    """Start the program in every rank."""
    scene = programs.scene
    takers = _takers(argv, scene, trail.around)
    if not takers:
        scene.note(trail.span.start if trail.span else -1, "no known mpiexec accepts these options")
        scene.hidden = True
        _refuse(argv, trail, scene)
        if trail.key not in scene.shapes:
            _in_doubt(argv, trail, scene)
        return
    reading = next(iter(takers.values()))
    if len({taker.program for taker in takers.values()}) > 1 or reading.contexts or reading.program >= len(argv):
        scene.note(trail.span.start if trail.span else -1, "implementations of mpiexec read this line differently")
        scene.hidden = True
        return
    trail = followed(trail, link_of("mpiexec", argv, reading), reading)
    link = trail.links[-1]
    refused, strange = _no_number(link), foreign(argv[0].raw, MPI, trail.around)
    if refused and not strange:
        _stop(link, refused, trail._replace(links=trail.links[:-1]), scene)
        return
    whose = meant(tuple(takers), argv[reading.program :])
    strange_file = _strange_file(link, whose, shell, scene)
    if strange_file:
        _stop(link, strange_file, trail._replace(links=trail.links[:-1]), scene)
        return
    shape = _shape(link, whose, shell, scene)
    if shell.exports(_STEERED):
        shape = shape.anywhere()
    scene.shapes[trail.key] = (trail, shape)
    known = tuple(NAMES) if strange and not scene.presumes else whose  # an unknown one may set any of them
    names = names_of(known) if scene.site.scheduler == "pbs" else UNKNOWN
    run_in(programs, argv[reading.program :], shell, trail, shape, given, names, link)


def _takers(argv: List[Text], scene: Scene, around: Around) -> Dict[str, Reading]:
    """Return what each maker's program would read; where it is presumed whose it is, that one's alone."""
    takers = readings(argv, 1, makers_here(argv[0].raw, scene.site, around))
    owner = likely(argv[0].raw, around, scene.site) if scene.presumes else ""
    return {owner: takers[owner]} if owner in takers else takers


def makers_here(name: bytes, site: Site, around: Around) -> Sequence[str]:
    """Return whose program it may be: the site's, where the site file says so and it is surely that one."""
    own = maker(name, around, site)
    return (own,) if own else makers(name)


def _refuse(argv: List[Text], trail: Trail, scene: Scene) -> None:
    """Say so where the line holds an option that is another launcher's alone: then none would start it."""
    if foreign(argv[0].raw, MPI, trail.around):
        return  # whose it is, nobody knows
    here = makers_here(argv[0].raw, scene.site, trail.around)
    for word in _before_the_program(argv):
        name = word.raw.split(b"=")[0]
        if not word.literal or not name.startswith(b"-") or _taken(name, here):
            continue
        owner = _owner(name, argv, here)
        if not owner:
            continue
        launcher = show(argv[0].raw)
        refused = "%s does not take %s, which is an option of %s" % (launcher, show(name), _SAID.get(owner, owner))
        _stop(
            link_of(launcher, argv, read(TABLES[owner], argv, 1) if owner in TABLES else NOTHING), refused, trail, scene
        )
        return


def _in_doubt(argv: List[Text], trail: Trail, scene: Scene) -> None:
    """Note the line as the maker reads it that refuses fewest of its words, with the doubt that it is another's."""
    every = [read(TABLES[maker], argv, 1) for maker in makers_here(argv[0].raw, scene.site, trail.around)]
    reading = min(every, key=lambda reading: len(reading.refused), default=NOTHING)
    trail = followed(trail, link_of("mpiexec", argv, reading), reading)
    scene.shapes[trail.key] = (trail, StepShape(None, None, None, False, reading.problem))


def _stop(link: Link, refused: str, trail: Trail, scene: Scene) -> None:
    followed_by = trail._replace(links=trail.links + (link,))
    scene.shapes[trail.key] = (followed_by, StepShape(None, None, None, False, refused))


def _before_the_program(argv: List[Text]) -> List[Text]:
    """Return the words that surely stand before the program, with an option in doubt taken to have a value."""
    out: List[Text] = []
    value = False
    for word in argv[1:]:
        option = word.raw.startswith(b"-")
        if not option and (not value or _PROGRAM.search(word.raw)):
            break
        value = option and b"=" not in word.raw
        out.append(word)
    return out


def _no_number(link: Link) -> str:
    """Return what every maker says of a number of ranks that is none, "" where it is one or not known."""
    option = link.option("np", "n", "c")
    value = option.value if option is not None else None
    if option is None or value is None or not value.literal or (value.raw.isdigit() and int(value.raw)):
        return ""
    return "%s wants a number of ranks, and gets %s" % (show(option.spelling), show(value.raw) or "nothing")


def _strange_file(link: Link, takers: Tuple[str, ...], shell: Shell, scene: Scene) -> str:
    """Return what Hydra says of a host file of Open MPI's, `NAME slots=N` (MPICH 4.0.2), "" where it is none."""
    named = link.option(*FILES)
    if takers != ("hydra",) or named is None or named.value is None or link.option(*LISTS) is not None:
        return ""
    content = scene.content(named.value, shell.cwd)
    slots = content is not None and not content.open and b" slots=" in content.raw
    return "Hydra (MPICH) does not take slots= in a host file: it wants HOST:N" if slots else ""


def _taken(name: bytes, here: Sequence[str]) -> bool:
    return any(_spelt(name) in TABLES[maker].rows for maker in here)


def _spelt(name: bytes) -> bytes:
    """One dash or two: the tables have two."""
    return b"--" + name.lstrip(b"-")


def _owner(name: bytes, argv: List[Text], here: Sequence[str]) -> str:
    """Return whose option it is: srun's, or another maker's where it is known which one is here; "" unknown.

    PALS may take its options shortened.
    """
    if any(row.startswith(_spelt(name)) for row in TABLES["pals"].rows) and "pals" in here:
        return ""
    if name[:2] == b"--" and name in srun_options.TABLE.rows:
        return "srun"
    if len(here) != 1:
        return ""
    others = [maker for maker in TABLES if maker not in here and _spelt(name) in TABLES[maker].rows]
    whole = [maker for maker in others if readings(argv, 1, (maker,))]
    return next(iter(whole or others), "")


NOTHING = Reading((), 1, False, "")
# Open MPI 4.1 and PRRTE 3 "MCA parameters"; Intel MPI 2021 "Hydra environment variables"; MPICH 4 mpiexec.
# PALS_NRANKS, PALS_PPN and PALS_HOSTFILE are read (mpi/layout.py).
_STEERED = re.compile(
    rb"((OMPI|PRTE|PMIX)_MCA_(rmaps|orte|prte|ras|plm)_\w+|I_MPI_(PERHOST|JOB_\w+|PROCESS_\w+|HYDRA_(HOST|RMK)\w*)"
    rb"|HYDRA_(HOST|RMK)\w*)\Z"
)
_PROGRAM = re.compile(
    rb"/|\.(?:py|sh)\Z|\A(?:python[\d.]*|bash|sh|env|torchrun|accelerate|deepspeed|apptainer|singularity)\Z"
)
_SAID = {"pals": "PALS", "hydra": "Hydra (MPICH)", "intelmpi": "Intel MPI", "openmpi": "Open MPI"}


def _shape(link: Link, takers: Tuple[str, ...], shell: Shell, scene: Scene) -> StepShape:
    tasks = total(link)[1] if takers != ("pals",) else pals_total(link, shell)
    if link.open:
        return StepShape(None, None, None, False, "")
    alone = unaware(link.argv[0].raw, link.around) and scene.allocation.nodes != 1
    if alone and link.option(*FILES, *LISTS) is None:  # one that knows nothing of the job starts all ranks on one node
        return StepShape(None, tasks, None, bool(tasks and tasks > MOST_TASKS), "")
    if scene.site.scheduler != "pbs":
        return _by_slots(link, takers, shell, scene) or _in_slurm(link, tasks, scene)
    ranks = layout(link, takers, hosts(link, shell, scene), shell)
    if ranks is None:
        return StepShape(_only_node(link, shell, scene), tasks, None, bool(tasks and tasks > MOST_TASKS), "")
    return _laid_out(ranks)


def _only_node(link: Link, shell: Shell, scene: Scene) -> Optional[int]:
    """Return 1 where all ranks are on one node, however many they are; 0 where not even the first host is known."""
    named = hosts(link, shell, scene)
    if named is None:
        return None if link.option(*FILES, *LISTS) is None else 0
    return 1 if len(named) == 1 else None


def _laid_out(places: Layout) -> StepShape:
    ranks = sum(count for _, count in places)
    by_node = dict(places)
    if [node for node, _ in places] != sorted(by_node):
        return StepShape(0, ranks, None, ranks > MOST_TASKS, "")
    return StepShape(
        len(places), ranks, tuple(by_node.get(node, 0) for node in range(max(by_node) + 1)), ranks > MOST_TASKS, ""
    )


def _by_slots(link: Link, takers: Tuple[str, ...], shell: Shell, scene: Scene) -> Optional[StepShape]:
    """Return the shape where Open MPI fills the slots of one node after the other; so it is presumed, not proven."""
    given = scene.allocation
    if not scene.presumes or takers != ("openmpi",) or not given.nodes or not given.tasks_per_node:
        return None
    ranks = layout(link, takers, [Host(node, given.tasks_per_node, True) for node in range(given.nodes)], shell)
    return _laid_out(ranks) if ranks is not None and link.option(*FILES, *LISTS) is None else None


def _in_slurm(link: Link, tasks: Optional[int], scene: Scene) -> StepShape:
    if link.option(*FILES, *LISTS, "configfile"):
        return StepShape(None, tasks, None, False, "")
    allocation = scene.allocation
    each, nodes = per_node(link)[1], allocation.nodes
    if tasks is None and link.option("np", "n", "c") is None:
        tasks = nodes * each if nodes and each else None
    if each and tasks is not None:
        used = -(-tasks // each)
        if nodes is not None and used > nodes:
            return StepShape(nodes, tasks, None, False, "")
        whole = [each] * (tasks // each) + ([tasks % each] if tasks % each else [])
        return StepShape(used, tasks, tuple(whole), tasks > MOST_TASKS, "")
    if nodes == 1 and tasks:
        return StepShape(1, tasks, (tasks,), tasks > MOST_TASKS, "")
    if tasks is not None and tasks == allocation.tasks and nodes and allocation.tasks_per_node:
        return StepShape(nodes, tasks, (allocation.tasks_per_node,) * nodes, tasks > MOST_TASKS, "")
    return StepShape(None, tasks, None, bool(tasks and tasks > MOST_TASKS), "")


def run_in(
    programs: Starter,
    program: List[Text],
    shell: Shell,
    trail: Trail,
    shape: StepShape,
    given: Optional[Text],
    names: Names = UNKNOWN,
    line: Optional[Link] = None,
) -> None:
    """Start *program* in every rank of *shape*, with the rank variables of *names* and what *line* passes on."""
    parent = Parent(shell.variables)
    for place in spots(shape, shell, line):
        child = shell.spawn(place, parent)
        if line is not None:
            pass_on(line, child)
        on_node = shape.layout[place.node] if shape.layout is not None and place.node is not None else None
        identify(child, place, shape.tasks, names, on_node)
        programs.execute(list(program), child, trail, given)


def spots(shape: StepShape, shell: Shell, line: Optional[Link] = None) -> List[Place]:
    """Return the places of the ranks, in their order. *nodes* 0 in a shape: not even the first is known."""
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
    if line is not None and _in_turn(line):
        pairs.sort(key=lambda pair: (pair[1], pair[0]))
    return [
        Place(node, rank, local, base.name + b".%d" % rank, base.gpus, None)
        for rank, (node, local) in enumerate(pairs)
        if (node, local) in keep
    ]


def _in_turn(link: Link) -> bool:
    """Return whether Open MPI deals the ranks to the nodes in turn: what it ranks by is what it maps by (mpirun(1))."""
    ranked, mapped = link.option("rank-by"), link.option("map-by")
    policy = ranked if ranked is not None else mapped
    value = policy.value.raw if policy is not None and policy.value is not None else b""
    return value.split(b":")[0] == b"node" or link.option("bynode") is not None


def _kept(pairs: List[Tuple[int, int]], nodes: int) -> Set[Tuple[int, int]]:
    if len(pairs) <= MOST_TASKS:
        return set(pairs)
    return {pair for pair in pairs if pair[0] in (0, 1, nodes - 1)}


LAUNCHER = Launcher(
    "mpiexec",
    dict.fromkeys(
        b"mpirun mpiexec mpiexec.hydra mpirun.mpich mpiexec.mpich mpirun.openmpi mpiexec.openmpi orterun "
        b"prterun".split(),
        start,
    ),
    MPI,
    called=("mpiexec", "mpirun"),
    table=PALS,
    outer=True,
    steered=_STEERED,
)
