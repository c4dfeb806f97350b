"""GPUs that no rank uses."""

from __future__ import annotations

import re
from typing import Iterator, Optional, Tuple

from ...cures.launch_edits import Edits, change, placed, put
from ...launchers.devices import mask_of
from ...launchers.rank_words import takers
from ...launchers.registry import AGENTS, OUTER
from ...play.program_owner import likely
from ...site.facts import Site
from ...types.edits import Fix, Safety
from ...types.findings import Finding, counted
from ...types.job import Job
from ...types.launch_plan import Group, LaunchPlan, Link, Step
from ...types.text import number
from .. import rule
from ..limits import asked, gpu_count

_OPTION = {name: agent.ranks for name, agent in AGENTS.items()}
_SAYS_SO = ("gpus-per-node", "gres", "gpus", "ngpus")


# What puts ranks on nodes of the user's own choice.
_PLACED = ("nodelist", "relative", "exclude", "hostfile", "machinefile", "f", "hosts", "host", "hostlist", "H",
           "configfile", "N-nodes", "het-group", "offset", "o")  # fmt: skip

# A variable that counts the lines of the node file; sort -u and uniq count nodes.
_COUNTED_LINES = re.compile(
    rb"(?m)^[^#\n]*?\b(\w+)=[\"']?(?:\$\(|`)[ \t]*(?:wc -l[ \t]*<[ \t]*|cat[ \t]+)[\"']?\$\{?PBS_NODEFILE\}?[\"']?"
    rb"(?:[ \t]*\|[ \t]*wc -l)?[ \t]*[`)]"
)
_GPUS = re.compile(rb"(?i)gpus?")
_HOROVOD = re.compile(rb"(?im)^[^#\n]*?(?:horovod|(?<![a-z])hvd(?![a-z]))")
_NODE_FILE = b"\0nodefile\0"  # the value of $PBS_NODEFILE


@rule("MPL319", "fewer ranks than GPUs on a node")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """A launcher starts one rank for each GPU that it is to use.

    Wrong: #PBS -l select=2:ngpus=4 ... NP=$(wc -l < $PBS_NODEFILE); mpirun -np $NP python train_hvd.py (two ranks)
    Wrong: #SBATCH --gpus-per-node=4 ... accelerate launch --num_machines=2 --num_processes=4 (the total: two on each)
    Wrong: #SBATCH --gpus-per-node=4 ... torchrun --nproc-per-node=$SLURM_NTASKS_PER_NODE, where that is 1
    Wrong: #SBATCH --gpus-per-node=4 ... torchrun train.py --nproc-per-node=4 (an argument of train.py)
    Right: #SBATCH --gpus-per-node=4 ... torchrun --nproc-per-node=4 train.py
    Why:   the job trains, exits with 0, and pays for GPUs that do nothing. Maple only shows the change: a rank
           may use several.
    """
    given, steps = plan.allocation.gpus_per_node, [step for step in plan.steps if step.groups]
    if mask_of(plan.allocation.node_kinds) in plan.assigned:
        return  # the script shares the devices out itself
    if len(steps) != 1:
        return
    step = steps[0]
    idle = _idle(step, plan, job)
    if idle:
        at = (step.links[0].name_span if step.links else None) or step.span
        by_lines = "node file" in idle
        other = (
            "with mpiprocs in select the file has a line for each GPU"
            if by_lines
            else "start a rank for each GPU, or request fewer"
        )
        yield Finding("MPL319", idle, at, fixes=() if by_lines else _on_all(step, plan, job, site),
                      help=other)  # fmt: skip
        return
    given = given or _share(plan) or gpu_count(job.settings, "gpus-per-node") or gpu_count(job.settings, "gres")
    if not given or not any(asked(job, name) for name in _SAYS_SO):
        return
    ranks = _ranks(step)
    if ranks is None or ranks >= given or step.breaches or step.maybe:
        return
    link = step.links[-1]
    option = link.option(_OPTION[link.name])
    taken_for_a_node = AGENTS[link.name].total_ranks and step.groups[0].declared == given
    if ranks != 1 and not taken_for_a_node:
        return  # several GPUs for a rank, where a model is split
    at = (option.span if option is not None else None) or link.name_span or step.span
    says = "%d rank%s per node start%s, but the job requests %d GPUs per node" % (
        ranks, "s"[: ranks != 1], "s"[: ranks == 1], given)  # fmt: skip
    yield Finding(
        "MPL319", says, at, fixes=_one_each(step, given), help="start a rank for each GPU, or request fewer GPUs"
    )


def _share(plan: LaunchPlan) -> int:
    """Return the GPUs of each node where the job's total is said, 0 where it does not go out evenly."""
    total, nodes = plan.allocation.gpus or 0, plan.allocation.nodes or 1
    return total // nodes if total % nodes == 0 else 0


def _idle(step: Step, plan: LaunchPlan, job: Job) -> str:
    """Return what is idle where the one world of the job is smaller than what it has, wherever it is put; "" nothing.

    One rank on each node may use all of its GPUs, and so may two on a card of two tiles.
    """
    given, ranks = plan.allocation, step.tasks or 0
    group = step.groups[0]
    if len(step.groups) != 1 or not step.links or step.links[0].name not in OUTER or step.breaches or step.maybe:
        return ""
    if step.background or plan.strangers or any(_on_hosts_of_choice(link) for link in step.links):
        return ""
    fewer = step.nodes and given.nodes and step.nodes < given.nodes and step.links[0].option("nodes") is None
    if fewer and ranks > 1 and _meets(group) and (group.launcher in AGENTS or _has_gpus(plan, job)):
        return "all %d ranks start on %s, but the job has %s nodes" % (ranks, counted(step.nodes, "node"), given.nodes)
    gpus = (given.nodes or 0) * (given.gpus_per_node or 0)
    if given.node_file and ranks == sum(given.node_file) < gpus and ranks > 1 and _lines_are_gpus(step, plan, job):
        return "%d ranks of one GPU each start, one for each line of the node file, but the job has %d GPUs" % (
            ranks, gpus)  # fmt: skip
    if _one_gpu_each(step, job) and 1 < ranks < gpus and step.nodes == given.nodes and group.launcher not in AGENTS:
        return "%d ranks of one GPU each start, but the job has %d GPUs" % (ranks, gpus)
    return ""


