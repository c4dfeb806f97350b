"""Tasks that an srun line names and does not get."""

from __future__ import annotations

from typing import Iterator

from ...cures.launch_edits import put
from ...site.facts import Site
from ...types.edits import Fix, Safety
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from ...types.text import number
from .. import rule


@rule("MPL318", "srun starts fewer tasks per node than its line says", "slurm")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Where the job has said how many tasks it has, --ntasks-per-node of srun is no more than a ceiling (srun(1)).

    Wrong: #SBATCH --nodes=2 --ntasks-per-node=1 ... srun --ntasks-per-node=4 python train.py (two tasks)
    Right: #SBATCH --nodes=2 --ntasks-per-node=4, or srun --ntasks=8 --ntasks-per-node=4 python train.py
    Why:   srun takes SLURM_NTASKS from the job. Maple only shows the change: fewer tasks may be meant.
    """
    for step in plan.steps:
        link = step.links[0] if step.links else None
        option = link.option("ntasks-per-node") if link is not None and link.name == "srun" else None
        if link is None or option is None or link.option("ntasks") is not None or step.maybe:
            continue
        wanted = number(option.value)
        if wanted and step.nodes and step.tasks and step.tasks < step.nodes * wanted:
            says = "srun starts %d task%s in all, not %d on each of %d node%s: the job's number of tasks holds" % (
                step.tasks, "s"[: step.tasks != 1], wanted, step.nodes, "s"[: step.nodes != 1])  # fmt: skip
            edits = put(link, [("ntasks", b"%d" % (step.nodes * wanted))], "MPL318")
            fix = Fix(tuple(edits), Safety.ASK, "add --ntasks=%d" % (step.nodes * wanted)) if edits else None
            yield Finding("MPL318", says, option.span or step.span, fixes=(fix,) if fix is not None else (),
                          help="add --ntasks=%d, if that is meant" % (step.nodes * wanted))  # fmt: skip
