"""CPUs that no node has."""

from __future__ import annotations

from typing import Iterator, Optional, Sequence

from ...cures.option_edits import at, restate
from ...request.slurm import values
from ...site.facts import NodeKind, Site
from ...types.edits import Safety
from ...types.findings import Finding, counted
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from .. import rule
from ..limits import judged

_COUNTED_OTHERWISE = ("overcommit", "core-spec", "thread-spec", "threads-per-core", "hint", "ntasks-per-core")


@rule("MPL210", "more CPUs than a node has", "slurm")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """The tasks of a node, with their CPUs, must fit one of the nodes that the request may land on.

    Wrong: #SBATCH --ntasks-per-node=4 --cpus-per-task=32, on nodes with 64 cores
    Right: #SBATCH --ntasks-per-node=4 --cpus-per-task=16
    Why:   Slurm 22.05 says: CPU count per node can not be satisfied. Maple asks first.
    """
    if not judged(job) or any(name in job.settings for name in _COUNTED_OTHERWISE):
        return
    cpus = _cpus(plan.allocation.node_kinds)
    each = values.whole(job.settings.value("cpus-per-task") or b"1")
    tasks = _tasks(job)
    if not cpus or each is None or tasks is None or tasks * each <= cpus:
        return
    says = "%s per node with %s each, but the nodes it may run on have %s" % (
        counted(tasks, "task"), counted(each, "CPU"), counted(cpus, "CPU"))  # fmt: skip
    setting = job.settings.get("cpus-per-task")
    made = restate(job, setting, b"%d" % (cpus // tasks), "MPL210") if setting is not None and tasks <= cpus else None
    fixes = (made.fix(Safety.ASK, "--cpus-per-task=%d" % (cpus // tasks)),) if made is not None else ()
    place = at(setting or job.settings.get("ntasks-per-node") or job.settings.get("ntasks"))
    yield Finding("MPL210", says, place, True, fixes=fixes, help="request no more CPUs per node than a node has")


def _tasks(job: Job) -> Optional[int]:
    """Return the tasks on each node that the request surely wants."""
    said = values.whole(job.settings.value("ntasks-per-node") or b"")
    if said is not None:
        return said
    alone = values.nodes(job.settings.value("nodes") or b"") == (1, 1)
    return (values.whole(job.settings.value("ntasks") or b"") if alone else None) or 1


def _cpus(kinds: Sequence[NodeKind]) -> Optional[int]:
    """Return the most CPUs of any of the nodes, every hardware thread counted; None where one is not known."""
    counts = [kind.cores * kind.threads_per_core for kind in kinds if kind.cores and kind.threads_per_core]
    return max(counts) if counts and len(counts) == len(kinds) else None
