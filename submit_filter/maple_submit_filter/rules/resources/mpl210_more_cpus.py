"""CPUs that no node has."""

from __future__ import annotations

from typing import Iterator, Optional, Sequence

from ...cures.launch_edits import change
from ...cures.option_edits import at, restate
from ...request.slurm import values
from ...site.facts import NodeKind, Site
from ...types.edits import Fix, Safety
from ...types.findings import Finding, counted
from ...types.job import Job
from ...types.launch_plan import LaunchPlan, Option, Step
from ...types.text import number
from .. import rule
from ..limits import judged

_COUNTED_OTHERWISE = ("overcommit", "core-spec", "thread-spec", "threads-per-core", "hint", "ntasks-per-core")


@rule("MPL210", "more CPUs than a node has", "slurm")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """The tasks of a node, with their CPUs, must fit one of the nodes that the request may land on.

    Wrong: #SBATCH --ntasks-per-node=4 --cpus-per-task=32, on nodes with 64 cores
    Right: #SBATCH --ntasks-per-node=4 --cpus-per-task=16
    Wrong: srun --ntasks-per-node=8 --cpus-per-task=8, on nodes that keep 8 of their 64 cores for the system
    Right: srun --ntasks-per-node=8 --cpus-per-task=7
    Why:   Slurm 22.05 says: CPU count per node can not be satisfied; of a step: More processors requested than
           permitted. No result depends on the number, so it is lowered unasked where nothing else can be meant:
           a step that names fewer nodes than the job has may want all of them.
    """
    if not judged(job, site) or any(name in job.settings for name in _COUNTED_OTHERWISE):
        return
    cpus = _cpus(plan.allocation.node_kinds)
    yield from _of_steps(plan, cpus) if cpus else ()
    each = values.whole(job.settings.value("cpus-per-task") or b"1")
    tasks = _tasks(job)
    if not cpus or each is None or tasks is None or tasks * each <= cpus:
        return
    says = "%s per node with %s each, but the nodes it may run on have %s" % (
        counted(tasks, "task"), counted(each, "CPU"), counted(cpus, "CPU"))  # fmt: skip
    setting = job.settings.get("cpus-per-task")
    made = restate(job, setting, b"%d" % (cpus // tasks), "MPL210") if setting is not None and tasks <= cpus else None
    fixes = (made.fix(Safety.ASK, "--cpus-per-task=%d" % (cpus // tasks)),) if made is not None else ()
    place = at(setting or job.settings.get("ntasks-per-node") or job.settings.get("ntasks"))
    yield Finding("MPL210", says, place, True, fixes=fixes, help="request no more CPUs per node than a node has")


def _of_steps(plan: LaunchPlan, cpus: int) -> Iterator[Finding]:
    for step in plan.steps:
        srun = step.links[0] if step.links and step.links[0].name == "srun" else None
        option = srun.option("cpus-per-task") if srun is not None else None
        each = number(option.value) if option is not None else None
        if srun is None or srun.open or each is None or any(srun.option(name) for name in _COUNTED_OTHERWISE):
            continue
        tasks = step.tasks_per_node
        if tasks is None or tasks * each <= cpus or step.maybe:
            continue
        says = "%s per node with %s each, but a job gets at most %s of a node" % (
            counted(tasks, "task"), counted(each, "CPU"), counted(cpus, "CPU"))  # fmt: skip
        fixes = (*_on_all_nodes(step, plan, each, cpus), *_with_fewer(option, cpus // tasks))
        yield Finding("MPL210", says, option.value_span if option else None, True, fixes=fixes,
                      help="give each task fewer CPUs, or start fewer tasks on a node")  # fmt: skip


def _on_all_nodes(step: Step, plan: LaunchPlan, each: int, cpus: int) -> Iterator[Fix]:
    """Yield the fix for a step that names fewer nodes than the job has, where its tasks fit on those."""
    nodes, option = plan.allocation.nodes, step.links[0].option("nodes")
    if nodes and step.tasks and option is not None and nodes > (step.nodes or nodes):
        edits = change(option, b"%d" % nodes, "MPL210") if -(-step.tasks // nodes) * each <= cpus else None
        if edits:
            yield Fix(tuple(edits), Safety.ASK, "run the step on all nodes of the job")


def _with_fewer(option: Optional[Option], each: int) -> Iterator[Fix]:
    edits = change(option, b"%d" % each, "MPL210") if each else None
    if edits:
        yield Fix(tuple(edits), Safety.ASK, "give each task %s" % counted(each, "CPU"))


def _tasks(job: Job) -> Optional[int]:
    """Return the tasks on each node that the request surely wants."""
    tasks = values.whole(job.settings.value("ntasks-per-node") or b"")
    if tasks is not None:
        return tasks
    alone = values.nodes(job.settings.value("nodes") or b"") == (1, 1)
    return (values.whole(job.settings.value("ntasks") or b"") if alone else None) or 1


def _cpus(kinds: Sequence[NodeKind]) -> Optional[int]:
    """Return the most CPUs of any of the nodes; None where one is not known.

    Every hardware thread is counted, unless the site says that a job gets fewer by default.
    """
    each = [kind.cpus or (kind.cores or 0) * (kind.threads_per_core or 0) for kind in kinds]
    counts = [count for count in each if count]
    return max(counts) if counts and len(counts) == len(kinds) else None
