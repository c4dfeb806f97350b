"""Rank variables that the program reads and nothing sets."""

from __future__ import annotations

from typing import Dict, FrozenSet, Iterator, List, Tuple

from ...cures.launch_edits import exec_in_task
from ...launchers.rank_words import rank_words
from ...launchers.record import RankWords
from ...launchers.registry import AGENTS
from ...site.facts import Site
from ...types.edits import Fix, Safety
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan, Step
from .. import rule
from ..program_text import programs

_TORCH = frozenset((b"RANK", b"WORLD_SIZE", b"LOCAL_RANK"))
_SLURM = frozenset((b"SLURM_PROCID", b"SLURM_LOCALID", b"SLURM_NTASKS", b"SLURM_NODEID"))
_OPEN_MPI = frozenset((b"OMPI_COMM_WORLD_RANK", b"OMPI_COMM_WORLD_SIZE", b"OMPI_COMM_WORLD_LOCAL_RANK"))


@rule("MPL404", "the program reads rank variables that nothing sets")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """torchrun, accelerate and deepspeed set RANK, WORLD_SIZE and LOCAL_RANK; srun and mpiexec set their own names.

    Wrong: srun --ntasks=8 python train.py, where train.py reads os.environ["RANK"]
    Wrong: mpiexec -n 8 python train.py, under PBS, where train.py reads os.environ["SLURM_PROCID"]
    Wrong: srun bash -c 'RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS python train.py', and no MASTER_ADDR anywhere
    Right: srun bash -c 'RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID WORLD_SIZE=$SLURM_NTASKS python train.py'
    Right: torchrun on each node, which sets them
    Why:   every task ends with KeyError: 'RANK'. `maple check` shows the change; at submission Maple only reports it:
           the program's file alone is read, and what it imports may set them.
    """
    yield from _half_told(plan, job)
    for program in programs(plan, job):
        lost = sorted(program.needs & _unset(program.step, job))
        if lost and (program.step.tasks or 0) > 1:
            names = ", ".join(name.decode() for name in lost)
            yield Finding("MPL404", "%s reads %s, which nothing sets here" % (program.name, names),
                          program.step.program_span or program.step.span, fixes=_set(lost, program.step, job, site),
                          help=_helps(lost[0], program.step, job))  # fmt: skip


_OTHER_WAYS = (b"://", b"init", b"dist", b"master", b"launcher", b"rdzv", b"backend", b"addr", b"port", b"nodes")


def _half_told(plan: LaunchPlan, job: Job) -> Iterator[Finding]:
    """Yield that tasks are told their rank as torch reads it, and not all else that it reads then (env://).

    Where a program is told by its words how its ranks meet, or lies beside the script, that says more.
    """
    for step in plan.steps:
        lost = b"MASTER_ADDR" in step.lacks and b"MASTER_ADDR" not in job.source.replace(b"$MASTER_ADDR", b"")
        words = b" ".join(step.program).lower().replace(b"env://", b"")
        given = b"RANK=" in job.source.replace(b"LOCAL_RANK=", b"") and b"RANK" not in step.lacks
        given = given and b"WORLD_SIZE" not in step.lacks  # a program that is told one of them alone may use MPI
        if not lost or not given or step.maybe or step.unknown or (step.tasks or 0) < 2 or plan.unread:
            continue
        if step.links[-1:] and step.links[-1].name in AGENTS or any(way in words for way in _OTHER_WAYS):
            continue
        if next(iter(programs(plan, job)), None) is None:
            yield Finding("MPL404", "each task is told its RANK and WORLD_SIZE, and nothing sets MASTER_ADDR",
                          step.program_span or step.span, help="torch reads these three and MASTER_PORT")  # fmt: skip
            return


def _set(lost: List[bytes], step: Step, job: Job, site: Site) -> Tuple[Fix, ...]:
    """Set them in each task from the variables of the launcher that starts it, the innermost, where these are known."""
    words = rank_words(step.links[::-1], site, job.source)
    own = _own(words) if words is not None else {}
    if not own or not all(own.get(name) for name in lost):
        return ()
    assignments = [name + b"=$" + own[name] for name in lost]
    edits = exec_in_task(job.source, step, assignments, "MPL404")
    return (Fix(tuple(edits), Safety.ASK, "set %s in each task" % ", ".join(map(bytes.decode, lost))),) if edits else ()


def _own(words: RankWords) -> Dict[bytes, bytes]:
    """Return what stands for each rank variable among those of the launcher in force."""
    rank, local, tasks = words.rank, words.local, words.tasks
    return {
        b"RANK": rank, b"SLURM_PROCID": rank, b"OMPI_COMM_WORLD_RANK": rank,
        b"LOCAL_RANK": local, b"SLURM_LOCALID": local, b"OMPI_COMM_WORLD_LOCAL_RANK": local,
        b"WORLD_SIZE": tasks, b"SLURM_NTASKS": tasks, b"OMPI_COMM_WORLD_SIZE": tasks,
    }  # fmt: skip


def _unset(step: Step, job: Job) -> FrozenSet[bytes]:
    """Return the rank variables that no task of a step has."""
    if step.links and step.links[-1].name in AGENTS:
        return frozenset()
    unset = _TORCH & frozenset(step.lacks)
    if job.submission.scheduler == "pbs":
        unset |= _SLURM
    if step.links and step.links[-1].name == "srun":
        unset |= _OPEN_MPI
    mentioned = {name for name in unset if name + b"=" in job.source}
    return unset - mentioned


def _helps(name: bytes, step: Step, job: Job) -> str:
    if name in _TORCH:
        return "start one torchrun per node, or set them in each task from the launcher's own variables"
    own = "PMI_RANK, PALS_RANKID or OMPI_COMM_WORLD_RANK" if job.submission.scheduler == "pbs" else "SLURM_PROCID"
    return "read what this launcher sets: %s" % own
