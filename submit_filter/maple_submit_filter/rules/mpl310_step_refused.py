"""A step cannot have more than the job."""

from __future__ import annotations

from typing import Iterator, Tuple

from ..edits import Fix, Safety
from ..findings import Finding
from ..fixes import change, drop
from ..job import Job
from ..launch import Breach, LaunchPlan, Step
from ..site import Site
from . import rule


@rule("MPL310", "the launcher would refuse to start this step")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """srun shares out what sbatch was given, and reads numbers.

    Wrong: #SBATCH --nodes=2 ... srun --nodes=4 python train.py
    Wrong: srun -np 4 python train.py (mpirun's way: srun reads -n p)
    Wrong: mpirun --ntasks=4 python train.py (srun's way: no mpirun has that option)
    Wrong: mpiexec -n 8 --ppn 4 -bind-to core python train.py (Hydra's way, where the mpiexec is that of PALS)
    Right: srun --nodes=2 python train.py
    Why:   Slurm 22.05 says: srun: error: Only allocated 2 nodes asked for 4. Asks first: it is not known which of the
           two numbers was meant.
    """
    for step in plan.steps:
        for breach in step.breaches:
            if breach.kind == "refused" and step.links:
                yield _finding(step, breach, plan, job)


def _finding(step: Step, breach: Breach, plan: LaunchPlan, job: Job) -> Finding:
    option = step.links[0].option("nodes")
    wanted = breach.numbers.get("nodes")
    edits = change(option, b"%d" % (plan.allocation.nodes or 1), "MPL310") if wanted else None
    fixes = (Fix(tuple(edits), Safety.ASK, "use the nodes of the job"),) if edits else _without(step, breach, job)
    at = (option.value_span if option is not None else None) or step.span
    return Finding("MPL310", breach.names[0].decode(), at, True, fixes=fixes, help="see the launcher's own help")


def _without(step: Step, breach: Breach, job: Job) -> Tuple[Fix, ...]:
    """Leave out the option that this launcher does not take; what it was there for may need another."""
    named = [one for one in step.links[-1].options if b" %s, which is" % one.spelling in breach.names[0]]
    edits = drop(job.source, named[0], "MPL310") if named else None
    if not edits:
        return ()
    return (Fix(tuple(edits), Safety.ASK, "leave out %s" % named[0].spelling.decode("ascii", "replace")),)
