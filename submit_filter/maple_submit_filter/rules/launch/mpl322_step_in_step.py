"""Steps that each task of a step begins anew."""

from __future__ import annotations

from typing import Iterator, Tuple

from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan, Link
from .. import rule


@rule("MPL322", "srun inside of srun", "slurm")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """What srun starts runs once in each task; a second srun in there asks for a step of its own each time.

    Wrong: srun bash launch.sh, where launch.sh says srun python train.py
    Right: bash launch.sh
    Why:   every task begins the whole step anew: these wait for CPUs and GPUs that the outer step holds, or as many
           trainings run over each other. Maple only shows the change: somebody may mean it.
    """
    for step in plan.steps:
        outer = [link for link in step.links if link.name == "srun"]
        if len(outer) < 2 or step.maybe or (step.tasks or 0) < 2 or len(step.groups) != 1:
            continue
        copies = len({process.task for process in step.groups[0].processes})
        ranks = len(step.groups[0].processes)
        if ranks > copies > 1 and outer[1].option("overlap") is None:
            says = "each task of the outer srun starts the inner one again: %s" % "%d processes" % ranks
            yield Finding("MPL322", says, step.span, fixes=_without(outer[0]),
                          help="start what holds the inner srun without an outer one")  # fmt: skip


def _without(outer: Link) -> Tuple[Fix, ...]:
    """Take the outer srun away, with its options and the blank behind them."""
    spans = [text.span() for text in outer.argv]
    if not spans or None in spans or spans[0] is None or spans[-1] is None:
        return ()
    return (
        Fix((Edit(Span(spans[0].start, spans[-1].end + 1), b"", "MPL322"),), Safety.ASK, "leave out the outer srun"),
    )
