"""As many processes must start as the world is said to have."""

from __future__ import annotations

from typing import Iterator, List

from ...cures.launch_edits import Edits, change, pointed_at, put, replacements
from ...cures.option_edits import restate
from ...plan import breach_kinds
from ...site.facts import Site
from ...types.edits import Fix, Safety
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import Breach, LaunchPlan, Link, Option, Step
from ...types.text import number
from .. import rule


@rule("MPL306", "the world size is not the number of processes that start")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """A world of N ranks needs N processes: with fewer all wait, with more the rest is refused.

    Wrong: export WORLD_SIZE=8 ... srun --ntasks=4 python train.py
    Wrong: accelerate launch --num_machines=2 --num_processes=3 (the total; each machine starts one)
    Right: export WORLD_SIZE=$SLURM_NTASKS
    Why:   ranks 0 to 3 wait for 4 to 7 until the time limit. Unasked the number is changed where the tasks that
           start are as many as the GPUs asked for and it is smaller, and the tasks are where it is the GPUs that it
           counts; otherwise Maple asks first, because the world size makes the global batch size.
    """
    for step in plan.steps:
        for breach in step.breaches:
            if breach.kind == breach_kinds.WORLD_SIZE:
                yield (
                    _shared_out(step, breach) if "total" in breach.numbers else _exported(step, breach, plan, job, site)
                )
            if breach.kind == breach_kinds.WORLD_SAID:
                yield _world_said(step, breach, plan, job)


def _as_many_tasks(step: Step, world: int, job: Job, plan: LaunchPlan) -> Iterator[Fix]:
    """Yield what starts as many tasks as the world has ranks: the launcher's total, or the tasks of a node."""
    total = step.links[0].option("n", "np", "ntasks") if step.links else None
    nodes = plan.allocation.nodes or step.nodes or 0
    if total is not None:
        edits = _in_all(step.links[0], total, world, nodes)
        if edits:
            yield Fix(tuple(edits), Safety.ASK, "start %d processes" % world)
    elif nodes and world % nodes == 0:
        setting = job.settings.get("ntasks-per-node")
        made = restate(job, setting, b"%d" % (world // nodes), "MPL306") if setting is not None else None
        if made is not None:
            yield made.fix(Safety.ASK, "--ntasks-per-node=%d" % (world // nodes))


def _in_all(link: Link, total: Option, world: int, nodes: int) -> Edits:
    """Change how many start, and how many on a node where those said would not come to as many."""
    edits = change(total, b"%d" % world, "MPL306")
    each = link.option("ppn", "ntasks-per-node")
    count = number(each.value) if each is not None else None
    if edits is None or count is None or not nodes or count * nodes == world:
        return edits
    more = change(each, b"%d" % (world // nodes), "MPL306") if world % nodes == 0 else None
    return edits + more if more is not None else None


def _world_said(step: Step, breach: Breach, plan: LaunchPlan, job: Job) -> Finding:
    """A program that finds its rank by itself may start more processes, as Lightning does."""
    says = "WORLD_SIZE is %s, but the launcher starts %s processes" % (
        breach.numbers["world size"], breach.numbers["tasks"])  # fmt: skip
    fixes = tuple(_as_many_tasks(step, breach.numbers["world size"] or 0, job, plan))
    return Finding("MPL306", says, pointed_at(breach.texts.get("world-text"), step), fixes=fixes,
                   help="start as many tasks as the world has ranks")  # fmt: skip


def _shared_out(step: Step, breach: Breach) -> Finding:
    total, machines = breach.numbers["total"] or 0, breach.numbers["machines"] or 1
    says = "%d processes cannot be shared by %d machines: %s start" % (total, machines, breach.numbers["starts"])
    link = step.links[-1]
    option = link.option("num-processes")
    fixes: List[Fix] = []
    for count in (-(-total // machines) * machines, total // machines * machines):
        edits = put(link, [("num-processes", b"%d" % count)], "MPL306") if count else None
        if edits:
            fixes.append(Fix(tuple(edits), Safety.ASK, "start %d processes" % count))
    at = (option.value_span if option is not None else None) or link.name_span
    return Finding(
        "MPL306",
        says,
        at,
        True,
        fixes=tuple(fixes),
        help="--num_processes counts the processes of all machines together",
    )


def _exported(step: Step, breach: Breach, plan: LaunchPlan, job: Job, site: Site) -> Finding:
    tasks, world = breach.numbers["tasks"], breach.numbers["world size"]
    text = breach.texts.get("world-text")
    news = (b"$SLURM_NTASKS", b"%d" % (tasks or 0)) if site.scheduler == "slurm" else (b"%d" % (tasks or 0),)
    ways = replacements(text, news, "MPL306", job.source)
    rewrites = (Fix(tuple(edits), Safety.ASK, "the world size is the number of tasks") for edits in ways)
    fixes = (*rewrites, *(_as_many_tasks(step, world, job, plan) if world else ()))
    at = pointed_at(text, step)
    says = "WORLD_SIZE is %s, but %s processes start" % (world, tasks)
    return Finding(
        "MPL306", says, at, True, fixes=fixes, help="set it to the number of processes that the launcher starts"
    )
