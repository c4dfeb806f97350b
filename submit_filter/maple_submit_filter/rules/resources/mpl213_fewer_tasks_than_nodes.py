"""Nodes that no task would run on."""

from __future__ import annotations

from typing import Iterator

from ...cures.option_edits import at, restate
from ...request.slurm import values
from ...site.facts import Site
from ...types.edits import Safety
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
    Why:   Slurm 22.05 warns "can't run 1 processes on 4 nodes, setting nnodes to 1". Maple offers a task for each
           node; fewer nodes may be meant as well, so nothing is changed unasked.
    """
    nodes = values.nodes(job.settings.value("nodes") or b"")
    tasks = values.whole(job.settings.value("ntasks") or b"")
    if judged(job, site) and nodes is not None and tasks and tasks < nodes[0]:
        says = "%s for %s: sbatch gives the job %d" % (counted(tasks, "task"), counted(nodes[0], "node"), tasks)
        setting = job.settings.get("ntasks")
        made = restate(job, setting, b"%d" % nodes[0], "MPL213") if setting is not None else None
        fixes = (made.fix(Safety.ASK, "--ntasks=%d" % nodes[0]),) if made is not None else ()
        yield Finding("MPL213", says, at(setting), fixes=fixes, help="request at least one task per node")
