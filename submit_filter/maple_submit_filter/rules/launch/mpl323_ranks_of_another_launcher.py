"""Workers of torchrun in a program that takes its ranks from srun or MPI."""

from __future__ import annotations

import re
from typing import Iterator

from ...launchers.registry import AGENTS
from ...site.facts import Site
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan, Link
from .. import rule
from ..program_text import programs, renamed_in_program

_OWN = re.compile(rb"['\"](LOCAL_RANK|RANK|WORLD_SIZE)['\"]|(local[-_]rank|env://)")
_SLURM = re.compile(rb"environ(?:\[|\.get\()\s*['\"]SLURM_PROCID['\"]")
_OF_TORCHRUN = {b"SLURM_PROCID": b"RANK", b"SLURM_LOCALID": b"LOCAL_RANK", b"SLURM_NTASKS": b"WORLD_SIZE"}
_MPI = re.compile(rb"(?m)^\s*from mpi4py import|^\s*import mpi4py")
_WORLD = re.compile(rb"init_process_group|COMM_WORLD|DistributedDataParallel")


_ARGUMENT = re.compile(rb"add_argument\(\s*['\"]--local[-_]rank['\"]")
_READS = re.compile(rb"['\"]LOCAL_RANK['\"]")


def _by_argument(text: bytes) -> bool:
    """Return whether a program takes its device from --local_rank, and looks nowhere else."""
    return _ARGUMENT.search(text) is not None and b"local_rank)" in text and not _READS.search(text)


def _passes(link: Link) -> bool:
    """Return whether the launcher gives its workers --local_rank: deepspeed, and torch's older one."""
    older = any(b"torch.distributed.launch" in word.raw for word in link.argv)
    return link.name != "torchrun" or (older and link.option("use-env") is None)


@rule("MPL323", "the program takes its ranks from another launcher")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """torchrun starts all ranks of a node inside of one task, so SLURM_PROCID and MPI's rank are the same for them.

    Wrong: srun --ntasks-per-node=1 torchrun --nproc-per-node=4 train.py, where train.py reads SLURM_PROCID alone
    Wrong: torchrun --nproc-per-node=4 train.py, where train.py takes its GPU from an argument --local_rank
    Right: srun --ntasks-per-node=4 python train.py
    Right: torchrun, and int(os.environ["RANK"]) in train.py
    Why:   the four workers of a node all take themselves for one rank; with mpi4py each is rank 0 of a world of one.
           Where it reads Slurm's variables the lines of the program are shown as they should be. Maple changes none:
           what the program imports is not read.
    """
    for program in programs(plan, job):
        link = program.step.links[-1] if program.step.links else None
        if link is None or link.name not in AGENTS or (program.step.workers_per_task or 0) < 2:
            continue
        if _by_argument(program.text) and not _passes(link):
            says = "%s waits for --local_rank, which %s does not pass on" % (program.name, link.name)
            helps = 'int(os.environ["LOCAL_RANK"]) in the program, or python -m torch.distributed.launch'
            yield Finding("MPL323", says, link.name_span or program.step.span, help=helps)
            continue
        own = {name or other for name, other in _OWN.findall(program.text)} - program.sets
        if own or not _WORLD.search(program.text):
            continue
        source = "SLURM_PROCID" if _SLURM.search(program.text) else "MPI" if _MPI.search(program.text) else ""
        if source:
            says = "%s takes its rank from %s, which does not tell the %d workers of a %s apart" % (
                program.name, source, program.step.workers_per_task or 0, link.name)  # fmt: skip
            there = renamed_in_program(program, job, _OF_TORCHRUN) if source != "MPI" else ()
            yield Finding("MPL323", says, link.name_span or program.step.span, elsewhere=there,
                          help="start it with one task per rank, or read RANK and LOCAL_RANK")  # fmt: skip
