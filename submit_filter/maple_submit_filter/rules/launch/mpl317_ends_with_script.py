"""The job ends with its script."""

from __future__ import annotations

from typing import Iterator

from ...cures.background import waiting
from ...site.facts import Site
from ...types.edits import Fix, Safety
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from .. import rule

CODE = "MPL317"


@rule("MPL317", "the script ends while its launch runs in the background")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """The job is over when its script is: what still runs in the background is killed.

    Wrong: srun torchrun ... train.py &
           echo started
    Right: srun torchrun ... train.py &
           wait
    Wrong: srun bash -c 'nohup torchrun ... train.py > log 2>&1 &'
    Why:   the job ends within seconds as COMPLETED, and nothing was trained. It is certain where everything the
           script launches runs in the background, and nothing behind it could wait.
    """
    for step in [step for step in plan.steps if step.span in plan.ended and not step.maybe][:1]:
        yield Finding(CODE, "each task ends while this runs in its background, and srun kills what is left", step.span,
                      help="leave out the & inside, or wait for it there")  # fmt: skip
    left = [step for step in plan.steps if step.span in plan.left]
    if not left:
        return
    sure = all(step.background for step in plan.steps)
    edits = waiting(job.source, CODE) if sure else None
    fixes = (Fix(tuple(edits), Safety.SAFE, "wait for what runs in the background"),) if edits else ()
    yield Finding(CODE, "the script ends while this runs in the background, and the job kills it", left[0].span, sure,
                  fixes=fixes, help="write wait as the last line")  # fmt: skip
