"""Ranks that want GPUs, and a job that asked for none."""

from __future__ import annotations

from typing import Iterator, Tuple

from ...cures.option_edits import say
from ...launchers.registry import AGENTS
from ...site.facts import GpuRequest, Site
from ...types.edits import Fix, Safety
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan, Step
from .. import rule
from ..limits import asks_for_gpus, judged

_OWN_GPUS = b"\0same:gpusonnode\0"


@rule("MPL208", "no GPU is asked for")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Where GPUs are given on request only, a partition with GPUs alone gives none.

    Wrong: #SBATCH --partition=gpuA100x4, and torchrun --nproc-per-node=4, on Delta
    Right: #SBATCH --gpus-per-node=4
    Why:   the ranks would see no GPU. Maple only shows the change: they may be meant for CPUs.
    """
    wanted = site.gpu_request
    if not judged(job, site) or not wanted.required or asks_for_gpus(job.settings) or _whole_nodes(job):
        return
    kinds = plan.allocation.node_kinds
    if not kinds or not all(kind.gpus for kind in kinds):
        return
    for step in plan.steps:
        if _takes_gpus(step) and not step.maybe:
            workers = step.workers_per_task
            form = wanted.form.replace("{n}", str(workers)) if workers else wanted.form
            told = "request them: %s" % form if "{" not in form else "request them the way this site expects: %s" % form
            yield Finding("MPL208", "the ranks use one GPU each, but the job requests no GPU",
                          step.links[-1].name_span or step.span, fixes=_request(job, plan, step, wanted),
                          help=told, site_fact="gpu_request")  # fmt: skip
            return


def _request(job: Job, plan: LaunchPlan, step: Step, wanted: GpuRequest) -> Tuple[Fix, ...]:
    """Request a GPU for each rank of a node, or all that its nodes have, in the words of the site."""
    counts = {kind.gpus for kind in plan.allocation.node_kinds}
    number = step.workers_per_task or (counts.pop() if len(counts) == 1 else None)
    nodes = plan.allocation.nodes or 1
    words = wanted.form.replace("{n}", str(number)).replace("{total}", str((number or 0) * nodes))
    new = [word for word in words.split() if word[2:].partition("=")[0] not in job.settings]
    if not number or "{" in words or not new:
        return ()
    return (say(job, " ".join(new).encode(), "MPL208").fix(Safety.ASK, "add " + " ".join(new)),)


def _whole_nodes(job: Job) -> bool:
    return "exclusive" in job.settings or b"excl" in (job.settings.value("place") or b"")


def _takes_gpus(step: Step) -> bool:
    if not step.links:
        return False
    counts = step.links[-1].name in AGENTS and step.links[-1].option(AGENTS[step.links[-1].name].ranks)
    if counts and counts.value is not None and counts.value.raw == _OWN_GPUS:
        return True  # it counts the GPUs that it was given
    return any(one.binds_gpu for group in step.groups for one in group.processes)
