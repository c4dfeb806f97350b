"""CPUs for the ranks and what loads their data."""

from __future__ import annotations

from typing import Iterator, Optional

from ...launchers.registry import AGENTS
from ...request.slurm import values
from ...site.facts import Site
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan, Step
from .. import rule
from ..limits import judged, rows_in_force


@rule("MPL311", "all ranks of a task share one CPU")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """On shared nodes a job gets the CPUs that it asks for, and by default one for each task.

    Wrong: #SBATCH --ntasks-per-node=1, shared nodes, and torchrun --nproc-per-node=4
    Right: #SBATCH --ntasks-per-node=1 --cpus-per-task=64
    Why:   four ranks and their data loaders take turns on one core, and the GPUs wait. Maple only reports it,
           because some sites give CPUs with each GPU; where the site file says that of the partition, it says nothing.
    """
    settings = ("cpus-per-task", "cpus-per-gpu", "exclusive", "mincpus", "core-spec")
    if not judged(job, site) or plan.allocation.shared is not True or any(name in job.settings for name in settings):
        return
    if any(row.cpus_with_gpus for row in rows_in_force(job, site)):
        return
    for step in plan.steps:
        ranks = step.workers_per_task
        if ranks and ranks > 1 and _takes_gpus(step) and _tasks(job) == 1:
            says = "%d ranks per node would share one CPU" % ranks
            yield Finding("MPL311", says, step.links[-1].name_span or step.span,
                          help="add --cpus-per-task, unless the site assigns CPUs with the GPUs")  # fmt: skip
            return


def _takes_gpus(step: Step) -> bool:
    inner = step.links[-1] if step.links else None
    if inner is None or inner.name not in AGENTS or any(link.option("cpus-per-task") for link in step.links):
        return False
    return any(process.binds_gpu for group in step.groups for process in group.processes)


def _tasks(job: Job) -> Optional[int]:
    """Return the tasks on a node that the job asks for, None where that is not said plainly."""
    if "ntasks" in job.settings and job.settings.value("ntasks") != job.settings.value("nodes"):
        return values.whole(job.settings.value("ntasks") or b"") if "nodes" not in job.settings else None
    return values.whole(job.settings.value("ntasks-per-node") or b"1")
