"""Ranks that want GPUs, and a job that asked for none."""

from __future__ import annotations

import re
from typing import Iterator, Tuple

from ...cures.option_edits import say
from ...cures.places import moves, needs_of
from ...launchers.registry import AGENTS
from ...request.scheduler_words import is_pbs
from ...site.facts import GpuRequest, Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan, Step
from .. import rule
from ..limits import asks_for_gpus, judged
from ..program_text import is_rank

_OWN_GPUS = b"\0same:gpusonnode\0"
_ON_STEP = (
    "gpus-per-task", "gpus-per-node", "gres", "gpus", "gpus-per-socket", "tres-per-task", "gpu-bind", "tres-bind",
)  # fmt: skip
_GPU_WORD = re.compile(rb"(?:\A|=)(?:nccl|cuda|gpu)\Z")


@rule("MPL208", "no GPU is asked for")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Where GPUs are given on request only, a partition with GPUs alone gives none.

    Wrong: #SBATCH --partition=gpuA100x4, and torchrun --nproc-per-node=4, on Delta
    Wrong: srun --ntasks-per-node=8 python train.py, on Frontier, where the line of srun hands GPUs out
    Wrong: torchrun --nproc-per-node=3 in the partition normal of Lonestar6, whose nodes have no GPU
    Right: #SBATCH --gpus-per-node=4; srun --ntasks-per-node=8 --gpus-per-task=1 --gpu-bind=closest python train.py
    Why:   the ranks would see no GPU. Maple only shows the change: they may be meant for CPUs.
    """
    wanted = site.gpu_request
    if not judged(job, site) or asks_for_gpus(job.settings):
        return
    yield from _on_nodes_without(plan, job, site)
    if wanted.on_step:
        yield from _unsaid_on_step(plan, wanted)
    if not wanted.required or _whole_nodes(job):
        return
    kinds = plan.allocation.node_kinds
    if not kinds or not all(kind.gpus for kind in kinds):
        return
    for step in plan.steps:
        if (_takes_gpus(step) or _speaks_of_gpus(step, plan, job)) and not step.maybe:
            workers = step.workers_per_task or step.tasks_per_node
            form = wanted.form.replace("{n}", str(workers)) if workers else wanted.form
            advice = (
                "request them: %s" % form if "{" not in form else "request them the way this site expects: %s" % form
            )
            yield Finding("MPL208", "the ranks use one GPU each, but the job requests no GPU",
                          step.links[-1].name_span or step.span, fixes=_request(job, plan, step, wanted),
                          help=advice, site_fact="gpu_request")  # fmt: skip
            return


_OF_CPUS = re.compile(
    rb"(?i)(?<![a-z])(?:gloo|cpu|mpi|ccl|xla|ipex|no[_-]cuda|use[_-]cpu|multi[_-]cpu|pre[a-z]*proc\w*)(?![a-z])"
)


def _on_nodes_without(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Yield a launcher of GPU ranks on nodes that have no GPU, where no word speaks of CPUs."""
    kinds = plan.allocation.node_kinds
    if not kinds or any(kind.gpus != 0 for kind in kinds) or b"CUDA_VISIBLE_DEVICES=" in job.source:
        return
    for step in plan.steps:
        if step.maybe or not step.links or step.links[-1].name not in AGENTS or not step.workers_per_task:
            continue
        line = job.source[step.span.start : step.span.end] + b" " + b" ".join(step.program)
        if not _OF_CPUS.search(re.sub(rb"--(?:cpu-bind|cpus-per-task)\S*", b"", line)):
            with_gpus = tuple(kind.name for kind in site.kinds if kind.gpus)
            ranks = max((group.ranks_per_node or 1 for group in step.groups), default=step.workers_per_task)
            fixes = tuple(moves(job, site, needs_of(job, ranks), with_gpus, "MPL208"))[:3] if not is_pbs(job) else ()
            yield Finding("MPL208", "the ranks use one GPU each, but the nodes it may run on have none",
                          step.links[-1].name_span or step.span, fixes=fixes,
                          help="choose a partition with GPUs, or tell the program that it runs on CPUs")  # fmt: skip
            return


def _request(job: Job, plan: LaunchPlan, step: Step, wanted: GpuRequest) -> Tuple[Fix, ...]:
    """Request a GPU for each rank of a node, or all that its nodes have, in the words of the site."""
    counts = {kind.gpus for kind in plan.allocation.node_kinds}
    number = step.workers_per_task or step.tasks_per_node or (counts.pop() if len(counts) == 1 else None)
    nodes = plan.allocation.nodes or 1
    words = wanted.form.replace("{n}", str(number)).replace("{total}", str((number or 0) * nodes))
    new = [word for word in words.split() if word[2:].partition("=")[0] not in job.settings]
    if not number or "{" in words or not new:
        return ()
    return (say(job, " ".join(new).encode(), "MPL208").fix(Safety.ASK, "add " + " ".join(new)),)


def _unsaid_on_step(plan: LaunchPlan, wanted: GpuRequest) -> Iterator[Finding]:
    """Yield steps of several ranks on a node whose srun says nothing of GPUs, where each step is given its own."""
    for step in plan.steps:
        srun = step.links[0] if step.links else None
        if srun is None or srun.name != "srun" or srun.open or step.maybe or not is_rank(step):
            continue
        if any(srun.option(name) for name in _ON_STEP) or not plan.allocation.node_kinds:
            continue
        put, words = srun.options_at, _on_step(step, wanted)
        edits = (Edit(Span(put, put), b" " + words.encode(), "MPL208"),) if put is not None else ()
        says = "the ranks use one GPU each, but this step requests no GPU"
        yield Finding("MPL208", says, srun.name_span or step.span,
                      fixes=(Fix(edits, Safety.ASK, "add " + words),) if edits else (),
                      help="request them on the line of srun: %s" % words, site_fact="gpu_request")  # fmt: skip
        return


def _on_step(step: Step, wanted: GpuRequest) -> str:
    """Return what the line of srun should say: for an agent, the GPUs of its workers together."""
    agent = step.links[-1].name in AGENTS and step.workers_per_task
    return "--gpus-per-node=%d --gpu-bind=none" % agent if agent else wanted.on_step


def _speaks_of_gpus(step: Step, plan: LaunchPlan, job: Job) -> bool:
    """Return whether ranks that take their device themselves are told of NCCL or CUDA, or the job wants such nodes."""
    if not is_rank(step):
        return False
    if job.settings.value("constraint") is not None:
        return True  # of nodes that all have GPUs, as is known here
    return any(_GPU_WORD.search(word) for word in step.program) or any(name[:5] == b"NCCL_" for name in plan.assigned)


def _whole_nodes(job: Job) -> bool:
    return "exclusive" in job.settings or b"excl" in (job.settings.value("place") or b"")


def _takes_gpus(step: Step) -> bool:
    if not step.links:
        return False
    counts = step.links[-1].name in AGENTS and step.links[-1].option(AGENTS[step.links[-1].name].ranks)
    if counts and counts.value is not None and counts.value.raw == _OWN_GPUS:
        return True  # it counts the GPUs that it was given
    return any(process.binds_gpu for group in step.groups for process in group.processes)
