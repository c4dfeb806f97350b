"""A step cannot have more than the job."""

from __future__ import annotations

from typing import Iterator

from ..edits import Fix, Safety
from ..findings import Finding
from ..fixes import change
from ..job import Job
from ..launch import LaunchPlan
from ..site import Site
from . import rule


@rule("MPL310", "the launcher would refuse to start this step")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """srun shares out what sbatch was given, and reads numbers.

    Wrong: #SBATCH --nodes=2 ... srun --nodes=4 python train.py
    Wrong: srun -np 4 python train.py (mpirun's way: srun reads -n p)
    Wrong: mpirun --ntasks=4 python train.py (srun's way: no mpirun has that option)
    Right: srun --nodes=2 python train.py
    Why:   Slurm 22.05 says: srun: error: Only allocated 2 nodes asked for 4. Asks first: it is not known which of the
           two numbers was meant.
    """
    for step in plan.steps:
        for breach in step.breaches:
            if breach.kind == "refused" and step.links:
                option = step.links[0].option("nodes")
                wanted = breach.numbers.get("nodes")
                edits = change(option, b"%d" % (plan.allocation.nodes or 1), "MPL310") if wanted else None
                fixes = (Fix(tuple(edits), Safety.ASK, "use the nodes of the job"),) if edits else ()
                at = (option.value_span if option is not None else None) or step.span
                yield Finding(
                    "MPL310", breach.names[0].decode(), at, True, fixes=fixes, help="see the launcher's own help"
                )
