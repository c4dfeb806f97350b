"""One name for the rendezvous."""

from __future__ import annotations

from typing import Iterator

from ...cures.launch_edits import pointed_at, replacements
from ...launchers.rank_words import job_id
from ...plan import breach_kinds
from ...site.facts import Site
from ...types.edits import Fix, Safety
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import Breach, LaunchPlan, Step
from .. import rule
from ..program_text import option_in_called_file


@rule("MPL503", "each node gives the rendezvous another id")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Agents find each other by the rendezvous id, so it must be the same on all nodes.

    Wrong: srun bash -c 'torchrun --rdzv-id=$RANDOM ...'
    Right: srun torchrun --rdzv-id=$SLURM_JOB_ID ...
    Why:   drawn in the batch script, the number is the same for all; drawn inside each task, it differs, and no
           agent finds another.
    """
    for step in plan.steps:
        for breach in step.breaches:
            if breach.kind == breach_kinds.RUN_ID_DIFFERS:
                yield _finding(step, breach, plan, job, site)


def _finding(step: Step, breach: Breach, plan: LaunchPlan, job: Job, site: Site) -> Finding:
    run_id = breach.texts.get("run-id")
    ways = replacements(run_id, (job_id(site), b"'\"" + job_id(site) + b"\"'"), "MPL503", job.source)
    fixes = tuple(Fix(tuple(edits), Safety.SAFE, "use the job id as the rendezvous id") for edits in ways)
    at = pointed_at(run_id, step)
    return Finding(
        "MPL503",
        "each node uses a different rendezvous id",
        at,
        True,
        fixes=fixes,
        elsewhere=() if fixes else option_in_called_file(plan, job, step.links[-1].option("rdzv-id"), job_id(site)),
        help="use one id on all nodes, for example the job id",
    )
