"""Nodes that no task would run on."""

from __future__ import annotations

from typing import Iterator

from ...cures.option_edits import at
from ...request.slurm import values
from ...site.facts import Site
from ...types.findings import Finding, counted
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from .. import rule
from ..limits import judged


@rule("MPL213", "fewer tasks than nodes", "slurm")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """sbatch lowers the number of nodes to the number of tasks.

    Wrong: #SBATCH --nodes=4 --ntasks=1
    Right: #SBATCH --nodes=4 --ntasks-per-node=1
    Why:   Slurm 22.05 warns "can't run 1 processes on 4 nodes, setting nnodes to 1". Maple only reports it.
    """
    nodes = values.nodes(job.settings.value("nodes") or b"")
    tasks = values.whole(job.settings.value("ntasks") or b"")
    if judged(job, site) and nodes is not None and tasks and tasks < nodes[0]:
        says = "%s for %s: sbatch gives the job %d" % (counted(tasks, "task"), counted(nodes[0], "node"), tasks)
        yield Finding("MPL213", says, at(job.settings.get("ntasks")), help="request at least one task per node")
