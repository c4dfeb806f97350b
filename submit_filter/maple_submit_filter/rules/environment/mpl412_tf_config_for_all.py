"""TF_CONFIG, by which the workers of TensorFlow know themselves."""

from __future__ import annotations

import re
from typing import Iterator, Optional

from ...cures.launch_edits import exec_in_task
from ...launchers.rank_words import rank_words
from ...site.facts import Site
from ...types.edits import Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan, Step
from .. import rule

_INDEX = re.compile(
    rb"(\\?\")index\1[ ]?:[ ]?(\d{1,4}|\$\{?(?:SLURM_PROCID|SLURM_NODEID|PMI_RANK|OMPI_COMM_WORLD_RANK)\}?)(?![\w.])"
)


@rule("MPL412", "every task gets the same index in TF_CONFIG")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """TF_CONFIG lists all workers and says which of them this one is, so each task needs one of its own.

    Wrong: export TF_CONFIG='{"cluster":...,"task":{"type":"worker","index":0}}'; srun python train.py, on three nodes
    Right: srun bash -c 'export TF_CONFIG="{... \\"index\\": $SLURM_PROCID}}"; exec python train.py'
    Why:   every process takes itself for worker 0 and waits for the others, without a message. `maple check` shows the
           change; at submission Maple only reports it: a program may find its index by itself.
    """
    places = plan.assigned.get(b"TF_CONFIG", ())
    match = _INDEX.search(job.source, *places[0]) if len(places) == 1 else None
    if match is None:
        return
    for step in plan.steps:
        spoken = b"TF_CONFIG" in job.source[step.span.start : step.span.end]
        if step.tasks and step.tasks > 1 and not step.maybe and not spoken and places[0].start < step.span.start:
            fix = _in_task(step, match, site, job.source)
            number = match.group(2) if match.group(2).isdigit() else b"0"  # what the batch shell has
            says = "all %d tasks are told that they are worker %d" % (step.tasks, int(number))
            yield Finding("MPL412", says, Span(*match.span()), fixes=(fix,) if fix is not None else (),
                          help="make TF_CONFIG in each task, with its own number")  # fmt: skip
            return


def _in_task(step: Step, match: "re.Match[bytes]", site: Site, source: bytes) -> Optional[Fix]:
    """Put each task's own number in, in front of the program."""
    words = rank_words(step.links, site, source)
    if words is None or not words.rank:
        return None
    head = match.group()[: match.start(2) - match.start()].replace(b"\\", b"").replace(b'"', b'\\"')
    old = head + (match.group(2) if match.group(2).isdigit() else b"0")
    new = head + b"$" + words.rank
    edits = exec_in_task(source, step, (b'TF_CONFIG="${TF_CONFIG/%s/%s}"' % (old, new),), "MPL412")
    return Fix(tuple(edits), Safety.ASK, "each task puts its own number in") if edits else None
