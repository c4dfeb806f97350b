"""Memory that nobody asked for."""

from __future__ import annotations

from typing import Iterator, Tuple

from ...cures.option_edits import say
from ...site.facts import Demand, Site
from ...types.edits import Fix, Safety
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from .. import rule
from ..limits import asked, asks_for_gpus, judged

_ALL = "--mem=0"
_SAYS = {
    "bad-default": "no memory is requested, and the default is small",
    "unknown": "no memory is requested, and the site wants it said",
}
_SAID = ("mem", "mem-per-cpu", "mem-per-gpu", "exclusive")


@rule("MPL209", "memory is left at a default that is too small")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Where nodes are shared, a job gets the memory that it asks for, and by default little.

    Wrong: #SBATCH --gpus-per-node=4 --cpus-per-task=1, and no --mem, on Delta: 1000 MB for each core
    Right: #SBATCH --mem=208g
    Why:   the data loaders of four ranks are killed for memory in the first epoch. Maple shows a share of
           the node, as large as that of its GPUs: how much is needed only a run tells.
    """
    if not judged(job, site) or not asks_for_gpus(job.settings) or any(asked(job, name) for name in _SAID):
        return
    for demand in site.demands:
        if demand.effect in _SAYS and "mem" in demand.options:
            fixes = _whole(demand, plan, job) or _share(plan, job)
            yield Finding("MPL209", _SAYS[demand.effect], asks_for="mem", fixes=fixes,
                          help=demand.says, site_fact=demand.key)  # fmt: skip


def _whole(demand: Demand, plan: LaunchPlan, job: Job) -> Tuple[Fix, ...]:
    """Ask for all memory of nodes whose GPUs the job has all, in the words that the site names for that."""
    counts = {kind.gpus for kind in plan.allocation.node_kinds}
    if _ALL not in demand.says or counts != {plan.allocation.gpus_per_node} or None in counts:
        return ()
    return (say(job, _ALL.encode(), "MPL209").fix(Safety.ASK, "add " + _ALL),)


_KEPT = 0.8  # of a node's memory: what the system keeps of it differs, and a request beyond is refused


def _share(plan: LaunchPlan, job: Job) -> Tuple[Fix, ...]:
    """Ask for as much of a node's memory as the job has of its GPUs."""
    kinds, gpus = plan.allocation.node_kinds, plan.allocation.gpus_per_node
    shares = [kind.memory_gib * gpus / kind.gpus for kind in kinds if kind.memory_gib and kind.gpus and gpus]
    if not shares or len(shares) != len(kinds):
        return ()
    words = "--mem=%dg" % int(min(shares) * _KEPT)
    says = "%s, as much of a node's memory as of its GPUs" % words
    return (say(job, words.encode(), "MPL209").fix(Safety.ASK, says),)
