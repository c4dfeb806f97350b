"""One port for every job."""

from __future__ import annotations

from typing import Iterator

from ...site.facts import Site
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan, Step
from .. import rule
from ..limits import gpu_items, judged, most_of


@rule("MPL505", "a fixed port on a node that other jobs share")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Two jobs on one node cannot meet at the same port.

    Wrong: #SBATCH --array=0-7 --gpus-per-node=1, and torchrun --master-port=29500 in every task
    Right: torchrun --rdzv-endpoint=localhost:0, or --master-port=$((20000 + SLURM_JOB_ID % 20000))
    Why:   the second task of the array that lands on a node ends with: address already in use. Maple only reports
           it, because the tasks may land on nodes of their own, and only of an array whose tasks leave GPUs to others.
    """
    if not judged(job, site) or "array" not in job.settings or plan.allocation.shared is False:
        return
    there = most_of(plan.allocation.node_kinds, "gpus")
    asked = plan.allocation.gpus_per_node
    if asked is None or (there is not None and asked * 2 > there) or not gpu_items(job.settings, _option(job)):
        return
    for step in plan.steps:
        if _fixed(step):
            yield Finding("MPL505", "array tasks that share a node would use the same port", step.links[-1].name_span,
                          help="derive the port from the job id: $((20000 + SLURM_JOB_ID % 20000))")  # fmt: skip
            return


def _option(job: Job) -> str:
    return next((name for name in ("gpus-per-node", "gres", "gpus", "gpus-per-task") if name in job.settings), "gres")


def _fixed(step: Step) -> bool:
    link = step.links[-1] if step.links else None
    # Beside an endpoint the port is not read.
    names = (("rdzv-endpoint",), ("master-port", "main-process-port"))
    option = next(filter(None, (link.option(*some) for some in names)), None) if link is not None else None
    if link is None or option is None or option.value is None or step.maybe or link.option("standalone") is not None:
        return False
    start = option.value.raw.rfind(b":") + 1 if option.name == "rdzv-endpoint" else 0
    port = option.value.slice(start)
    return port.raw.isdigit() and int(port.raw) > 0 and port.span() is not None  # not counted from something
