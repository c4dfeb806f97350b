"""srun: tasks over nodes, inside a job. Measured on Slurm 22.05.8, 24.11.5 and 26.05.5; where they differ: unknown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, List, Optional, Tuple

from ..play import image, working_folder
from ..play.program_owner import SCHEDULER
from ..play.scene import MOST_TASKS, Scene, StepShape, Trail
from ..play.shell_state import Parent, Place, Shell
from ..play.slurm_allocation import WHOLE_NODE, gpus_in, gres_gpus
from ..play.slurm_variables import devices
from ..types.launch_plan import Link, device_numbers
from ..types.text import Text, host, number, plain, token, unknown
from .grammar import Reading, followed, link_of, read
from .record import Launcher, RankWords
from .srun_options import TABLE, Row, differ, program_of, rows

if TYPE_CHECKING:
    from ..play.scene import Starter

# What srun sets in a task besides, and whether it differs from task to task (srun(1), "OUTPUT ENVIRONMENT VARIABLES").
OF_A_STEP = {
    **dict.fromkeys((
        b"SLURM_LAUNCH_NODE_IPADDR", b"SLURM_SRUN_COMM_HOST", b"SLURM_SRUN_COMM_PORT", b"SLURM_STEP_NODELIST",
        b"SLURM_STEP_LAUNCHER_PORT", b"SLURM_STEP_RESV_PORTS", b"SLURM_RESV_PORTS", b"SLURM_STEP_TASKS_PER_NODE",
        b"SLURM_STEP_ID", b"SLURM_STEPID", b"SLURM_DISTRIBUTION", b"SLURM_UMASK", b"SLURM_PRIO_PROCESS",
        b"SLURM_JOB_START_TIME", b"SLURM_JOB_END_TIME", b"SLURM_JOB_UID", b"SLURM_JOB_USER", b"SLURM_JOB_ACCOUNT",
        b"SLURM_JOB_QOS", b"SLURM_CONF", b"SLURM_WORKING_CLUSTER", b"SLURM_TRES_PER_TASK", b"SLURM_CPU_BIND",
        b"SLURM_CPU_BIND_TYPE", b"SLURM_CPU_BIND_VERBOSE", b"SLURM_MEM_BIND", b"SLURM_MEM_BIND_TYPE",
        b"SLURM_OVERCOMMIT", b"SLURM_OOMKILLSTEP", b"SRUN_DEBUG",
    ), False),
    **dict.fromkeys((
        b"SLURM_GTIDS", b"SLURM_TASK_PID", b"SLURM_TOPOLOGY_ADDR", b"SLURM_TOPOLOGY_ADDR_PATTERN",
        b"SLURM_CPU_BIND_LIST", b"SLURM_MEM_BIND_LIST", b"SLURM_STEP_GPUS", b"SLURM_SHARDS_ON_NODE",
    ), True),
}  # fmt: skip
# What the MPI plug-in sets, which the line names or the site's MpiDefault does (pmix_v4, pmi2, cray_shasta ...).
OF_ITS_MPI = {
    **dict.fromkeys((
        b"PMI_SIZE", b"PMI_JOBID", b"PMI_UNIVERSE_SIZE", b"PMI_SHARED_FD", b"PMI_CONTROL_PORT", b"PMI_LOCAL_SIZE",
        b"PMI_CONTROL_FD", b"PMI_SPOOL_DIR", b"PMIX_NAMESPACE", b"PMIX_SERVER_URI2", b"PMIX_SERVER_URI3",
        b"PMIX_SERVER_URI4", b"PMIX_SECURITY_MODE", b"PMIX_GDS_MODULE", b"PMIX_HOSTNAME", b"PMIX_VERSION",
        b"PMIX_MCA_psec", b"PALS_APID", b"PALS_SPOOL_DIR",
    ), False),
    **dict.fromkeys((
        b"PMI_RANK", b"PMI_FD", b"PMI_LOCAL_RANK", b"PMIX_RANK", b"PALS_RANKID", b"PALS_LOCAL_RANKID", b"PALS_NODEID",
    ), True),
}  # fmt: skip
OF_A_STEP_AND_ITS_MPI = {**OF_A_STEP, **OF_ITS_MPI}
_HOST = re.compile(rb"\0host:(\d+)\0")
# Of srun(1) 22.05 to 25.11, "INPUT ENVIRONMENT VARIABLES": those that lay out ranks and that nobody here reads.
_STEERED = re.compile(rb"SLURM_(HOSTFILE|OVERCOMMIT|ARBITRARY\w*|NTASKS_PER_(CORE|SOCKET|GPU|TRES)|SPREAD_JOB)\Z")


def start(programs: Starter, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]) -> None:
    """Start the program in every task."""
    reading = read(TABLE, argv, 1)
    link = link_of("srun", argv, reading)
    scene = programs.scene
    jobid = link.option("jobid")
    other_job = jobid is not None and (jobid.value is None or jobid.value.raw != b"\0job\0")
    many = _by_task(argv, reading, link, shell, scene)
    unread = many is None and link.option("multi-prog") is not None
    if reading.program >= len(argv) or link.option("het-group") or unread or other_job:
        scene.note(trail.span.start if trail.span else -1, "this srun line could not be followed")
        scene.hidden = True
        return
    trail = followed(trail, link, reading)
    shape = step_shape(link, shell, scene)
    if shell.exports(_STEERED):
        shape = shape.anywhere()
    if many is not None and shape.tasks is not None and not shape.refused:
        lacking = next((task for task in range(shape.tasks) if program_of(many, task) is None), None)
        if lacking is not None:
            shape = shape._replace(refused="the file of --multi-prog has no record for task %d" % lacking)
            scene.shapes[trail.key] = (trail, shape)
            return
    if many is not None and differ(many):
        scene.note(trail.span.start if trail.span else -1, "the tasks of this srun line run different programs")
        scene.hidden = True
        return
    scene.shapes[trail.key] = (trail, shape)
    parent = Parent(shell.variables)
    for place in places(shape, link, shell, scene, trail.background):
        child = shell.spawn(place, parent)
        _exported(link, child, scene)
        _announce(child, place, shape, scene, link)
        _settle(child, link)
        program = program_of(many, place.task) if many is not None and place.task is not None else None
        programs.execute(program or list(argv[reading.program :]), child, trail, given)


def _by_task(argv: List[Text], reading: Reading, link: Link, shell: Shell, scene: Scene) -> Optional[List[Row]]:
    """Return the lines of the file that --multi-prog names, None where there is none or it is not known."""
    if link.option("multi-prog") is None or reading.program >= len(argv):
        return None
    content = scene.content(argv[reading.program], shell.cwd)
    return rows(content) if content is not None and not content.open else None


def tasks_of(argv: List[Text], shell: Shell, scene: Scene) -> Optional[Tuple[List[Place], List[Text], Link]]:
    """Return where each task of an srun runs, its program, and itself; None where that is not known of all tasks."""
    reading = read(TABLE, argv, 1)
    link = link_of("srun", argv, reading)
    shape = step_shape(link, shell, scene)
    elsewhere = link.option("label", "output", "multi-prog") is not None  # other lines, another place, other programs
    if link.open or elsewhere or not shape.tasks or shape.refused or reading.program >= len(argv):
        return None
    all_places = places(shape, link, shell, scene)
    if shape.tasks > 1 and (len(all_places) != shape.tasks or any(place.node is None for place in all_places)):
        return None
    return all_places, list(argv[reading.program :]), link


def _env(shell: Shell, name: bytes) -> Tuple[bool, Optional[int]]:
    texts = shell.get(name).texts()
    return bool(texts), number(texts[0]) if texts else None


def _count(link: Link, shell: Shell, option: str, *variables: bytes) -> Tuple[bool, Optional[int], bool]:
    """Return whether a number was said, the number, and whether on the line itself."""
    given = link.option(option)
    if given is not None:
        raw = given.value.raw if given.value is not None else b""
        low = raw.split(b"-")[0]
        return True, (int(low) if low.isdigit() and len(low) < 8 else None), True
    for name in variables:
        there, value = _env(shell, name)
        if there:
            return True, value, False
    return False, None, False


def step_shape(link: Link, shell: Shell, scene: Scene) -> StepShape:
    """Return nodes, tasks and layout of the step."""
    if link.open:
        return StepShape(None, None, None, False, "")
    allocation = scene.allocation
    for name in ("ntasks", "ntasks-per-node", "cpus-per-task"):
        value = _value(link, name)
        if value is not None and value.literal and value.raw and not value.raw.strip().isdigit():
            refusal = 'Invalid numeric value "%s" for --%s' % (value.raw.decode("ascii", "replace"), name)
            return StepShape(None, None, None, False, refusal)
    _, nodes, nodes_here = _count(link, shell, "nodes", b"SLURM_JOB_NUM_NODES", b"SLURM_NNODES")
    tasks_said, tasks, tasks_here = _count(link, shell, "ntasks", b"SLURM_NTASKS", b"SLURM_NPROCS")
    per_said, per_node, per_here = _count(link, shell, "ntasks-per-node", b"SLURM_NTASKS_PER_NODE")
    if nodes is None and scene.site.scheduler == "pbs":
        nodes = allocation.nodes  # there is no srun; this is what a line brought from Slurm means
    listed = _listed(link)
    if listed is not None and not nodes_here:
        nodes = max(len(listed), 1) if link.option("ntasks") is None else len(listed)
    if not tasks_said:
        tasks = nodes * per_node if per_said and nodes and per_node else (nodes if not per_said else None)
    together = nodes * per_node if nodes and per_node else None
    if nodes_here and per_here and tasks_said and not tasks_here and tasks != together:
        tasks = None  # 22.05 keeps the tasks of the job and refuses the step, 24.11 starts what the line says
    if nodes is not None and tasks is not None and tasks < nodes:
        nodes = tasks
    if nodes_here and nodes is not None and allocation.nodes is not None and nodes > allocation.nodes:
        refusal = "the step asks for %d nodes, but the job has %d" % (nodes, allocation.nodes)
        return StepShape(nodes, tasks, None, False, refusal)
    layout = _layout(nodes, tasks, per_node, allocation.tasks_per_node is not None or allocation.shared is False)
    return StepShape(nodes, tasks, layout, bool(tasks and tasks > MOST_TASKS), "")


def _listed(link: Link) -> Optional[List[Optional[int]]]:
    """Return the nodes that -w names, by number; an entry is None when it is not known which node that is."""
    option = link.option("nodelist")
    if option is None or option.value is None:
        return None
    names = [name for name in option.value.raw.split(b",") if name]
    if option.value.raw == b"\0nodelist\0":
        return None
    return [int(match.group(1)) if match else None for match in map(_HOST.fullmatch, names)]


def _layout(
    nodes: Optional[int], tasks: Optional[int], per_node: Optional[int], even: bool
) -> Optional[Tuple[int, ...]]:
    if not nodes or not tasks:
        return None
    if nodes == 1:
        return (tasks,)
    if tasks == nodes or (per_node and tasks == nodes * per_node):
        return (tasks // nodes,) * nodes
    if not even:
        return None
    least, more = divmod(tasks, nodes)  # measured: 5 tasks on 2 evenly allocated nodes are laid out 3,2
    return (least + 1,) * more + (least,) * (nodes - more)


def places(shape: StepShape, link: Link, shell: Shell, scene: Scene, beside: bool = False) -> List[Place]:
    """Return where the tasks run: all of them, samples of a large step, or one that stands for an unknown number.

    *beside*: other steps run at the same time, so a step of some of the nodes may get any of them.
    """
    beside = beside or any(link.option(name) for name in ("exclusive", "exact"))
    listed = _listed(link)
    first = number(_value(link, "relative")) or 0
    # The job's own --distribution comes by the environment (srun(1)).
    inherited = shell.value(b"SLURM_DISTRIBUTION")
    spread = _raw(link, "distribution") or (inherited.raw if inherited is not None else b"") or b"block"
    width = _dealt(spread.split(b":")[0].split(b",")[0], shape.layout)
    if shape.tasks is None or shape.refused:
        alone = 0 if shape.nodes == 1 and listed is None and not first else None
        return [Place(alone, None, None, shell.place.name + b".any", _gpus(link, scene, shell, None, None), None)]
    if shape.layout is None or width is None:
        some = range(min(shape.tasks, MOST_TASKS))
        return [_place(shell, task, 0 if task == 0 else None, None, link, scene, None) for task in some]
    spots = _spots(shape.layout, width)
    keep = spots if len(spots) <= MOST_TASKS else _sample(spots, shape.layout)
    out = []
    for task, position, local in keep:
        node: Optional[int] = position + first
        if listed is not None:
            node = listed[position] if position < len(listed) else None
        elif shape.nodes != scene.allocation.nodes and not first:
            node = None if scene.allocation.nodes is None or beside else position
        out.append(_place(shell, task, node, local, link, scene, shape.layout[position]))
    return out


def _dealt(spread: bytes, layout: Optional[Tuple[int, ...]]) -> Optional[int]:
    """Return how many tasks a node is dealt at a time, 0 for all of its own; None where that is not known."""
    if spread in (b"block", b"*"):
        return 0
    if spread == b"cyclic":
        return 1
    width = int(spread[6:]) if spread.startswith(b"plane=") and spread[6:].isdigit() and len(spread) < 12 else 0
    even = layout is not None and len(set(layout)) == 1 and width > 0 and layout[0] % width == 0
    return width if even else None  # where planes do not come out even, other nodes get more tasks


def _spots(layout: Tuple[int, ...], width: int) -> List[Tuple[int, int, int]]:
    """Return (task, node position, local id) of every task. *width*: of each round, 0 where there is one."""
    pairs = [(position, local) for position, tasks in enumerate(layout) for local in range(tasks)]
    if width:
        pairs.sort(key=lambda pair: (pair[1] // width, pair[0], pair[1]))
    return [(task, position, local) for task, (position, local) in enumerate(pairs)]


def _sample(spots: List[Tuple[int, int, int]], layout: Tuple[int, ...]) -> List[Tuple[int, int, int]]:
    chosen = {0, 1, len(layout) - 1}
    return [spot for spot in spots if spot[1] in chosen][: MOST_TASKS * 2]


def _place(
    shell: Shell,
    task: int,
    node: Optional[int],
    local: Optional[int],
    link: Link,
    scene: Scene,
    tasks_here: Optional[int],
) -> Place:
    gpus = _gpus(link, scene, shell, local, tasks_here)
    return Place(node, task, local, shell.place.name + b".%d" % task, gpus, _cpus(link))


def _cpus(link: Link) -> Optional[int]:
    return number(_value(link, "cpus-per-task"))


def _value(link: Link, name: str) -> Optional[Text]:
    option = link.option(name)
    return option.value if option is not None else None


def _raw(link: Link, name: str) -> Optional[bytes]:
    value = _value(link, name)
    return value.raw if value is not None else None


def _gpus(
    link: Link, scene: Scene, shell: Shell, local: Optional[int], tasks_here: Optional[int]
) -> Optional[Tuple[bytes, ...]]:
    """Return the devices of the node that a task may see, None where that depends on binding or version."""
    if link.option("gpus") or link.option("gpus-per-socket") or link.option("tres-per-task") or link.open:
        return None
    total = scene.allocation.gpus_per_node
    here = _raw(link, "gpus-per-node") or _raw(link, "gres")
    if here is not None:
        total = gpus_in(here) if link.option("gpus-per-node") else gres_gpus(here)
    if total is None:
        return None
    return _bound(link, shell, device_numbers(total), local, tasks_here)


def _bound(
    link: Link, shell: Shell, every: Tuple[bytes, ...], local: Optional[int], tasks_here: Optional[int]
) -> Optional[Tuple[bytes, ...]]:
    bind = (_raw(link, "gpu-bind") or b"").split(b"verbose,")[-1]
    if bind == b"none":
        return every
    each = gpus_in(_raw(link, "gpus-per-task")) if link.option("gpus-per-task") else None
    inherited = shell.value(b"SLURM_GPUS_PER_TASK")
    if each is None and inherited is not None and here_unsaid(link):
        each = gpus_in(inherited.raw) if inherited.literal else None
        if each is None:
            return None
        if local is not None and not bind:
            return every[local * each : (local + 1) * each] or None
    if bind.startswith(b"map_gpu:") and local is not None:
        chosen = bind[8:].split(b",")
        return (chosen[local % len(chosen)],) if all(one_id.isdigit() for one_id in chosen) else None
    if bind.startswith((b"single:", b"per_task:")):
        each = gpus_in(bind.split(b":")[1])
    elif bind:
        return None
    if each is None:
        return every
    if local is None or tasks_here is None or each * tasks_here != len(every):
        return None  # 22.05 shows such a task every device, others bind it to its share
    return every[local * each : (local + 1) * each]


def here_unsaid(link: Link) -> bool:
    """Return whether the line itself says nothing about GPUs."""
    return not any(link.option(name) for name in ("gpus-per-task", "gpus-per-node", "gres", "gpus"))


def _exported(link: Link, child: Shell, scene: Scene) -> None:
    """Apply --export as srun does: ALL, NONE, names and values. What the script itself set comes from nowhere else."""
    raw = _raw(link, "export")
    if raw is None:
        value = child.value(b"SLURM_EXPORT_ENV")
        raw = value.raw if value is not None and value.literal else b"ALL"
    items = raw.split(b",")
    if b"ALL" not in items:
        kept = {item for item in items if b"=" not in item}
        lost = [name for name in child.variables if name not in kept and not name.startswith((b"SLURM_", b"SLURMD_"))]
        for name in lost:
            if name not in scene.assigned:
                del child.variables[name]
        child.withhold(name for name in lost if name in scene.assigned)
        child.lost = b"export"  # what a task gets then differs by version and site
    for item in items:
        name, equals, value_raw = item.partition(b"=")
        if equals:
            child.set(name, plain(value_raw), exported=True)


def _announce(child: Shell, place: Place, shape: StepShape, scene: Scene, link: Link) -> None:
    """Set the variables that differ by task, and those of the step."""
    node = place.node if place.node is not None else None
    position = _position(place, shape)
    own: List[Tuple[bytes, Optional[int]]] = [
        (b"SLURM_PROCID", place.task),
        (b"SLURM_LOCALID", place.local_task),
        (b"SLURM_NODEID", position),
    ]
    for name, value in own:
        text = plain(b"%d" % value) if value is not None else plain(token(b"vary", name + place.name))
        child.set(name, text, exported=True)
    for name, value in (
        (b"SLURM_NTASKS", shape.tasks), (b"SLURM_NPROCS", shape.tasks), (b"SLURM_STEP_NUM_TASKS", shape.tasks),
        (b"SLURM_NNODES", shape.nodes), (b"SLURM_STEP_NUM_NODES", shape.nodes),
    ):  # fmt: skip
        child.set(name, plain(b"%d" % value) if value is not None else unknown(name), exported=True)
    _announce_tasks_per_node(child, shape, link)
    name_text = plain(host(node)) if node is not None else plain(token(b"vary", b"node" + place.name))
    child.set(b"SLURMD_NODENAME", name_text, exported=True)
    if scene.site.gpu_request.style != WHOLE_NODE or not here_unsaid(link) or link.option("gpu-bind"):
        child.set(b"CUDA_VISIBLE_DEVICES", devices(place.gpus) if place.gpus else unknown(b"cvd"), exported=True)
    child.others = OF_A_STEP if _raw(link, "mpi") == b"none" else OF_A_STEP_AND_ITS_MPI


def _announce_tasks_per_node(child: Shell, shape: StepShape, link: Link) -> None:
    """srun sets the variable to what its own line says, where it keeps to that; else the tasks read the job's."""
    if link.option("ntasks-per-node") is None:
        return
    each = number(_value(link, "ntasks-per-node"))
    if shape.nodes and shape.tasks and each and shape.tasks == shape.nodes * each:
        child.set(b"SLURM_NTASKS_PER_NODE", plain(b"%d" % each), exported=True)
    elif not (shape.tasks and each):
        child.set(b"SLURM_NTASKS_PER_NODE", unknown(b"SLURM_NTASKS_PER_NODE"), exported=True)


def _settle(child: Shell, link: Link) -> None:
    """Go where the step begins, and into the image or behind the prolog that it is given."""
    folder = link.option("chdir")
    if folder is not None and folder.value is not None:
        working_folder.cd(child, [plain(b"cd"), plain(b"--"), folder.value])
    if link.option("container-workdir") is not None:
        child.cwd = None
    image.started(link, child)


def _position(place: Place, shape: StepShape) -> Optional[int]:
    """Return SLURM_NODEID: the node's position in the step."""
    if shape.nodes == 1:
        return 0
    if shape.layout is None or place.task is None or place.local_task is None:
        return None
    return place.node


LAUNCHER = Launcher(
    "srun",
    {b"srun": start},
    SCHEDULER,
    table=TABLE,
    outer=True,
    words=RankWords(b"SLURM_PROCID", b"SLURM_LOCALID", b"SLURM_NODEID", b"SLURM_NTASKS"),
    steered=_STEERED,
)
