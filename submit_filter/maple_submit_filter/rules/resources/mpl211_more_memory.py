"""Memory that no node has."""

from __future__ import annotations

from typing import Iterator, Tuple

from ...cures.option_edits import at, restate
from ...request.slurm import values
from ...site.facts import NodeKind, Site
from ...types.edits import Safety
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from .. import rule
from ..limits import judged, most_of

_KEPT = 1.1  # the system keeps 5 to 10 percent of the memory (docs.ncsa.illinois.edu, Delta)


@rule("MPL211", "more memory than a node has", "slurm")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """The memory asked for must fit one of the nodes that the request may land on.

    Wrong: #SBATCH --mem=600G, on nodes with 256 GB
    Right: #SBATCH --mem=0, which is all that the node has
    Why:   Slurm 22.05 says: Memory specification can not be satisfied. No result depends on it, so
           where nothing else is wrong the request is changed unasked. What the system keeps of a node differs by
           node and by month; an amount between what is said to be left of it and what is in it is no proof.
    """
    setting = job.settings.get("mem")
    wanted = values.mebibytes(setting.value) if setting is not None else None
    most = most_of(plan.allocation.node_kinds, "memory_gib")
    if not judged(job, site) or setting is None or wanted is None or not most or wanted <= most * 1024:
        return
    proven = wanted >= _certainly_too_much(plan.allocation.node_kinds, most) * 1024
    made = restate(job, setting, b"0", "MPL211")
    fixes = (made.fix(Safety.ASK, "use --mem=0, all memory of the node"),) if made is not None else ()
    amount = setting.value.decode("utf-8", "replace")
    says = "%s of memory per node, but the nodes it may run on have %d GiB" % (amount, most)
    yield Finding(
        "MPL211", says, at(setting), proven, fixes=fixes, help="request no more memory per node than a node has"
    )


def _certainly_too_much(kinds: Tuple[NodeKind, ...], most: int) -> float:
    """Return the least amount in GiB that no node can give, whatever its system keeps for itself."""
    return most_of(kinds, "memory_installed_gib") or most * _KEPT
