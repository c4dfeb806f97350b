"""A rank cannot use a GPU that it is not shown."""

from __future__ import annotations

from typing import Iterator

from ...cures.launch_edits import pointed_at, replacements
from ...launchers.devices import ON_CPU, mask_of
from ...plan import breach_kinds
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety
from ...types.findings import Finding, counted
from ...types.job import Job
from ...types.launch_plan import Breach, LaunchPlan, Step, device_numbers
from .. import rule


@rule("MPL401", "CUDA_VISIBLE_DEVICES shows fewer GPUs than there are ranks")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """The launcher gives each rank of a node a device of its own, out of those that CUDA_VISIBLE_DEVICES lists.

    Wrong: export CUDA_VISIBLE_DEVICES=0 ... torchrun --nproc-per-node=4 train.py
    Wrong: export ZE_AFFINITY_MASK=0 ... torchrun --nproc-per-node=12 train.py, on Intel's GPUs
    Wrong: export CUDA_VISIBLE_DEVICES="" in a job of four GPUs, all of whose launch lines see none then
    Right: torchrun --nproc-per-node=4 train.py (Slurm lists the job's devices)
    Why:   local rank 1 asks for the second device of a list of one. More entries than devices do no harm.
    """
    for step in plan.steps:
        for breach in step.breaches:
            if breach.kind == breach_kinds.GPUS_VISIBLE and mask_of(plan.allocation.node_kinds) in plan.assigned:
                yield _finding(step, breach, plan, job)
    yield from _all_hidden(plan, job)


def _all_hidden(plan: LaunchPlan, job: Job) -> Iterator[Finding]:
    """Yield that a job has GPUs, and that no rank of any line sees one: only a run on processors means that."""
    mask = mask_of(plan.allocation.node_kinds)
    has = plan.allocation.gpus_per_node
    spans = plan.assigned.get(mask, ())
    if not spans or not has or all(step.maybe for step in plan.steps):
        return
    if not all(_sees_none(step) for step in plan.steps):
        return
    every = mask + b"=" + b",".join(device_numbers(has))
    fix = Fix(tuple(Edit(span, every, "MPL401") for span in spans), Safety.ASK, "list every GPU")
    says = "%s hides every GPU from all ranks, and the job has %s per node" % (mask.decode(), counted(has, "GPU"))
    yield Finding("MPL401", says, spans[0], fixes=(fix,), help="leave it out, so that the scheduler sets it")


def _sees_none(step: Step) -> bool:
    """Return whether several ranks start, none of them sees a device, and no word says that none is wanted."""
    processes = [process for group in step.groups for process in group.processes]
    on_cpu = ON_CPU.search(b" ".join(step.program)) is not None
    return len(processes) > 1 and not on_cpu and all(process.gpus == () for process in processes)


def _finding(step: Step, breach: Breach, plan: LaunchPlan, job: Job) -> Finding:
    workers, visible = breach.numbers["workers"] or 0, breach.numbers["visible"]
    mask = mask_of(plan.allocation.node_kinds).decode()
    says = "%d ranks per node, but %s shows %s" % (workers, mask, counted(visible, "GPU"))
    text = breach.texts.get("devices")
    has = plan.allocation.gpus_per_node
    every = b",".join(device_numbers(workers))
    ways = replacements(text, (every,), "MPL401", job.source) if has is not None and has >= workers else []
    fixes = tuple(Fix(tuple(edits), Safety.SAFE, "list one GPU for each rank") for edits in ways)
    at = pointed_at(text, step)
    return Finding(
        "MPL401", says, at, True, fixes=fixes, help="remove the line, so that the scheduler sets it, or list every GPU"
    )
