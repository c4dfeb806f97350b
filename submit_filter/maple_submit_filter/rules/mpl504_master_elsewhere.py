"""The master is where rank 0 is."""

from __future__ import annotations

from typing import Iterator

from ..edits import Fix, Safety
from ..findings import Finding
from ..fixes import first_node, replacements
from ..job import Job
from ..launch import Breach, LaunchPlan, Step
from ..site import Site
from . import rule


@rule("MPL504", "the master's address is not the node that listens there")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Rank 0 opens the meeting place, on its own node; the address that all are told must be that node's.

    Wrong: MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | tail -n 1)
    Right: MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
    Why:   rank 0 runs on the first node of the list; at the last one nobody listens.
    """
    for step in plan.steps:
        for breach in step.breaches:
            if breach.kind == "master-elsewhere":
                yield _finding(step, breach, site, job)


def _finding(step: Step, breach: Breach, site: Site, job: Job) -> Finding:
    master = breach.texts.get("master")
    ways = replacements(master, first_node(site), "MPL504", job.source)
    fixes = tuple(Fix(tuple(edits), Safety.SAFE, "the master is the job's first node") for edits in ways)
    at = (master.written() or master.span() if master is not None else None) or step.span
    return Finding("MPL504", "rank 0 does not run on the node that is named as the master", at, True, fixes=fixes,
                   help="name the job's first node")  # fmt: skip