def _has_gpus(plan: LaunchPlan, job: Job) -> bool:
    """Return whether the nodes have GPUs, by what was asked for or by what all are that it may get."""
    kinds = plan.allocation.node_kinds
    return any(asked(job, name) for name in _SAYS_SO) or bool(kinds) and all(kind.gpus for kind in kinds)


def _on_hosts_of_choice(link: Link) -> bool:
    """Return whether a launch line names hosts itself; the node file of PBS names all that the job has."""
    named = [option for option in link.options if option.name in _PLACED]
    return any(option.value is None or option.value.raw != _NODE_FILE for option in named)


def _lines_are_gpus(step: Step, plan: LaunchPlan, job: Job) -> bool:
    """Return whether the ranks, counted by lines of the node file, are meant to have a GPU each.

    Ranks of Horovod have; else the variable of their number says so: `NGPUS=$(wc -l < $PBS_NODEFILE)`.
    """
    total = step.links[0].option("n", "np")
    if total is None or total.value is None or step.groups[0].launcher in AGENTS or not asked(job, "select"):
        return False
    counts = _COUNTED_LINES.findall(job.source)
    return bool(counts) and any(map(_GPUS.search, counts)) or bool(counts and _HOROVOD.search(job.source))


def _on_all(step: Step, plan: LaunchPlan, job: Job, site: Site) -> Tuple[Fix, ...]:
    """Start as many ranks on each node of the job as the line says for one."""
    link, nodes = step.links[0], plan.allocation.nodes
    total, each = link.option("n", "np", "ntasks"), link.option("ppn", "npernode")
    if each is None and nodes:
        return _spread(step, link, nodes, plan, job, site)
    count = number(each.value) if each is not None else None
    edits = change(total, b"%d" % (count * nodes), "MPL319") if count and nodes and step.nodes != nodes else None
    return (
        (Fix(tuple(edits), Safety.ASK, "start %d ranks on each of %d nodes" % (count or 0, nodes or 0)),)
        if edits
        else ()
    )


def _spread(step: Step, link: Link, nodes: int, plan: LaunchPlan, job: Job, site: Site) -> Tuple[Fix, ...]:
    """Put the ranks on all nodes by Open MPI's option, or start a task for each GPU where each has one."""
    ranks, gpus = step.tasks or 0, plan.allocation.gpus_per_node or 0
    if step.nodes != nodes and ranks % nodes == 0 and _is_open_mpi(link, site):
        words = b"--map-by ppr:%d:node" % (ranks // nodes)
        edits: Edits = placed(link, words, "MPL319")
        return (Fix(tuple(edits), Safety.ASK, words.decode()),) if edits else ()
    total, cpus = link.option("ntasks"), link.option("cpus-per-task")
    if link.name != "srun" or total is None or step.nodes != nodes or not gpus or not _one_gpu_each(step, job):
        return ()
    values = [("ntasks", b"%d" % (nodes * gpus))]
    each = number(cpus.value) if cpus is not None else None
    values += [("cpus-per-task", b"%d" % max(each * ranks // (nodes * gpus), 1))] if each else []
    edits = put(link, values, "MPL319")
    return (Fix(tuple(edits), Safety.ASK, "start %d ranks, one for each GPU" % (nodes * gpus)),) if edits else ()


def _is_open_mpi(link: Link, site: Site) -> bool:
    """Return whether the line is one for Open MPI, by its words or by the module that was loaded."""
    of = likely(link.argv[0].raw, link.around, site) if link.name == "mpiexec" and link.argv else ""
    return takers(link, site) == ("openmpi",) or (of == "openmpi" and "openmpi" in takers(link, site))


def _meets(group: Group) -> bool:
    """Return whether the ranks of a launch line form a world, as far as it says."""
    own = any(process.rank is not None and process.world_size for process in group.processes)
    return group.launcher in AGENTS or group.master is not None or own


def _one_gpu_each(step: Step, job: Job) -> bool:
    """Return whether each task is given one GPU."""
    option = step.links[0].option("gpus-per-task")
    value = option.value.raw if option is not None and option.value is not None else None
    return (value or job.settings.value("gpus-per-task")) == b"1"


def _one_each(step: Step, given: int) -> Tuple[Fix, ...]:
    """Start a rank for each GPU; accelerate counts those of all machines."""
    link, name = step.links[-1], _OPTION[step.links[-1].name]
    total = given * (step.nodes or 1) if AGENTS[link.name].total_ranks else given
    spelled = AGENTS[link.name].spelled(name)
    edits = change(link.option(name), b"%d" % total, "MPL319") if link.option(name) else put(
        link, [(spelled, b"%d" % total)], "MPL319")  # fmt: skip
    return (Fix(tuple(edits), Safety.ASK, "--%s=%d" % (spelled, total)),) if edits else ()


def _ranks(step: Step) -> Optional[int]:
    """Return the ranks on each node that each take a GPU, None where that is not what the launcher starts."""
    link = step.links[-1] if step.links else None
    if link is None or link.name not in _OPTION or len(step.groups) != 1:
        return None
    group = step.groups[0]
    return group.ranks_per_node if all(process.binds_gpu for process in group.processes) else None
