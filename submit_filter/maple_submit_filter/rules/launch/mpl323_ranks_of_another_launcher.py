"""Workers of torchrun in a program that takes its ranks from srun or MPI."""

from __future__ import annotations

import re
from typing import Iterator

from ...launchers.registry import AGENTS
from ...site.facts import Site
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from .. import rule
from ..program_text import programs

_OWN = re.compile(rb"['\"](LOCAL_RANK|RANK|WORLD_SIZE)['\"]|(local[-_]rank|env://)")
_SLURM = re.compile(rb"environ(?:\[|\.get\()\s*['\"]SLURM_PROCID['\"]")
_MPI = re.compile(rb"(?m)^\s*from mpi4py import|^\s*import mpi4py")
_WORLD = re.compile(rb"init_process_group|COMM_WORLD|DistributedDataParallel")


@rule("MPL323", "the program takes its ranks from another launcher")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """torchrun starts all ranks of a node inside of one task, so SLURM_PROCID and MPI's rank are the same for them.

    Wrong: srun --ntasks-per-node=1 torchrun --nproc-per-node=4 train.py, where train.py reads SLURM_PROCID alone
    Right: srun --ntasks-per-node=4 python train.py
    Right: torchrun, and int(os.environ["RANK"]) in train.py
    Why:   the four workers of a node all take themselves for one rank; with mpi4py each is rank 0 of a world of one.
           Maple only reports it: what the program imports is not read.
    """
    for program in programs(plan, job):
        link = program.step.links[-1] if program.step.links else None
        if link is None or link.name not in AGENTS or (program.step.workers_per_task or 0) < 2:
            continue
        own = {name or other for name, other in _OWN.findall(program.text)} - program.sets
        if own or not _WORLD.search(program.text):
            continue
        source = "SLURM_PROCID" if _SLURM.search(program.text) else "MPI" if _MPI.search(program.text) else ""
        if source:
            says = "%s takes its rank from %s, which does not tell the %d workers of a %s apart" % (
                program.name, source, program.step.workers_per_task or 0, link.name)  # fmt: skip
            yield Finding("MPL323", says, link.name_span or program.step.span,
                          help="start it with one task per rank, or read RANK and LOCAL_RANK")  # fmt: skip
