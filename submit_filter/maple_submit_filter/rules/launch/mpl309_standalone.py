"""Worlds of one node on a job of many."""

from __future__ import annotations

from typing import Iterator

from ...site.facts import Site
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from .. import rule


@rule("MPL309", "--standalone makes a world of its own on each node")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """With --standalone torchrun meets nobody beyond its own node.

    Wrong: srun --ntasks=4 --ntasks-per-node=1 torchrun --standalone --nproc-per-node=4 train.py, to train on 4 nodes
    Right: torchrun --nnodes=4 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint=<first node>:29500 train.py
    Why:   four trainings of four ranks run beside each other, each on all the data, and overwrite each other's
           checkpoints. It is only said, and not where tasks are told apart: an ensemble is made that way.
    """
    for step in plan.steps:
        link = step.links[-1] if step.links else None
        option = link.option("standalone") if link is not None and link.name == "torchrun" else None
        if option is None or step.maybe or step.background or (step.nodes or 1) < 2:
            continue
        if any(name in job.source for name in (b"SLURM_PROCID", b"SLURM_NODEID", b"SLURM_ARRAY_TASK_ID", b"PMI_RANK")):
            continue
        says = "each of the %d nodes would train alone, in a world of its own" % step.nodes if step.nodes else ""
        yield Finding(
            "MPL309",
            says,
            option.span or step.span,
            help="to train together, replace --standalone by --nnodes and one --rdzv-endpoint",
        )
