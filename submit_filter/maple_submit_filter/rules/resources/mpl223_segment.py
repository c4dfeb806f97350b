"""Segments of a job on a block topology."""

from __future__ import annotations

from typing import Iterator, Tuple

from ...cures.option_edits import at, restate
from ...request.slurm import values
from ...site.facts import Site
from ...types.edits import Fix, Safety
from ...types.findings import Finding
from ...types.job import Job, Setting
from ...types.launch_plan import LaunchPlan
from .. import rule


@rule("MPL223", "the segments do not divide the nodes", "slurm")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """A job that has more nodes than one segment must have a whole number of segments.

    Wrong: #SBATCH --nodes=16 --segment=6
    Right: #SBATCH --nodes=16 --segment=8
    Right: #SBATCH --nodes=4 --segment=8, where all nodes fit in one and the option has no effect
    Why:   on a block, ring or torus topology Slurm refuses the job (topology guide of 25.11); on others it does not
           read the option, so Maple only reports it. `maple check` shows a segment that divides the nodes.
    """
    setting = job.settings.get("segment")
    size = values.whole(setting.value or b"") if setting is not None else None
    span = values.nodes(job.settings.value("nodes") or b"")
    if setting is None or not size or span is None or span[0] != span[1] or span[0] <= size or span[0] % size == 0:
        return
    says = "%d nodes are no whole number of segments of %d" % (span[0], size)
    yield Finding("MPL223", says, at(setting), fixes=_smaller(job, setting, span[0], size),
                  help="the nodes must be a multiple of --segment")  # fmt: skip


def _smaller(job: Job, setting: Setting, nodes: int, size: int) -> Tuple[Fix, ...]:
    """Return the largest segment that divides the nodes and is not beyond the one that was asked for."""
    fits = next((parts for parts in range(size, 1, -1) if nodes % parts == 0), 0)
    made = restate(job, setting, b"%d" % fits, "MPL223") if fits else None
    return (made.fix(Safety.ASK, "--segment=%d" % fits),) if made is not None else ()
